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

// Difference is one place where two values differ.
type Difference struct {
	// Path is where, as lang.Value.At reads it.
	Path string
	// Got and Want are what is there; nil where one of the values has nothing.
	Got, Want *lang.Value
	// Text says how they differ: "is 1, want 2".
	Text string
	// Lines are how texts of several lines differ, in the form of diff -u.
	Lines string
}

// Comparison is where two values differ: at most twenty places, and how many
// more there are.
type Comparison struct {
	Differences []Difference
	More        int

	partial bool
}

// Compare tells where got is not want. When partial, objects may have fields
// that are not wanted, and null is wanted for a field that is absent; lists are
// always compared whole.
func Compare(got, want lang.Value, partial bool) *Comparison {
	c := &Comparison{partial: partial}
	c.value("", got, want)
	return c
}

func (c *Comparison) add(path string, got, want *lang.Value, format string, args ...any) {
	if len(c.Differences) >= maxDifferences {
		c.More++
		return
	}
	c.Differences = append(c.Differences, Difference{Path: path, Got: got, Want: want, Text: fmt.Sprintf(format, args...)})
}

func (c *Comparison) value(path string, got, want lang.Value) {
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
		if c.More == 0 {
			c.Differences[len(c.Differences)-1].Lines = lines("want", want.Text, "got", got.Text)
		}
	default:
		c.add(path, &got, &want, "is %s, want %s", short(got), short(want))
	}
}

func (c *Comparison) objects(path string, got, want lang.Value) {
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

func (c *Comparison) lists(path string, got, want lang.Value) {
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
