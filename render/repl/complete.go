package repl

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/render"
)

// maxCandidates bounds what is offered for one word.
const maxCandidates = 200

// Complete returns what may be in the place of line[start:pos], sorted: the names
// of commands, units, environments and inputs, and the fields of the unit's
// value. It is silent about a unit that cannot be evaluated.
func (s *Session) Complete(ctx context.Context, line string, pos int) (start int, candidates []string) {
	before := line[:pos]
	if !strings.HasPrefix(before, ":") {
		return s.fields(ctx, before)
	}
	name, arg, has := strings.Cut(before[1:], " ")
	if !has {
		for _, c := range commands() {
			candidates = append(candidates, ":"+c.name)
		}
		return 0, beginning(before, candidates)
	}
	start = len(before) - len(arg)
	switch name {
	case "load":
		for _, t := range s.targets {
			candidates = append(candidates, t.Unit)
		}
	case "env":
		for _, e := range s.source.Project.Environments {
			candidates = append(candidates, e.Name)
		}
	case "set":
		for name := range s.inputNames() {
			candidates = append(candidates, name+"=")
		}
	case "unset":
		candidates = slices.Collect(maps.Keys(s.given.Inputs))
	case "why", "type":
		return s.fields(ctx, before)
	}
	return start, beginning(arg, candidates)
}

// inputNames are the inputs that the program is known to take, or is given.
func (s *Session) inputNames() map[string]string {
	all := maps.Clone(s.target.Offers)
	maps.Copy(all, s.target.Inputs)
	if s.whole != nil {
		maps.Copy(all, s.whole.Inputs)
	}
	return all
}

func beginning(word string, all []string) []string {
	all = slices.DeleteFunc(all, func(c string) bool { return !strings.HasPrefix(c, word) })
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), maxCandidates)]
}

// reference is the end of a line that refers to a field: what is complete of it,
// and the step that is not.
var reference = regexp.MustCompile(`((?:\$|[\pL_#][\pL\pN_#-]*)?(?:\.[\pL_#][\pL\pN_#-]*|\[(?:\d+|"(?:[^"\\]|\\.)*")\])*)(\.[\pL\pN_-]*|\[(?:\d*|"(?:[^"\\]|\\.)*))$`)

// word is the name at the end of a line that is the first of a reference.
var word = regexp.MustCompile(`[\pL_#][\pL\pN_#]*$`)

// fields completes the reference to a field at the end of a line.
func (s *Session) fields(ctx context.Context, before string) (start int, candidates []string) {
	start = len(before)
	m := reference.FindStringSubmatch(before)
	parent, step := "", ""
	switch {
	case m != nil:
		parent, step = m[1], m[2]
	case s.language() == render.CUE || s.language() == render.YAML:
		step = word.FindString(before)
	default:
		return start, nil
	}
	start -= len(step)
	at, ok := s.parent(parent)
	if !ok {
		return start, nil
	}
	v, err := s.value(ctx)
	if err != nil {
		return start, nil
	}
	elements, ok := lang.SplitPath(at)
	if !ok {
		return start, nil
	}
	if v, ok = v.Inside(elements); !ok {
		return start, nil
	}
	bare := m == nil
	for i := range v.Items {
		candidates = append(candidates, lang.JoinIndex("", i))
	}
	isPath := s.language() == render.YAML || strings.HasPrefix(parent+step, ".")
	for _, f := range v.Fields {
		candidates = append(candidates, stepTo(f.Name, isPath, bare))
	}
	return start, beginning(step, candidates)
}

// parent is the path of what a reference refers to.
func (s *Session) parent(text string) (at string, ok bool) {
	switch {
	case text == "" || strings.HasPrefix(text, ".") || strings.HasPrefix(text, "["):
		return text, true
	case s.language() == render.Jsonnet:
		return strings.CutPrefix(text, "$")
	}
	return "." + text, true
}

var identifier = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

// stepTo is how a field is reached from what it is in. A bare one is not in
// anything.
func stepTo(name string, isPath, bare bool) string {
	switch {
	case isPath && !bare:
		return lang.JoinField("", name)
	case identifier.MatchString(name) && bare:
		return name
	case identifier.MatchString(name):
		return "." + name
	case bare:
		return strconv.Quote(name)
	}
	return "[" + strconv.Quote(name) + "]"
}
