package cue

import (
	"path"
	"slices"
	"strconv"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/writ-dev/writ/lang"
)

// maxVia bounds how many references to references are followed in the source.
const maxVia = 10

// via adds the references that brought a conjunct here which is written
// elsewhere, as "web: app.#App & {...}" brings what is in #App.
func (t *tracer) via(c conjunct, depth int) {
	if c.field == nil {
		return
	}
	at := c.of.Path().Selectors()
	for n := len(at) - 1; n >= 0; n-- {
		around := t.root.LookupPath(cue.MakePath(at[:n]...))
		if !around.Exists() {
			return // the value is not in the program's tree
		}
		parts := t.conjuncts(around)
		if slices.ContainsFunc(parts, func(p conjunct) bool { return t.src.contains(p.expr, c.field) }) {
			continue
		}
		for _, p := range parts {
			chain := t.src.chain(p.expr, c.field, 0)
			if chain != nil && t.told[chain[0]] {
				return
			}
			for i, e := range chain {
				t.told[e] = true
				t.add(lang.Step{Depth: depth + i, Kind: lang.StepReference, Effect: lang.Decides, Pos: position(e.Pos()), Name: sourceText(e)}, cue.Value{})
			}
			if chain != nil {
				return
			}
		}
	}
}

// contains reports whether a node is inside of another, or is it.
func (s *sources) contains(outer, n ast.Node) bool {
	for ; n != nil; n = s.parents[n] {
		if n == outer {
			return true
		}
	}
	return false
}

// chain is the references, each in what the one before it refers to, that lead
// from an expression to what holds a field.
func (s *sources) chain(e ast.Expr, f *ast.Field, depth int) []ast.Expr {
	if depth > maxVia {
		return nil
	}
	for _, r := range references(e) {
		to := s.resolve(r)
		if to == nil || s.contains(to, r) {
			continue
		}
		if s.contains(to, f) {
			return []ast.Expr{r}
		}
		if rest := s.chain(valueOf(to), f, depth+1); rest != nil {
			return append([]ast.Expr{r}, rest...)
		}
	}
	return nil
}

// references are the names and selectors that an expression is made of, and not
// those that it computes with.
func references(e ast.Expr) []ast.Expr {
	switch x := e.(type) {
	case *ast.SelectorExpr:
		if anonymous(x) {
			return references(x.X)
		}
		return []ast.Expr{x}
	case *ast.Ident:
		return []ast.Expr{x}
	case *ast.ParenExpr:
		return references(x.X)
	case *ast.Alias:
		return references(x.Expr)
	case *ast.UnaryExpr:
		if x.Op == token.MUL {
			return references(x.X)
		}
	case *ast.BinaryExpr:
		if x.Op == token.AND || x.Op == token.OR {
			return append(references(x.X), references(x.Y)...)
		}
	case *ast.IndexExpr:
		return references(x.X)
	case *ast.PostfixExpr:
		return references(x.X)
	case *ast.StructLit:
		var all []ast.Expr
		for _, d := range x.Elts {
			switch d := d.(type) {
			case *ast.EmbedDecl:
				all = append(all, references(d.Expr)...)
			case *ast.Comprehension:
				all = append(all, references(d.Value)...)
			}
		}
		return all
	case *ast.Comprehension:
		return references(x.Value)
	}
	return nil
}

// resolve is the field or let clause that a reference is to, nil when the source
// does not tell.
func (s *sources) resolve(e ast.Expr) ast.Node {
	switch x := unparen(e).(type) {
	case *ast.Ident:
		if let := s.isLet(x); let != nil {
			return let
		}
		if f := s.fieldOf(x); f != nil {
			return f
		}
	case *ast.SelectorExpr:
		name, _, err := ast.LabelName(x.Sel)
		if err != nil {
			return nil
		}
		if ident, ok := x.X.(*ast.Ident); ok {
			if spec, ok := ident.Node.(*ast.ImportSpec); ok {
				return asNode(s.imported(spec, name))
			}
		}
		if s, ok := unparen(valueOf(s.resolve(x.X))).(*ast.StructLit); ok {
			return asNode(declared(s.Elts, name))
		}
	}
	return nil
}

// asNode is f, nil when there is none.
func asNode(f *ast.Field) ast.Node {
	if f == nil {
		return nil
	}
	return f
}

// imported is a field at the top of an imported package.
func (s *sources) imported(spec *ast.ImportSpec, name string) *ast.Field {
	text, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return nil
	}
	dirs, _ := s.loader.packageDirs(ast.ParseImportPath(text))
	for _, f := range s.sorted() {
		if slices.Contains(dirs, path.Dir(f.Filename)) {
			if found := declared(f.Decls, name); found != nil {
				return found
			}
		}
	}
	return nil
}

// valueOf is the expression of a field or let clause.
func valueOf(n ast.Node) ast.Expr {
	switch x := n.(type) {
	case *ast.Field:
		return x.Value
	case *ast.LetClause:
		return x.Expr
	}
	return nil
}
