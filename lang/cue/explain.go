package cue

import (
	"context"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// Bounds on looking for where a value comes from.
const (
	maxTraceDepth  = 30
	maxTraceVisits = 5000
	// maxAgain is how often what could not be explained is, by a new evaluation.
	maxAgain = 16
	// maxApart is how many values are remembered with what they were unified from.
	maxApart = 100_000
)

// explain tells how parts of the program's value came to be. Root is the value
// as CUE has it.
func (l *loader) explain(root cue.Value, value lang.Value) []lang.Explanation {
	if len(l.program.Explain) == 0 {
		return nil
	}
	src := newSources(l)
	var all []lang.Explanation
	for i, path := range l.program.Explain[:min(len(l.program.Explain), lang.MaxExplain)] {
		e, failed := l.explainPath(root, value, path, src)
		if failed && i > 0 {
			l.unexplained = append(l.unexplained, i)
		}
		all = append(all, e)
	}
	return all
}

// explainAgain explains by new evaluations what this one could not after it had
// explained other parts: taking a value apart can leave the evaluator unable to
// take apart another.
func (l *loader) explainAgain(ctx context.Context, r *lang.Result) error {
	failed := l.unexplained
	for n := 0; n < maxAgain && len(failed) > 0; n++ {
		p := l.program
		p.Explain = nil
		for _, i := range failed {
			p.Explain = append(p.Explain, l.program.Explain[i])
		}
		again, still, err := evalOnce(ctx, p, nil)
		if err != nil {
			return err
		}
		for j, i := range failed {
			r.Explained[i] = again.Explained[j]
		}
		var left []int
		for _, j := range still.unexplained {
			left = append(left, failed[j])
		}
		failed = left
	}
	return nil
}

// explainPath explains one part, and tells whether the evaluator failed at it.
// CUE has panicked on values that it made itself; an explanation is not worth a
// result.
func (l *loader) explainPath(root cue.Value, value lang.Value, path string, src *sources) (e lang.Explanation, failed bool) {
	elements, ok := lang.SplitPath(path)
	if _, has := value.Inside(elements); !ok || !has {
		return lang.Located(value, path, ""), false
	}
	t := &tracer{loader: l, root: root, src: src, left: maxTraceVisits, told: map[ast.Node]bool{}, near: root}
	defer func() {
		if r := recover(); r != nil {
			e, failed = lang.Located(value, path, "the CUE evaluator failed"), true
		}
	}()
	v := t.walk(root, elements)
	if v.Exists() {
		t.trace(v, 0)
	}
	if len(t.steps) == 0 {
		return lang.Located(value, path, "CUE does not tell what the value was unified from"), t.failed
	}
	return lang.Explanation{Path: path, Steps: t.steps, Gap: t.gap}, t.failed
}

// tracer finds where a value comes from.
type tracer struct {
	*loader
	root  cue.Value
	src   *sources
	steps []lang.Step
	gap   string
	left  int
	// failed is whether the evaluator failed to take a value apart.
	failed bool
	// stack is the values being explained, which references may lead back to.
	stack []any
	// told is the references that bring something in, and the conditions, which
	// are told once.
	told map[ast.Node]bool
	// near is the innermost value being explained that is in the program's tree.
	near cue.Value
}

// walk finds the value at a path. Where what is around it is a choice, the
// choice is explained too.
func (t *tracer) walk(v cue.Value, elements []lang.Element) cue.Value {
	for _, e := range elements {
		selector := cue.Index(max(e.Index, 0))
		if e.Index < 0 {
			selector = cue.Str(e.Name)
		}
		next := v.LookupPath(cue.MakePath(selector))
		if !next.Exists() {
			chosen, _ := v.Default()
			if next = chosen.LookupPath(cue.MakePath(selector)); next.Exists() {
				first := len(t.steps)
				t.trace(v, 0)
				for i := range t.steps[first:] {
					if s := &t.steps[first+i]; s.Effect == lang.Gives {
						s.Effect = lang.Decides
					}
				}
			}
		}
		v = next
	}
	return v
}

// add adds a step, with the value v if there is one that is complete.
func (t *tracer) add(s lang.Step, v cue.Value) {
	if len(t.steps) >= lang.MaxExplainSteps {
		t.gap = "there are more steps than are shown"
		return
	}
	if v.Exists() && s.Text == "" {
		if plain, ok := exported(v); ok {
			s.Show(plain)
		} else if v.IncompleteKind() == cue.StructKind || v.IncompleteKind() == cue.ListKind {
			s.Text = "not complete by itself"
		}
	}
	t.steps = append(t.steps, s)
}

// exported is a value as data, if it is complete.
func exported(v cue.Value) (lang.Value, bool) {
	if valid(v) != nil {
		return lang.Value{}, false
	}
	plain, err := export(v, position(token.NoPos))
	return plain, err == nil
}

// trace explains a value: what it was unified from, those first that give it.
func (t *tracer) trace(v cue.Value, depth int) {
	key := any(v.Core().V)
	t.left--
	if depth > maxTraceDepth || t.left < 0 {
		t.gap = "the value comes from further away than is followed"
		return
	}
	if slices.Contains(t.stack, key) {
		return
	}
	t.stack = append(t.stack, key)
	near := t.near
	if t.root.LookupPath(v.Path()).Core().V == v.Core().V {
		t.near = v
	}
	defer func() { t.stack, t.near = t.stack[:len(t.stack)-1], near }()
	all := t.conjuncts(v)
	slices.SortStableFunc(all, func(a, b conjunct) int { return a.rank() - b.rank() })
	for i := 0; i < len(all); i++ {
		c := all[i]
		for c.plainConstraint() && i+1 < len(all) && all[i+1].plainConstraint() && all[i+1].field == c.field {
			i++
			c.more = append(c.more, all[i].expr)
		}
		t.conjunct(c, depth)
	}
}

// conjunct explains one conjunct, and what led to it.
func (t *tracer) conjunct(c conjunct, depth int) {
	before := len(t.steps)
	t.expression(c, depth)
	if len(t.steps) == before {
		return
	}
	first := before + 1
	t.steps[before].Note = joinNotes(t.steps[before].Note, t.src.inside(c.field, c.expr))
	rest := slices.Clone(t.steps[first:])
	t.steps = t.steps[:first]
	t.clauses(c, depth+1)
	t.via(c, depth+1)
	t.steps = append(t.steps, rest...)
}

func joinNotes(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// step is the step of a conjunct.
func (c conjunct) step(kind lang.StepKind, depth int) lang.Step {
	s := lang.Step{Depth: depth, Kind: kind, Effect: c.effect, Pos: position(c.expr.Pos()), Name: labelOf(c.field)}
	if !s.Pos.IsValid() && c.field != nil {
		s.Pos = position(c.field.Pos())
	}
	return s
}

// labelOf is the name of a field as written.
func labelOf(f *ast.Field) string {
	if f == nil {
		return ""
	}
	if name, _, err := ast.LabelName(f.Label); err == nil {
		return name
	}
	return sourceText(f.Label)
}

// expression explains the expression of a conjunct.
func (t *tracer) expression(c conjunct, depth int) {
	switch x := c.expr.(type) {
	case *ast.BinaryExpr:
		if x.Op == token.OR {
			t.disjunction(c, alternatives(x), depth)
			return
		}
	case *ast.BasicLit:
		if name, pos, ok := t.tagOf(c); ok {
			t.add(lang.Step{Depth: depth, Kind: lang.StepInput, Effect: c.effect, Pos: pos, Name: name}, c.value)
			return
		}
	case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr:
		if i, ok := x.(*ast.Ident); !ok || !basic[i.Name] {
			t.reference(c, depth)
			return
		}
	}
	switch {
	case c.effect == lang.Allows:
		s := c.step(lang.StepConstraint, depth)
		text := sourceText(c.expr)
		for _, e := range c.more {
			text += " & " + sourceText(e)
		}
		s.ShowText(text)
		t.add(s, cue.Value{})
	case isLiteral(c.expr) || isWritten(c.expr):
		t.add(c.step(c.fieldKind(), depth), c.value)
	default:
		t.computed(c, depth)
	}
}

// fieldKind is what a value that is written out is.
func (c conjunct) fieldKind() lang.StepKind {
	if c.field == nil || c.field.Value != c.expr && unparen(c.field.Value) != c.expr && !isUnification(c.field.Value) {
		return lang.StepLiteral
	}
	if _, ok := c.field.Label.(*ast.ListLit); ok {
		return lang.StepPattern
	}
	return lang.StepField
}

// isUnification reports whether an expression is a unification at its top.
func isUnification(e ast.Expr) bool {
	b, ok := unparen(e).(*ast.BinaryExpr)
	return ok && b.Op == token.AND
}

// isWritten reports whether an expression is a plain value.
func isWritten(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		return x.Name == "true" || x.Name == "false" || x.Name == "null"
	case *ast.UnaryExpr:
		_, ok := x.X.(*ast.BasicLit)
		return ok && (x.Op == token.SUB || x.Op == token.ADD)
	}
	return false
}

// computed explains an operator, interpolation or call, and its operands.
func (t *tracer) computed(c conjunct, depth int) {
	s := c.step(lang.StepExpression, depth)
	if call, ok := c.expr.(*ast.CallExpr); ok {
		s.Kind, s.Name = lang.StepStandard, sourceText(call.Fun)
	}
	t.add(s, c.value)
	_, parts := t.apart(c.value)
	before := len(t.steps)
	for _, part := range parts {
		if n, ok := expression(part).(ast.Expr); ok && !isWritten(n) && part.Kind() != cue.BottomKind && n != c.expr {
			t.operand(part, n, depth+1)
		}
	}
	if len(t.steps) == before {
		t.names(c.expr, depth+1)
	}
}

// operand explains what a value was computed from.
func (t *tracer) operand(v cue.Value, e ast.Expr, depth int) {
	if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		return // a piece of an interpolation
	}
	if op, _ := t.apart(v); op == cue.NoOp && sourceText(e) == "" {
		return
	}
	first := len(t.steps)
	t.expression(conjunct{value: v, of: v, expr: unparen(e), effect: effectOf(v, v)}, depth)
	if len(t.steps) > first {
		t.steps[first].Effect = lang.Uses
	}
}

// tagOf is the input that a literal was put in for, and where its tag is.
func (t *tracer) tagOf(c conjunct) (name string, pos diag.Position, ok bool) {
	if c.field == nil || c.expr.Pos().IsValid() {
		return "", pos, false
	}
	for _, a := range c.field.Attrs {
		if key, body := a.Split(); key == "tag" {
			if t, err := parseTag(body); err == nil {
				return t.name, position(a.Pos()), true
			}
		}
	}
	return "", pos, false
}

// quoteIndex writes an index of a list or a name as in a path.
func quoteIndex(v cue.Value) (cue.Selector, bool) {
	if s, err := v.String(); err == nil {
		return cue.Str(s), true
	}
	if i, err := v.Int64(); err == nil && i >= 0 && i < 1<<31 {
		return cue.Index(int(i)), true
	}
	return cue.Selector{}, false
}
