package test

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/writ-dev/writ/lang"
)

// unused says what it means that a point was not used.
var unused = map[lang.PointKind]string{
	lang.PointField:    "field never used",
	lang.PointThen:     "the condition never held",
	lang.PointElse:     "the condition always held",
	lang.PointAnd:      "right side never evaluated",
	lang.PointOr:       "right side never evaluated",
	lang.PointArm:      "alternative never chosen",
	lang.PointBody:     "body never evaluated",
	lang.PointFunction: "function never called",
}

// kinds is the order in which kinds are listed.
var kinds = []lang.PointKind{
	lang.PointField, lang.PointThen, lang.PointElse, lang.PointAnd, lang.PointOr,
	lang.PointArm, lang.PointBody, lang.PointFunction,
}

// missed is the unused points of a file that are not inside of another one.
func (f *CoveredFile) missed() []lang.Point {
	var out []lang.Point
	for _, p := range f.Points {
		if p.Hit {
			continue
		}
		if n := len(out); n > 0 && inside(p, out[n-1]) {
			continue
		}
		out = append(out, p)
	}
	return out
}

// inside reports whether p, which does not start before outer, is in it.
func inside(p, outer lang.Point) bool {
	return p.EndLine < outer.EndLine || p.EndLine == outer.EndLine && p.EndColumn <= outer.EndColumn
}

// WriteText writes the sources with a line under each that has unused points.
func (c *Coverage) WriteText(w io.Writer) error {
	var b bytes.Buffer
	for i := range c.Files {
		f := &c.Files[i]
		fmt.Fprintf(&b, "%s  %.1f%% (%d of %d)\n", f.File, f.Percent(), f.Hit, f.Total)
		byLine := map[int][]lang.Point{}
		for _, p := range f.missed() {
			byLine[p.Line] = append(byLine[p.Line], p)
		}
		for n, line := range strings.Split(strings.TrimSuffix(string(f.source), "\n"), "\n") {
			mark := " "
			if len(byLine[n+1]) > 0 {
				mark = "!"
			}
			fmt.Fprintf(&b, "%s%5d | %s\n", mark, n+1, line)
			for _, p := range byLine[n+1] {
				fmt.Fprintf(&b, "       | %s^ %s\n", indent(line, p.Column-1), unused[p.Kind])
			}
		}
		b.WriteByte('\n')
	}
	for _, name := range c.Unread {
		fmt.Fprintf(&b, "%s  never read\n", name)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// indent is blank text as wide as the first n bytes of a line.
func indent(line string, n int) string {
	var b strings.Builder
	for _, c := range line[:min(n, len(line))] {
		if c != '\t' {
			c = ' '
		}
		b.WriteRune(c)
	}
	return b.String()
}

// span is a part of a source with one state.
type span struct {
	Text  string
	Class string // "", "hit" or "miss"
	Title string
}

// spans cuts a source where the innermost points begin and end.
func (f *CoveredFile) spans() []span {
	starts := []int{0}
	for i, c := range f.source {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	offset := func(line, column int) int {
		if line < 1 || line > len(starts) {
			return len(f.source)
		}
		return min(starts[line-1]+max(column, 1)-1, len(f.source))
	}
	owner := make([]int, len(f.source)) // the innermost point, from 1
	for i, p := range f.Points {        // outer ones come first
		for at := offset(p.Line, p.Column); at < offset(p.EndLine, p.EndColumn); at++ {
			owner[at] = i + 1
		}
	}
	var out []span
	for from := 0; from < len(owner); {
		to := from
		for to < len(owner) && owner[to] == owner[from] {
			to++
		}
		s := span{Text: string(f.source[from:to])}
		if n := owner[from]; n > 0 && f.Points[n-1].Hit {
			s.Class, s.Title = "hit", string(f.Points[n-1].Kind)+" used"
		} else if n > 0 {
			s.Class, s.Title = "miss", unused[f.Points[n-1].Kind]
		}
		out = append(out, s)
		from = to
	}
	return out
}

// WriteHTML writes a page with a table of the files and their sources, in which
// what was not used is marked.
func (c *Coverage) WriteHTML(w io.Writer) error {
	type file struct {
		Name, Percent string
		Hit, Total    int
		Spans         []span
		Lines         string
	}
	type kind struct {
		Name       lang.PointKind
		Hit, Total int
	}
	page := struct {
		Percent    string
		Hit, Total int
		Kinds      []kind
		Files      []file
		Unread     []string
	}{Unread: c.Unread, Percent: fmt.Sprintf("%.1f%%", c.Percent()), Hit: c.Hit, Total: c.Total}
	for _, k := range kinds {
		if n := c.Kinds[k]; n.Total > 0 {
			page.Kinds = append(page.Kinds, kind{k, n.Hit, n.Total})
		}
	}
	for i := range c.Files {
		f := &c.Files[i]
		var numbers strings.Builder
		for n := range bytes.Count(bytes.TrimSuffix(f.source, []byte("\n")), []byte("\n")) + 1 {
			fmt.Fprintln(&numbers, n+1)
		}
		page.Files = append(page.Files, file{f.File, fmt.Sprintf("%.1f%%", f.Percent()), f.Hit, f.Total, f.spans(), numbers.String()})
	}
	return htmlPage.Execute(w, page)
}

var htmlPage = template.Must(template.New("coverage").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Coverage {{.Percent}}</title>
<style>
:root { color-scheme: light dark; --line: light-dark(#d5d9e0, #3a3f4b); --dim: light-dark(#667, #99a);
  --hit: light-dark(#e4f5e6, #16301c); --miss: light-dark(#ffd9d6, #5a1d1a); }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
table { border-collapse: collapse; margin-bottom: 1rem; }
td, th { border-bottom: 1px solid var(--line); padding: .3rem .9rem .3rem 0; text-align: left; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
.source { display: flex; border: 1px solid var(--line); border-radius: 6px; overflow-x: auto; }
pre { font: 13px/1.5 ui-monospace, monospace; margin: 0; padding: .7rem; tab-size: 4; }
pre.n { color: var(--dim); text-align: right; border-right: 1px solid var(--line); user-select: none; }
.hit { background: var(--hit); } .miss { background: var(--miss); }
</style>
<h1>Coverage {{.Percent}}</h1>
<p>{{.Hit}} of {{.Total}} points used{{range .Kinds}} · {{.Name}} {{.Hit}}/{{.Total}}{{end}}.
<span class="hit">&nbsp;used&nbsp;</span> <span class="miss">&nbsp;not used&nbsp;</span></p>
<table>
<tr><th>File<th>Used<th>Points
{{range $i, $f := .Files}}<tr><td><a href="#f{{$i}}">{{$f.Name}}</a><td class="n">{{$f.Percent}}<td class="n">{{$f.Hit}}/{{$f.Total}}
{{end}}{{range .Unread}}<tr><td>{{.}}<td class="n miss">never read<td>
{{end}}</table>
{{range $i, $f := .Files}}<h2 id="f{{$i}}">{{$f.Name}} <small>{{$f.Percent}}</small></h2>
<div class="source"><pre class="n">{{$f.Lines}}</pre><pre>{{range $f.Spans}}{{if .Class}}<span class="{{.Class}}" title="{{.Title}}">{{.Text}}</span>{{else}}{{.Text}}{{end}}{{end}}</pre></div>
{{end}}</html>
`))
