package test

import (
	"context"
	"fmt"
	"strings"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// fact checks a test of values. The problems name files for people.
func (r *runner) fact(ctx context.Context, c *testCase) diag.List {
	root := c.suite.project.module.dir
	if problems := c.environment(); problems != nil {
		return r.relocate(problems, root)
	}
	result, err := r.evaluate(ctx, c.suite, c.spec.env, c.spec.inputs)
	if err != nil {
		return r.relocate(diag.From(err), root)
	}
	var problems diag.List
	failed := map[string]diag.List{}
	for _, f := range result.Faults {
		if field, ok := c.member(f.Path); ok {
			failed[field] = f.Diagnostics
			if field != "value" {
				problems = append(problems, f.Diagnostics...)
			}
		}
	}
	test, ok := result.Value.At(c.path)
	switch {
	case len(problems) > 0:
	case !ok:
		problems = c.problem("TEST003", c.pos, "", "with its inputs there is no such test")
	case c.spec.fail != nil:
		problems = c.failure(failed["value"], test)
	default:
		problems = c.check(test)
	}
	return r.relocate(problems, root)
}

// check compares the values of a test.
func (c *testCase) check(test lang.Value) diag.List {
	holds, ok := test, true
	if test.Kind == lang.Object {
		holds, ok = test.Field("holds")
	}
	if ok {
		switch {
		case holds.Kind != lang.Bool:
			return c.problem("TEST002", holds.Pos, "", "a fact is true or false, not %s", describe(holds))
		case holds.Text != "true":
			return c.problem("TEST003", holds.Pos, "", "does not hold")
		}
		return nil
	}
	got, _ := test.Field("got")
	want, _ := test.Field("want")
	compared := Compare(got, want, false)
	var problems diag.List
	for _, d := range compared.Differences {
		p := c.problem("TEST003", want.Pos, "", "got%s %s", d.Path, d.Text)
		if d.Want != nil {
			p[0].Pos = d.Want.Pos
		}
		if d.Got != nil && d.Got.Pos.Line > 0 && d.Got.Pos != p[0].Pos {
			p[0].Notes = append(p[0].Notes, diag.Note{Pos: d.Got.Pos, Text: "what was got is from here"})
		}
		note(&p[0], d.Lines)
		problems = append(problems, p...)
	}
	return append(problems, c.more(compared, want.Pos)...)
}

func (c *testCase) more(compared *Comparison, pos diag.Position) diag.List {
	if compared.More == 0 {
		return nil
	}
	return c.problem("TEST003", pos, "", "and %d differences more", compared.More)
}

// problem is something wrong at pos, with the test's own message.
func (c *testCase) problem(code string, pos diag.Position, hint, format string, args ...any) diag.List {
	if pos.Line == 0 {
		pos = c.pos
	}
	d := diag.Diagnostic{Code: code, Pos: pos, Message: fmt.Sprintf(format, args...), Hint: hint}
	if c.spec.message != "" {
		d.Message = c.spec.message + ": " + d.Message
	}
	return diag.List{d}
}

// failure checks that what must fail did, and with the right message. Value is
// what came out if nothing failed.
func (c *testCase) failure(found diag.List, value lang.Value) diag.List {
	pos := c.spec.fields["fail"].Value.Pos
	if len(found) == 0 {
		v, _ := value.Field("value")
		return c.problem("TEST006", pos, "", "evaluates to %s, though it must fail with a message that matches %q", short(v), c.spec.fail)
	}
	return c.matches(found)
}

// matches checks that one of the problems found has the message that is wanted,
// in itself or in a note.
func (c *testCase) matches(found diag.List) diag.List {
	p := c.problem("TEST006", c.spec.fields["fail"].Value.Pos, "", "fails, but no message matches %q", c.spec.fail)
	for i, d := range found {
		message := strings.TrimPrefix(strings.TrimPrefix(d.Error(), d.Pos.String()), ": ")
		for _, text := range []string{d.Message, message, d.Error()} {
			if c.spec.fail.MatchString(text) {
				return nil
			}
		}
		notes := append([]diag.Note{{Pos: d.Pos, Text: message}}, d.Notes...)
		for _, n := range notes {
			if c.spec.fail.MatchString(n.Text) {
				return nil
			}
		}
		if i < maxDifferences {
			p[0].Notes = append(p[0].Notes, notes...)
		}
	}
	if len(found) > maxDifferences {
		p[0].Notes = append(p[0].Notes, diag.Note{Text: fmt.Sprintf("and %d problems more", len(found)-maxDifferences)})
	}
	return p
}
