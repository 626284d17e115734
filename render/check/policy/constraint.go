package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/cue"
	"github.com/writ-dev/writ/lang/diag"
)

// constraint is a CUE file whose definitions documents must satisfy.
type constraint struct {
	source Source
	pkg    string
	list   []definition
}

// definition is one policy of a CUE file. An empty kind means all documents.
type definition struct {
	name, kind, hint string
	severity         Severity
	pos              diag.Position
}

// everyDocument is the definition that applies to documents of any kind.
const everyDocument = "#Document"

func (s *Set) loadConstraints(src Source) error {
	pkg, list, err := cue.Definitions(src.FS, src.Name)
	if err != nil {
		return err
	}
	at := diag.Position{File: src.Name, Line: 1}
	if pkg == "" {
		return diag.List{{Code: "POLICY", Pos: at, Message: "a policy in CUE needs a package", Hint: "begin the file with: package policy"}}
	}
	c := constraint{source: src, pkg: pkg}
	var errs diag.List
	for _, d := range list {
		if c.known(d) {
			def, problem := attributes(d)
			errs = append(errs, problem...)
			c.list = append(c.list, def)
		}
	}
	if len(c.list) == 0 && len(errs) == 0 {
		errs = diag.List{{
			Code: "POLICY", Pos: at, Message: "no definition applies to documents",
			Hint: "name a definition after a kind, such as #Deployment, or " + everyDocument + " for all",
		}}
	}
	s.constraints = append(s.constraints, c)
	return errs.Err()
}

// known reports whether a definition is a policy and not a part of others: it
// says so, or has the form of a kind's name.
func (c *constraint) known(d cue.Definition) bool {
	first := strings.TrimPrefix(d.Name, "#")
	return d.Attributes != nil || first != "" && 'A' <= first[0] && first[0] <= 'Z'
}

// attributes takes a definition's attribute apart.
func attributes(d cue.Definition) (definition, diag.List) {
	out := definition{name: d.Name, kind: strings.TrimPrefix(d.Name, "#"), severity: Error, pos: d.Pos}
	if d.Name == everyDocument {
		out.kind = ""
	}
	var errs diag.List
	fail := func(format, hint string, args ...any) {
		errs = append(errs, diag.Diagnostic{Code: "POLICY", Pos: d.Pos, Path: d.Name, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	for _, key := range slices.Sorted(maps.Keys(d.Attributes)) {
		value := d.Attributes[key]
		switch key {
		case "kind":
			if out.kind = value; value == "*" {
				out.kind = ""
			}
		case "severity":
			if out.severity = Severity(value); out.severity != Error && out.severity != Warning {
				fail("%q is no severity", "use error or warning", value)
			}
		case "hint":
			out.hint = value
		default:
			fail("@policy has no argument %q", "known here: kind, severity, hint", key)
		}
	}
	return out, errs
}

// maxBatch bounds how much of the documents one evaluation gets, in bytes.
const maxBatch = 4 << 20

// pair is a document and the definition that it must satisfy.
type pair struct {
	document   int
	definition definition
}

// constrain applies the CUE policies. Broken is what is wrong with those that
// cannot be evaluated.
func (s *Set) constrain(ctx context.Context, documents []object.Object) (found []Violation, broken diag.List, err error) {
	for _, c := range s.constraints {
		for _, batch := range c.batches(documents) {
			v, err := c.evaluate(ctx, documents, batch)
			found = append(found, v...)
			var l diag.List
			if errors.As(err, &l) {
				broken = append(broken, l...)
				break
			}
			if err != nil {
				return nil, nil, err
			}
		}
	}
	return found, broken, nil
}

// batches pairs documents with the definitions that apply to them, in portions
// of bounded size.
func (c constraint) batches(documents []object.Object) [][]pair {
	var out [][]pair
	size := maxBatch
	for i, o := range documents {
		for _, d := range c.list {
			if d.kind != "" && d.kind != o.Kind() {
				continue
			}
			if size += len(o.JSON()); size > maxBatch || len(out) == 0 {
				out = append(out, nil)
				size = len(o.JSON())
			}
			out[len(out)-1] = append(out[len(out)-1], pair{i, d})
		}
	}
	return out
}

// evaluate unifies documents with definitions: as tests of the package, so that
// one that fails leaves the others alone.
func (c constraint) evaluate(ctx context.Context, documents []object.Object, batch []pair) ([]Violation, error) {
	var text bytes.Buffer
	fmt.Fprintf(&text, "package %s\n\ntests: {\n", c.pkg)
	for i, p := range batch {
		fmt.Fprintf(&text, "\tt%d: %s & %s\n", i, p.definition.name, documents[p.document].JSON())
	}
	text.WriteString("}\n")
	entry := path.Join(path.Dir(c.source.Name), "writ_documents_test.cue")
	result, err := c.source.CUE.Eval(ctx, lang.Program{
		FS: c.source.FS, Entry: entry, Overlay: map[string][]byte{entry: text.Bytes()}, Tests: true,
	})
	var l diag.List
	if errors.As(err, &l) {
		return nil, c.source.relocate(c.withoutComputed(l, entry))
	}
	if err != nil {
		return nil, err
	}
	var found []Violation
	for _, f := range result.Faults {
		for _, d := range f.Diagnostics {
			i, rest, ok := place(d.Path)
			if !ok {
				if i, _, ok = place("." + lang.TestsField + f.Path); !ok || i >= len(batch) {
					continue
				}
			}
			if i < len(batch) {
				v := batch[i].violation(d, rest, entry)
				v.Pos.File = c.source.file(v.Pos.File)
				found = append(found, v)
			}
		}
	}
	return found, nil
}

// place finds the document and the field in a path of the computed file.
func place(at string) (i int, rest string, ok bool) {
	at, ok = strings.CutPrefix(at, "."+lang.TestsField+".t")
	if !ok {
		return 0, "", false
	}
	end := strings.IndexAny(at, ".[")
	if end < 0 {
		end = len(at)
	}
	i, err := strconv.Atoi(at[:end])
	return i, at[end:], err == nil
}

func (p pair) violation(d diag.Diagnostic, field, computed string) Violation {
	v := Violation{
		Policy: p.definition.name, Pos: p.definition.pos, Severity: p.definition.severity, Document: p.document,
		Path: field, Message: d.Message, Hint: p.definition.hint,
	}
	if why := reasons(d); why != "" {
		v.Message += ": " + why
	}
	// The place in the policy itself, rather than the definition's.
	for _, pos := range slices.Concat([]diag.Position{d.Pos}, positions(d.Notes)) {
		if pos.IsValid() && pos.File != computed && !lang.IsLibrary(pos.File) {
			v.Pos = pos
			break
		}
	}
	if v.Hint == "" && strings.Contains(d.Message, "field not allowed") {
		around := field[:max(strings.LastIndexAny(field, ".["), 0)]
		v.Hint = "remove the field, or allow more with ... in " + p.definition.name + around
	}
	return v
}

// reasons says why none of several alternatives fits.
func reasons(d diag.Diagnostic) string {
	if !strings.Contains(d.Message, "no alternative fits") {
		return ""
	}
	var out []string
	for _, n := range d.Notes {
		// The other notes only name places.
		if strings.ContainsAny(n.Text, "\"0123456789") && !slices.Contains(out, n.Text) && len(out) < 4 {
			out = append(out, n.Text)
		}
	}
	return strings.Join(out, "; or ")
}

func positions(notes []diag.Note) []diag.Position {
	var out []diag.Position
	for _, n := range notes {
		out = append(out, n.Pos)
	}
	return out
}

// withoutComputed keeps the computed file out of what is reported of a policy
// that cannot be evaluated.
func (c constraint) withoutComputed(l diag.List, computed string) diag.List {
	l = slices.Clone(l)
	for i := range l {
		if l[i].Pos.File == computed {
			l[i].Pos = diag.Position{File: c.source.Name}
		}
		l[i].Notes = slices.DeleteFunc(slices.Clone(l[i].Notes), func(n diag.Note) bool { return n.Pos.File == computed })
	}
	return l
}
