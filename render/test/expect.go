package test

import (
	"fmt"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// expect compares a bundle with what is expected of it.
func (c *testCase) expect(b *render.Bundle, e expectation) diag.List {
	var chosen []render.Document
	for _, d := range b.Documents {
		if e.selects(d) {
			chosen = append(chosen, d)
		}
	}
	switch {
	case e.count >= 0 && len(chosen) != e.count:
		return c.miscounted(e, chosen)
	case e.count < 0 && len(chosen) == 0:
		return c.problem("TEST004", e.pos, nearest(b, e), "no document is %s", e)
	}
	var problems diag.List
	for _, d := range chosen {
		problems = append(problems, c.document(d, e)...)
	}
	return problems
}

func (e expectation) selects(d render.Document) bool {
	o := d.Object
	return (e.apiVersion == "" || e.apiVersion == o.APIVersion()) &&
		(e.kind == "" || e.kind == o.Kind()) &&
		(e.name == "" || e.name == o.Name()) &&
		(e.namespace == "" || e.namespace == o.Namespace())
}

// String names the documents that are meant.
func (e expectation) String() string {
	text := strings.TrimSpace(e.apiVersion + " " + e.kind)
	if e.name != "" {
		text = strings.TrimSpace(text + " " + e.name)
	}
	if e.namespace != "" {
		text += " in namespace " + e.namespace
	}
	if text == "" {
		return "there at all"
	}
	return text
}

func (c *testCase) miscounted(e expectation, chosen []render.Document) diag.List {
	format := "%d documents are %s, want %d"
	if len(chosen) == 1 {
		format = "%d document is %s, want %d"
	}
	problems := c.problem("TEST004", e.pos, "", format, len(chosen), e, e.count)
	for i, d := range chosen {
		if i == maxDifferences {
			problems[0].Notes = append(problems[0].Notes, diag.Note{Text: fmt.Sprintf("and %d more", len(chosen)-i)})
			break
		}
		problems[0].Notes = append(problems[0].Notes, diag.Note{Pos: d.Origin.Pos, Text: d.Object.Key().String()})
	}
	return problems
}

// nearest says which document of the bundle may have been meant.
func nearest(b *render.Bundle, e expectation) string {
	var kinds, names []string
	for _, d := range b.Documents {
		kinds = append(kinds, d.Object.Kind())
		if e.kind == "" || e.kind == d.Object.Kind() {
			names = append(names, d.Object.Name())
		}
	}
	if len(names) == 0 {
		if near := api.Nearest(e.kind, kinds); near != "" {
			return fmt.Sprintf("did you mean kind %q?", near)
		}
		return ""
	}
	if near := api.Nearest(e.name, names); near != "" && near != e.name {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(names) > maxDifferences {
		names = append(names[:maxDifferences], "...")
	}
	return "use one of those there are: " + strings.Join(names, ", ")
}

// document compares the fields of a document with what is expected of them.
func (c *testCase) document(d render.Document, e expectation) diag.List {
	tree, err := lang.ParseJSON("", d.Object.JSON())
	if err != nil {
		return diag.From(err)
	}
	var problems diag.List
	add := func(path string, want diag.Position, text, lines string) {
		p := c.problem("TEST004", want, "", "%s", text)
		p[0].Object, p[0].Path = d.Object.Key().String(), path
		if at := d.Origin.Field(path); at.Line > 0 {
			p[0].Notes = []diag.Note{{Pos: at, Text: "written here"}}
		}
		note(&p[0], lines)
		problems = append(problems, p...)
	}
	if e.match != nil {
		compared := Compare(tree, *e.match, true)
		for _, f := range compared.Differences {
			add(f.Path, f.Want.Pos, f.Text, f.Lines)
		}
		problems = append(problems, c.more(compared, e.match.Pos)...)
	}
	for _, f := range e.fields {
		path := f.Name
		if path != "" && path[0] != '.' && path[0] != '[' {
			path = "." + path
		}
		got, ok := render.Lookup(tree, path)
		switch {
		case !ok && f.Value.Kind == lang.Null:
		case !ok:
			add(path, f.Value.Pos, "is missing, want "+short(f.Value), "")
		default:
			compared := Compare(got, f.Value, false)
			for _, x := range compared.Differences {
				pos := f.Value.Pos
				if x.Want != nil {
					pos = x.Want.Pos
				}
				add(path+x.Path, pos, x.Text, x.Lines)
			}
			problems = append(problems, c.more(compared, f.Value.Pos)...)
		}
	}
	return problems
}
