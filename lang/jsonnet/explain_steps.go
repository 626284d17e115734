package jsonnet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-jsonnet/ast"

	"github.com/writ-dev/writ/lang"
)

// maxExplainDepth bounds how far back a value is followed.
const maxExplainDepth = 60

// explainer writes the steps of an explanation.
type explainer struct {
	*tracer
	want  lang.Value
	steps []lang.Step
	gap   string
	// calls and choices are those that are told already, and seen the origins
	// whose own origin is.
	calls   map[*callSite]bool
	choices map[*ast.Conditional]bool
	seen    map[*origin]bool
}

func (w *explainer) add(s lang.Step) {
	if len(w.steps) >= lang.MaxExplainSteps {
		w.gap = "there are more steps than are shown"
		return
	}
	w.steps = append(w.steps, s)
}

// origin tells one step, and those that led to it.
func (w *explainer) origin(o *origin, depth int, effect lang.Effect) {
	switch {
	case o == nil:
		return
	case depth > maxExplainDepth:
		w.gap = "the value comes from further away than is followed"
		return
	case o.choice != nil:
		w.choice(o, depth, effect)
		return
	case !o.pos.IsValid() && o.kind != lang.StepInput:
		w.behind(o, depth, effect)
		return
	}
	s := lang.Step{Depth: depth, Kind: o.kind, Effect: effect, Pos: o.pos, Name: o.name, Note: o.note}
	w.show(&s, o.value)
	w.add(s)
	if w.seen[o] {
		return
	}
	w.seen[o] = true
	w.inside(o.call, depth+1)
	w.named(o, depth+1)
	if o.key != nil && !lang.IsLibrary(o.pos.File) {
		w.origin(o.key, depth+1, lang.Decides)
	}
	w.sources(o, depth+1)
	if o.field != nil {
		for _, f := range hidden(o.field) {
			w.overridden(f, nil, depth, "")
		}
	}
}

// behind tells what is behind a step without a place.
func (w *explainer) behind(o *origin, depth int, effect lang.Effect) {
	if w.seen[o] {
		return
	}
	w.seen[o] = true
	if o.uses {
		effect = lang.Uses
	}
	for _, f := range o.from {
		if !o.uses || !writtenOut(f) {
			w.origin(f, depth, effect)
		}
	}
}

// writtenOut reports whether an origin is a plain value in the source.
func writtenOut(o *origin) bool {
	_, isList := o.value.(*list)
	return o.kind == lang.StepLiteral && !isList
}

// sources tells where the value of a step comes from.
func (w *explainer) sources(o *origin, depth int) {
	effect := lang.Gives
	if o.uses {
		effect = lang.Uses
	}
	for _, f := range o.from {
		switch {
		case f.pos == o.pos && f.kind == lang.StepLiteral || o.uses && inLine(f, o):
			// The step has said it.
		case f.pos == o.pos && f.kind == lang.StepObject && f.choice == nil:
			w.sources(f, depth)
		default:
			w.origin(f, depth, effect)
		}
	}
}

// inLine reports whether an operand is a plain value in the line of the step
// that uses it.
func inLine(f, of *origin) bool {
	if f.kind == lang.StepArgument || f.kind == lang.StepElement {
		if len(f.from) != 1 || f.from[0].pos != f.pos {
			return false
		}
		return writtenOut(f.from[0]) && f.pos.File == of.pos.File && f.pos.Line == of.pos.Line
	}
	return writtenOut(f)
}

// choice tells what an "if" let through, and after its first step the "if".
func (w *explainer) choice(o *origin, depth int, effect lang.Effect) {
	first := len(w.steps)
	for _, f := range o.from {
		w.origin(f, depth, effect)
	}
	if len(w.steps) == first || w.choices[o.choice.node] {
		return
	}
	w.choices[o.choice.node] = true
	rest := slices.Clone(w.steps[first+1:])
	w.steps = w.steps[:first+1]
	loc := place(o.choice.node.Cond)
	s := lang.Step{Depth: depth + 1, Kind: lang.StepCondition, Effect: lang.Decides, Pos: firstValid(position(&loc), position(o.choice.node.Loc()))}
	if !s.Pos.IsValid() {
		w.steps = append(w.steps, rest...)
		return // it is of std
	}
	s.ShowText("if " + sourceText(&loc))
	if !o.choice.holds {
		s.Note = "it does not hold"
	}
	w.add(s)
	// What a condition of the library looks at is the library's affair.
	if c := o.choice.cond; c != nil && !lang.IsLibrary(s.Pos.File) {
		if c.uses {
			w.sources(c, depth+2)
		} else {
			w.origin(c, depth+2, lang.Uses)
		}
	}
	w.steps = append(w.steps, rest...)
}

// inside tells the calls that a step is inside of, the innermost first.
func (w *explainer) inside(c *callSite, depth int) {
	for ; c != nil && !w.calls[c]; c = c.outer {
		w.calls[c] = true
		if c.pos.IsValid() {
			w.add(lang.Step{Depth: depth, Kind: c.kind, Effect: lang.Decides, Pos: c.pos, Name: c.name})
		}
	}
}

// named tells the expression that gave a field its name, or would have left it
// out.
func (w *explainer) named(o *origin, depth int) {
	if o.field == nil || o.field.member.nameNode == nil {
		return
	}
	loc := place(o.field.member.nameNode)
	if pos := position(&loc); pos.IsValid() {
		s := lang.Step{Depth: depth, Kind: lang.StepCondition, Effect: lang.Decides, Pos: pos, Note: "the name of the field"}
		s.ShowText(sourceText(&loc))
		w.add(s)
	}
}

// overridden tells a field that lost, or what it has at the path rest.
func (w *explainer) overridden(r *fieldRef, rest []lang.Element, depth int, note string) {
	s := lang.Step{Depth: depth, Kind: lang.StepField, Effect: lang.Overridden, Name: r.name, Pos: r.member.place(), Note: note}
	v, err := w.force(w.fieldCell(r))
	if err == nil && len(rest) > 0 {
		if v, err = w.walk(v, rest, nil); err != nil {
			return // it has no such part, so nothing was lost
		}
		if last := rest[len(rest)-1]; last.Index < 0 {
			s.Name = last.Name
		}
		if o := passedOn(v.from); o != nil {
			s.Pos = o.pos
		}
	}
	if !s.Pos.IsValid() {
		return
	}
	if err != nil {
		s.ShowText("it fails: " + err.Error())
	} else {
		w.show(&s, v.value)
	}
	w.add(s)
}

// show puts a value into a step, without evaluating more of it.
func (w *explainer) show(s *lang.Step, v any) {
	switch x := v.(type) {
	case *list:
		s.Text = fmt.Sprintf("a list of %d", len(x.items))
	case *object:
		s.ShowText("an object with " + strings.Join(x.names(false), ", "))
	case *function:
		s.Text = "a function"
	default:
		if data, err := w.data(v, 0); err == nil {
			s.Show(data)
		}
	}
	if s.Depth == 0 && s.Effect == lang.Gives && s.Text != "" {
		s.Show(w.want)
	}
}

// sourceText is the text at a place.
func sourceText(l *ast.LocationRange) string {
	if l == nil || !l.IsSet() || l.File == nil {
		return ""
	}
	var b strings.Builder
	for n := l.Begin.Line; n <= l.End.Line && n <= len(l.File.Lines); n++ {
		line := l.File.Lines[n-1]
		from, to := 0, len(line)
		if n == l.Begin.Line {
			from = min(max(l.Begin.Column-1, 0), len(line))
		}
		if n == l.End.Line {
			to = min(max(l.End.Column-1, from), len(line))
		}
		b.WriteString(line[from:to])
	}
	return b.String()
}
