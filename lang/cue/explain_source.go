package cue

import (
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/token"

	"github.com/writ-dev/writ/lang"
)

// sources knows the syntax trees of a program: what each node is in, and where
// names are declared.
type sources struct {
	loader  *loader
	parents map[ast.Node]ast.Node
	// marked are the alternatives with a "*".
	marked map[ast.Expr]bool
	// apart is values with what they were unified from.
	apart map[valueKey]taken
}

// valueKey is a value of a program: the evaluator's own pointer to it, which is
// shared by places that have the same, and the path it was found by.
type valueKey struct {
	value any
	path  string
}

// taken is a value taken apart, as Expr does, or fails to.
type taken struct {
	op     cue.Op
	parts  []cue.Value
	failed bool
}

func newSources(l *loader) *sources {
	s := &sources{loader: l, parents: map[ast.Node]ast.Node{}, marked: map[ast.Expr]bool{}, apart: map[valueKey]taken{}}
	for _, f := range l.files {
		var stack []ast.Node
		ast.Walk(f, func(n ast.Node) bool {
			if len(stack) > 0 {
				s.parents[n] = stack[len(stack)-1]
			}
			if u, ok := n.(*ast.UnaryExpr); ok && u.Op == token.MUL {
				s.marked[u.X] = true
				// alternatives drops the mark, and what is in parentheses below it.
				for _, e := range alternatives(u.X) {
					s.marked[e] = true
				}
			}
			stack = append(stack, n)
			return true
		}, func(ast.Node) { stack = stack[:len(stack)-1] })
	}
	return s
}

// outer yields what a node is in, the nearest first.
func (s *sources) outer(n ast.Node) func(func(ast.Node) bool) {
	return func(yield func(ast.Node) bool) {
		for p := s.parents[n]; p != nil; p = s.parents[p] {
			if !yield(p) {
				return
			}
		}
	}
}

// inside says in which definitions and patterns an expression is.
func (s *sources) inside(f *ast.Field, e ast.Expr) string {
	var from ast.Node = e
	if f != nil {
		from = f
	}
	var parts []string
	for p := range s.outer(from) {
		field, ok := p.(*ast.Field)
		if !ok {
			continue
		}
		name := labelOf(field)
		if _, pattern := field.Label.(*ast.ListLit); pattern {
			parts = append(parts, "for every field "+name)
		} else if strings.HasPrefix(strings.TrimPrefix(name, "_"), "#") {
			parts = append(parts, "in "+name)
		}
	}
	return strings.Join(parts, " ")
}

// fieldOf is the field that an identifier refers to.
func (s *sources) fieldOf(ident *ast.Ident) *ast.Field {
	switch n := ident.Node.(type) {
	case *ast.Field:
		return n
	case nil:
		return s.topField(s.fileOf(ident), ident.Name)
	default:
		for p := s.parents[n]; p != nil; p = s.parents[p] {
			switch x := p.(type) {
			case *ast.Field:
				if unparenNode(x.Value) == unparenNode(n) {
					return x
				}
				return nil
			case *ast.ParenExpr, *ast.Alias:
			default:
				return nil
			}
		}
	}
	return nil
}

func (s *sources) fileOf(n ast.Node) *ast.File {
	for p := range s.outer(n) {
		if f, ok := p.(*ast.File); ok {
			return f
		}
	}
	return nil
}

// topField is a field at the top of another file of the same package.
func (s *sources) topField(of *ast.File, name string) *ast.Field {
	if of == nil {
		return nil
	}
	for _, file := range s.sorted() {
		if packageName(file) != packageName(of) || path.Dir(file.Filename) != path.Dir(of.Filename) {
			continue
		}
		if f := declared(file.Decls, name); f != nil {
			return f
		}
	}
	return nil
}

func (s *sources) sorted() []*ast.File {
	var files []*ast.File
	for _, f := range s.loader.files {
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b *ast.File) int { return strings.Compare(a.Filename, b.Filename) })
	return files
}

func declared(decls []ast.Decl, name string) *ast.Field {
	for _, d := range decls {
		if f, ok := d.(*ast.Field); ok && labelOf(f) == name {
			return f
		}
	}
	return nil
}

// isLet is the let clause that an identifier refers to, or nil.
func (s *sources) isLet(ident *ast.Ident) *ast.LetClause {
	if let, ok := ident.Node.(*ast.LetClause); ok {
		return let
	}
	if n, ok := ident.Node.(*ast.Ident); ok {
		let, _ := s.parents[n].(*ast.LetClause)
		return let
	}
	return nil
}

// isLabel reports whether an identifier stands for the name of a field.
func (s *sources) isLabel(ident *ast.Ident) bool {
	if ident.Node == nil {
		return false
	}
	for n := ident.Node; ; {
		p := s.parents[n]
		switch x := p.(type) {
		case *ast.Alias:
			n = x
		case *ast.ListLit:
			f, ok := s.parents[x].(*ast.Field)
			return ok && f.Label == ast.Label(x)
		default:
			return false
		}
	}
}

// clauseOf is the "for" that an identifier is a variable of, or nil.
func (s *sources) clauseOf(ident *ast.Ident) *ast.ForClause {
	n, ok := ident.Node.(*ast.Ident)
	if !ok {
		return nil
	}
	clause, _ := s.parents[n].(*ast.ForClause)
	return clause
}

// levels counts the fields and list elements between an identifier and the
// struct that declares a field. It is false when there is something between
// whose place in a value is not known.
func (s *sources) levels(ident *ast.Ident, f *ast.Field) (int, bool) {
	scope := s.parents[f]
	levels := 0
	for p := range s.outer(ident) {
		if p == scope {
			return levels, true
		}
		switch p.(type) {
		case *ast.Field, *ast.ListLit:
			levels++
		case *ast.File:
			return levels, true // another file of the package
		}
	}
	return 0, false
}

// clauses adds the conditions and loops that let a conjunct through.
func (t *tracer) clauses(c conjunct, depth int) {
	var from ast.Node = c.expr
	if c.field != nil {
		from = c.field
	}
	inner := from
	for p := range t.src.outer(from) {
		if comprehension, ok := p.(*ast.Comprehension); ok {
			t.comprehension(comprehension, inner, depth)
		}
		inner = p
	}
}

func (t *tracer) comprehension(c *ast.Comprehension, inner ast.Node, depth int) {
	fallback := c.Fallback != nil && (inner == ast.Node(c.Fallback) || inner == ast.Node(c.Fallback.Body))
	if !fallback && inner != ast.Node(c.Value) {
		return // it is in a clause
	}
	for _, clause := range c.Clauses {
		if t.told[clause] {
			continue
		}
		t.told[clause] = true
		s := lang.Step{Depth: depth, Kind: lang.StepCondition, Effect: lang.Decides, Pos: position(clause.Pos())}
		s.ShowText(clauseText(clause))
		switch clause.(type) {
		case *ast.ForClause:
			s.Kind = lang.StepComprehension
		case *ast.LetClause:
			continue
		}
		if fallback {
			s.Note = "it does not hold, and this is the other branch"
		}
		t.add(s, cue.Value{})
		// What a condition of the library looks at is the library's affair.
		if x, ok := clause.(*ast.IfClause); ok && !lang.IsLibrary(s.Pos.File) {
			t.names(x.Condition, depth+1)
		}
	}
}

func clauseText(c ast.Clause) string {
	switch x := c.(type) {
	case *ast.IfClause:
		return "if " + sourceText(x.Condition)
	case *ast.ForClause:
		vars := x.Value.Name
		if x.Key != nil {
			vars = x.Key.Name + ", " + vars
		}
		return "for " + vars + " in " + sourceText(x.Source)
	case *ast.TryClause:
		return "try"
	}
	return ""
}

// sourceText is the text of a node on one line.
func sourceText(n ast.Node) string {
	b, err := format.Node(n)
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(b)), " ")
}
