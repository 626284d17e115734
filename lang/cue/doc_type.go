package cue

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// described is what an expression says that a field may be.
type described struct {
	text, value string
	values      []string
	computed    bool
}

// describedBy takes an expression apart: the default, and the alternatives that are
// values. Alternatives that are messages are left out.
func describedBy(e ast.Expr) described {
	if isComputed(e) {
		return described{computed: true}
	}
	var d described
	var types []string
	literal, first := true, ""
	for _, a := range disjuncts(e) {
		if u, ok := a.(*ast.UnaryExpr); ok && u.Op == token.MUL {
			d.value = source(u.X)
			if isLiteralValue(u.X) {
				first = d.value
			}
			literal = literal && first != ""
			continue
		}
		if isMessage(a) {
			continue
		}
		literal = literal && isLiteralValue(a)
		types = append(types, source(withoutParens(a)))
	}
	// A default that is one of the values is listed with them; of a type it is
	// one already.
	if literal && first != "" && !slices.Contains(types, first) {
		types = append([]string{first}, types...)
	}
	if literal && len(types) > 1 {
		d.values = types
	}
	d.text = strings.Join(types, " | ")
	if d.text == "" {
		d.text = d.value
	}
	return d
}

// disjuncts are the parts of a disjunction.
func disjuncts(e ast.Expr) []ast.Expr {
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.OR {
		return append(disjuncts(b.X), disjuncts(b.Y)...)
	}
	return []ast.Expr{e}
}

// isMessage recognises error("what is wrong").
func isMessage(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fun.(*ast.Ident)
	return ok && name.Name == "error"
}

func isLiteralValue(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.UnaryExpr:
		return (x.Op == token.SUB || x.Op == token.ADD) && isLiteralValue(x.X)
	}
	return false
}

// isComputed recognises what is not to be given: a part of something else, or
// text that is put together.
func isComputed(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.SelectorExpr:
		_, named := x.X.(*ast.Ident)
		if inner, ok := x.X.(*ast.SelectorExpr); ok {
			return isComputed(inner)
		}
		return !named
	case *ast.Interpolation, *ast.Comprehension:
		return true
	case *ast.ListLit:
		for _, item := range x.Elts {
			if _, ok := item.(*ast.Comprehension); ok {
				return true
			}
		}
	}
	return false
}

func withoutParens(e ast.Expr) ast.Expr {
	if p, ok := e.(*ast.ParenExpr); ok {
		if b, ok := p.X.(*ast.BinaryExpr); !ok || b.Op != token.OR {
			return p.X
		}
	}
	return e
}
