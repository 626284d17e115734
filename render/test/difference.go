package test

import (
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// maxDifferences bounds how many differences of two values are told.
const maxDifferences = 20

// difference is one place where two values differ. Where one of them has
// nothing there, got or want is nil.
type difference struct {
	path      string
	got, want *lang.Value
	text      string
	lines     string // of texts of several lines, how they differ
}

// comparison compares values. When it is partial, objects may have fields that
// are not wanted, and null is wanted for a field that is absent.
type comparison struct {
	partial bool
	found   []difference
	more    int
}

// compare tells where got is not want.
func compare(got, want lang.Value, partial bool) *comparison {
	c := &comparison{partial: partial}
	c.value("", got, want)
	return c
}

func (c *comparison) add(path string, got, want *lang.Value, format string, args ...any) {
	if len(c.found) >= maxDifferences {
		c.more++
		return
	}
	c.found = append(c.found, difference{path: path, got: got, want: want, text: fmt.Sprintf(format, args...)})
}

func (c *comparison) value(path string, got, want lang.Value) {
	switch {
	case got.Kind != want.Kind:
		c.add(path, &got, &want, "is %s, want %s", short(got), short(want))
	case got.Kind == lang.Object:
		c.objects(path, got, want)
	case got.Kind == lang.List:
		c.lists(path, got, want)
	case got.Text == want.Text:
	case got.Kind == lang.String && strings.Contains(got.Text+want.Text, "\n"):
		c.add(path, &got, &want, "is another text")
		if c.more == 0 {
			c.found[len(c.found)-1].lines = lines("want", want.Text, "got", got.Text)
		}
	default:
		c.add(path, &got, &want, "is %s, want %s", short(got), short(want))
	}
}

func (c *comparison) objects(path string, got, want lang.Value) {
	for _, w := range want.Fields {
		g, ok := got.Field(w.Name)
		at := lang.JoinField(path, w.Name)
		switch {
		case ok && c.partial && w.Value.Kind == lang.Null && g.Kind != lang.Null:
			c.add(at, &g, &w.Value, "is %s, want none", short(g))
		case ok:
			c.value(at, g, w.Value)
		case !c.partial || w.Value.Kind != lang.Null:
			c.add(at, nil, &w.Value, "is missing, want %s", short(w.Value))
		}
	}
	if c.partial {
		return
	}
	for _, g := range got.Fields {
		if _, ok := want.Field(g.Name); !ok {
			c.add(lang.JoinField(path, g.Name), &g.Value, nil, "is %s, want none", short(g.Value))
		}
	}
}

func (c *comparison) lists(path string, got, want lang.Value) {
	for i := range min(len(got.Items), len(want.Items)) {
		c.value(lang.JoinIndex(path, i), got.Items[i], want.Items[i])
	}
	for i := len(want.Items); i < len(got.Items); i++ {
		c.add(lang.JoinIndex(path, i), &got.Items[i], nil, "is %s, want none", short(got.Items[i]))
	}
	for i := len(got.Items); i < len(want.Items); i++ {
		c.add(lang.JoinIndex(path, i), nil, &want.Items[i], "is missing, want %s", short(want.Items[i]))
	}
}

// note adds how texts differ to a diagnostic.
func note(d *diag.Diagnostic, lines string) {
	for line := range strings.SplitSeq(lines, "\n") {
		if lines != "" {
			d.Notes = append(d.Notes, diag.Note{Text: line})
		}
	}
}

// maxLines bounds a difference of texts.
const maxLines = 60

// lines is the difference of two texts by lines.
func lines(oldName, old, newName, new string) string {
	end := func(s string) []byte {
		if s != "" && !strings.HasSuffix(s, "\n") {
			s += "\n"
		}
		return []byte(s)
	}
	text := string(diff.Diff(oldName, end(old), newName, end(new)))
	_, text, _ = strings.Cut(text, "\n") // "diff want got"
	parts := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if len(parts) > maxLines {
		text = strings.Join(parts[:maxLines], "") + fmt.Sprintf("... and %d lines more", len(parts)-maxLines)
	}
	return strings.TrimSuffix(text, "\n")
}
