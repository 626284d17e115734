package cue

import (
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/writ-dev/writ/lang"
)

// reference explains a reference, and then what it is to.
func (t *tracer) reference(c conjunct, depth int) {
	s := c.step(lang.StepReference, depth)
	s.Name = sourceText(c.expr)
	if ident, ok := c.expr.(*ast.Ident); ok {
		switch {
		case t.src.isLabel(ident):
			s.Kind = lang.StepLabel
			t.add(s, c.value)
			t.label(c, depth+1)
			return
		case t.src.isLet(ident) != nil:
			s.Kind = lang.StepLet
			t.add(s, c.value)
			t.let(c, t.src.isLet(ident), depth+1)
			return
		}
	}
	if c.effect == lang.Allows {
		s.Kind = lang.StepConstraint
		t.add(s, cue.Value{})
	} else {
		t.add(s, c.value)
	}
	if to := cue.Dereference(c.value); to.Exists() && to.Core().V != c.value.Core().V {
		t.trace(to, depth+1)
		return
	}
	t.selection(c, depth+1)
}

// selection explains a selector or index on something without a name of its
// own: a let, or a value that exists in the expression only.
func (t *tracer) selection(c conjunct, depth int) {
	op, parts := t.apart(c.value)
	if op != cue.SelectorOp && op != cue.IndexOp || len(parts) != 2 {
		if ident, ok := c.expr.(*ast.Ident); ok {
			t.variable(ident, depth)
		}
		return
	}
	index, ok := quoteIndex(parts[1])
	if !ok {
		return
	}
	on := parts[0]
	inner := on.LookupPath(cue.MakePath(index))
	if !inner.Exists() {
		if to := cue.Dereference(on); to.Exists() {
			inner = to.LookupPath(cue.MakePath(index))
		}
	}
	if inner.Exists() {
		t.trace(inner, depth)
	}
}

// variable explains an identifier that CUE tells no more of: the variable of a
// "for", or a field by where it is declared.
func (t *tracer) variable(ident *ast.Ident, depth int) {
	if clause := t.src.clauseOf(ident); clause != nil {
		s := lang.Step{Depth: depth, Kind: lang.StepComprehension, Effect: lang.Gives, Pos: position(clause.Pos()), Name: ident.Name}
		s.ShowText(clauseText(clause))
		t.add(s, cue.Value{})
		return
	}
	if v := t.lookup(ident); v.Exists() {
		t.trace(v, depth)
	}
}

// let explains what a let clause computes, whose value CUE does not tell apart
// from that of the reference to it.
func (t *tracer) let(c conjunct, let *ast.LetClause, depth int) {
	if composite(c.value) {
		return
	}
	s := lang.Step{Depth: depth, Kind: lang.StepExpression, Effect: lang.Gives, Pos: position(let.Expr.Pos()), Name: let.Ident.Name}
	t.add(s, c.value)
	t.names(let.Expr, depth+1)
}

// names explains the names in an expression that is known from its source only.
func (t *tracer) names(e ast.Expr, depth int) {
	ast.Walk(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.StructLit, *ast.Comprehension, *ast.Field:
			return false
		case *ast.SelectorExpr, *ast.Ident:
			first := len(t.steps)
			if v := t.lookup(x.(ast.Expr)); v.Exists() && v.Core().V != t.near.Core().V {
				t.trace(v, depth)
			}
			if len(t.steps) > first && t.steps[first].Effect == lang.Gives {
				t.steps[first].Effect = lang.Uses
			}
			return false
		}
		return true
	}, nil)
}

// lookup finds the value that a name, or a selector on one, refers to, by the
// source: the struct in which the name is declared is as many fields around the
// value that is near as it is in the source, or is one that exists in an
// expression around it only. What is found counts only when CUE says that it
// was unified from that declaration.
func (t *tracer) lookup(e ast.Expr) cue.Value {
	switch x := unparen(e).(type) {
	case *ast.SelectorExpr:
		on := t.lookup(x.X)
		name, _, err := ast.LabelName(x.Sel)
		if !on.Exists() || err != nil {
			return cue.Value{}
		}
		return on.LookupPath(cue.MakePath(cue.Str(name)))
	case *ast.Ident:
		field := t.src.fieldOf(x)
		if field == nil {
			return cue.Value{}
		}
		levels, ok := t.src.levels(x, field)
		if !ok {
			return cue.Value{}
		}
		path := t.near.Path().Selectors()
		for _, n := range []int{len(path) - levels, 0} {
			if n < 0 || n > len(path) {
				continue
			}
			around := t.root.LookupPath(cue.MakePath(path[:n]...))
			if v := member(around, field); v.Exists() && t.madeOf(v, field) {
				return v
			}
		}
		return t.lookupAnonymous(field)
	}
	return cue.Value{}
}

// lookupAnonymous finds a field of a struct that exists only in an expression
// such as (#F & {in: 1}).out, of the values around the one that is near.
func (t *tracer) lookupAnonymous(f *ast.Field) cue.Value {
	path := t.near.Path().Selectors()
	for n := len(path); n >= 0; n-- {
		for _, in := range t.anonymous(t.root.LookupPath(cue.MakePath(path[:n]...))) {
			if v := member(in, f); v.Exists() && t.madeOf(v, f) {
				return v
			}
		}
	}
	return cue.Value{}
}

// anonymous is the structs that exist only in expressions that a value was
// unified from.
func (t *tracer) anonymous(v cue.Value) []cue.Value {
	var all []cue.Value
	for _, c := range t.conjuncts(v) {
		if anonymous(c.expr) {
			if _, parts := t.apart(c.value); len(parts) == 2 {
				all = append(all, parts[0])
			}
		}
	}
	return all
}

// member is what a field with a plain label is in a value.
func member(v cue.Value, f *ast.Field) cue.Value {
	label := f.Label
	if a, ok := label.(*ast.Alias); ok {
		label, _ = a.Expr.(ast.Label)
	}
	ident, ok := label.(*ast.Ident)
	if ok && strings.HasPrefix(ident.Name, "_") {
		// The names of hidden fields belong to packages, which a name in the
		// source does not tell.
		for iter, err := v.Fields(cue.All()); err == nil && iter.Next(); {
			if iter.Selector().String() == ident.Name {
				return iter.Value()
			}
		}
		return cue.Value{}
	}
	if _, text := label.(*ast.BasicLit); !ok && !text {
		return cue.Value{}
	}
	return v.LookupPath(cue.MakePath(cue.Label(label)))
}

// madeOf reports whether a value was unified from a field, among others.
func (t *tracer) madeOf(v cue.Value, f *ast.Field) bool {
	for _, c := range t.conjuncts(v) {
		if c.field == f {
			return true
		}
	}
	return false
}

// label explains the name of a field as a value: where a field of that name was
// declared.
func (t *tracer) label(c conjunct, depth int) {
	name, err := c.value.String()
	if err != nil {
		return
	}
	path := c.of.Path().Selectors()
	for n := len(path); n > 0; n-- {
		if s := path[n-1]; s.LabelType() != cue.StringLabel || s.Unquoted() != name {
			continue
		}
		for _, part := range t.conjuncts(t.root.LookupPath(cue.MakePath(path[:n]...))) {
			if part.field != nil && labelOf(part.field) == name {
				t.add(lang.Step{Depth: depth, Kind: lang.StepField, Effect: lang.Gives, Pos: position(part.field.Label.Pos()), Name: name}, cue.Value{})
			}
		}
		return
	}
}

// disjunction explains a choice between alternatives.
func (t *tracer) disjunction(c conjunct, arms []ast.Expr, depth int) {
	values := map[ast.Node]cue.Value{}
	_, parts := t.apart(c.value)
	for _, p := range parts {
		values[unparenNode(p.Source())] = p
	}
	chosen, _ := c.of.Default()
	byDefault := false
	for _, e := range arms {
		if !t.src.marked[e] {
			continue
		}
		d := c
		d.expr = unparen(e)
		v, _ := c.value.Default()
		if known, ok := values[unparenNode(e)]; ok {
			v = known
		}
		if v.Exists() && v.Equals(chosen) {
			d.effect, byDefault = lang.Gives, true
		} else {
			d.effect = lang.Overridden
		}
		s := d.step(lang.StepDefault, depth)
		t.add(s, v)
		if refers(e) {
			t.names(e, depth+1)
		}
	}
	if byDefault {
		return
	}
	s := c.step(lang.StepAlternative, depth)
	if c.effect == lang.Overridden {
		s.Effect = lang.Allows // it is the default that lost
	}
	text := c.expr
	for _, e := range arms {
		v, ok := values[unparenNode(e)]
		if !t.src.marked[e] && ok && v.Err() == nil && v.Unify(chosen).Validate() == nil {
			text, s.Pos = e, position(unparen(e).Pos())
			break
		}
	}
	if s.Effect == lang.Gives {
		t.add(s, c.value)
		t.names(text, depth+1)
		return
	}
	s.ShowText(sourceText(text))
	t.add(s, cue.Value{})
}

func unparenNode(n ast.Node) ast.Node {
	if f, ok := n.(*ast.Field); ok {
		n = f.Value
	}
	if e, ok := n.(ast.Expr); ok {
		return unparen(e)
	}
	return n
}
