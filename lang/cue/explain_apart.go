package cue

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/writ-dev/writ/lang"
)

// conjunct is one of the expressions that a value was unified from.
type conjunct struct {
	value cue.Value
	// of is the value that it became part of.
	of cue.Value
	// field is the field that has the expression, nil if there is none.
	field *ast.Field
	expr  ast.Expr
	// more are further constraints of the same field.
	more []ast.Expr
	// effect is what it did to the value.
	effect lang.Effect
}

// plainConstraint reports whether a conjunct only says what is allowed, and
// refers to nothing.
func (c conjunct) plainConstraint() bool {
	b, or := c.expr.(*ast.BinaryExpr)
	return c.effect == lang.Allows && !refers(c.expr) && !(or && b.Op == token.OR)
}

// rank orders conjuncts: what gives the value, then what lost, then what
// only allows it; the user's own before the library.
func (c conjunct) rank() int {
	n := map[lang.Effect]int{lang.Gives: 0, lang.Overridden: 2, lang.Allows: 4}[c.effect]
	if lang.IsLibrary(position(c.expr.Pos()).File) {
		n++
	}
	return n
}

// conjuncts takes a value apart.
func (t *tracer) conjuncts(v cue.Value) []conjunct {
	var all []conjunct
	var collect func(part cue.Value, field *ast.Field, depth int)
	collect = func(part cue.Value, field *ast.Field, depth int) {
		if f, ok := part.Source().(*ast.Field); ok {
			field = f
		}
		op, parts := t.apart(part)
		if op == cue.AndOp && depth < maxTraceDepth {
			for _, p := range parts {
				collect(p, field, depth+1)
			}
			return
		}
		expr, _ := expression(part).(ast.Expr)
		if expr == nil && field != nil {
			expr = field.Value
		}
		if expr == nil || part.IncompleteKind() == cue.TopKind && isTop(expr) {
			return
		}
		c := conjunct{value: part, of: v, field: field, expr: unparen(expr)}
		c.effect = effectOf(part, v)
		all = append(all, c)
	}
	collect(v, nil, 0)
	return all
}

// apart is Expr, which evaluates the parts anew each time, so it is done once for
// a value, for all explanations of a program. It has panicked when what is around
// a value was taken apart before; then the value is told as a whole.
func (t *tracer) apart(v cue.Value) (op cue.Op, parts []cue.Value) {
	key := valueKey{v.Core().V, v.Path().String()}
	if known, ok := t.src.apart[key]; ok {
		t.failed = t.failed || known.failed
		return known.op, known.parts
	}
	defer func() {
		failed := recover() != nil
		if failed {
			op, parts, t.failed = cue.NoOp, []cue.Value{v}, true
		}
		if len(t.src.apart) < maxApart {
			t.src.apart[key] = taken{op, parts, failed}
		}
	}()
	return v.Expr()
}

// isTop reports whether an expression is "_", which says nothing.
func isTop(e ast.Expr) bool {
	i, ok := unparen(e).(*ast.Ident)
	return ok && i.Name == "_"
}

func unparen(e ast.Expr) ast.Expr {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.Alias:
			e = x.Expr
		default:
			return e
		}
	}
}

// effectOf tells what a part did to the value that it became part of.
func effectOf(part, of cue.Value) lang.Effect {
	part, _ = part.Default()
	of, _ = of.Default()
	switch {
	case composite(part) && part.IncompleteKind() == of.IncompleteKind() && part.Kind() != cue.BottomKind:
		return lang.Gives
	case !part.IsConcrete() || part.Err() != nil:
		return lang.Allows
	case part.Equals(of):
		return lang.Gives
	}
	return lang.Overridden
}
