package review

import (
	_ "embed"
	"html/template"
	"io"
	"strings"
)

//go:embed page.html
var pageText string

// HTML writes the review as one page that needs nothing else.
func (r *Review) HTML(w io.Writer) error {
	page, err := template.New("page").Funcs(template.FuncMap{
		"title": func(g Group) string { return printable(g.title()) },
		"lines": func(g Group) []line { return classify(g.lines()) },
		"name":  func(o Object) string { return printable(o.name()) },
		"open":  func(g Group) bool { return g.Action == Changed && len(g.Changes) <= 20 },
		"environments": func(g Group) string {
			var names []string
			for _, o := range g.Objects {
				names = append(names, o.Environment)
			}
			return strings.Join(names, "\n")
		},
	}).Parse(pageText)
	if err != nil {
		return err
	}
	return page.Execute(w, map[string]any{"Review": r, "Access": classify(r.accessLines())})
}

// line is a line of a difference with its CSS class.
type line struct{ Class, Text string }

func classify(lines []string) []line {
	out := make([]line, len(lines))
	for i, l := range lines {
		class := ""
		switch {
		case strings.HasPrefix(l, "+"):
			class = "new"
		case strings.HasPrefix(l, "-"):
			class = "old"
		}
		out[i] = line{class, cut(l)}
	}
	return out
}
