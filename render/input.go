package render

import (
	"path"
	"strings"

	"github.com/writ-dev/writ/lang/diag"
)

// InputSource is one place that gives an input of a program.
type InputSource struct {
	// Where says who gives it: "--input", "unit web", "environment prod",
	// "image web" or "project".
	Where string
	// Pos is in the project file; it is not valid for the command line.
	Pos   diag.Position
	Value string
}

// InputSources lists who gives an input to a target of the project, the one that
// counts first; the others are overridden.
func (p *Project) InputSources(t Target, s Select, name string) []InputSource {
	var all []InputSource
	add := func(where string, values map[string]string, pos map[string]diag.Position) {
		if v, ok := values[name]; ok {
			all = append(all, InputSource{where, pos[name], v})
		}
	}
	add("--input", s.Inputs, nil)
	for _, u := range p.Units {
		// The unit of a pattern has the pattern's inputs.
		if u.Name == t.Unit || u.Entry != t.Entry && t.Unit != "" && (fits(u.Entry, t.Entry) || isTree(u.Entry) && t.Optional && within(path.Dir(u.Entry), t.Entry)) {
			add("unit "+t.Unit, u.Inputs, u.InputPos)
			break
		}
	}
	for _, e := range p.Environments {
		if e.Name == t.Environment {
			add("environment "+e.Name, e.Inputs, e.InputPos)
		}
	}
	add("project", p.Inputs, p.InputPos)
	for _, i := range p.Images {
		if i.Input() == name {
			// An image is offered like an input of the project, whose value is
			// known only once it is built.
			all = append(all, InputSource{Where: "image " + i.Name, Pos: i.Pos, Value: t.Offers[name]})
		}
	}
	return all
}

// within reports whether a path is that of a directory or below it.
func within(dir, name string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}
