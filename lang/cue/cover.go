package cue

import (
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"

	"github.com/writ-dev/writ/lang"
)

// meterAttribute is the name of the attribute that a meter puts on every field
// and into every struct of a program. CUE carries attributes along to each value
// that a field or struct became part of, and they change no value.
const meterAttribute = "writ_point"

// meter counts which parts of a program became part of a result: first attach
// finds the parts, then visit looks which of them a value is made of.
type meter struct {
	// context is what the program is evaluated in: values of others do not mix.
	context *cue.Context
	points  []*point
	// marks are what the attributes number: *field or *structure.
	marks []any
	// arms are the alternatives of disjunctions, by their expression.
	arms map[ast.Node]*arm
	// structs are those of the literals, and tops those of the files.
	structs map[*ast.StructLit]*structure
	tops    map[string]*structure

	// Of values, by their pointers: those visited, those that references went
	// through, and what they were unified from.
	seen, passed map[any]bool
	known        map[any]unified
	budget       int
}

// point is a part of a program. Outer is the one that it is in; whenever a part
// is used, so is the outer one.
type point struct {
	lang.Point
	file  string
	outer *point
}

// field is a field of a program.
type field struct {
	*point
	value ast.Expr
	// always says that the field is there whenever its struct is.
	always bool
	// inline says that the value is computed from a struct or list that exists
	// in its expression only, and choice that an alternative of it can be told
	// only by asking CUE. Refers says that it has references at all.
	inline, choice, refers bool
}

// structure is a struct literal, or what a file declares.
type structure struct {
	outer  *point
	fields []*field
	guards []guard
}

// guard is an "if" in a struct: what it gives when the condition holds, and the
// point for when it does not.
type guard struct {
	then      *structure
	otherwise *point
}

// arm is an alternative of a disjunction. Value is the alternative where it can
// be evaluated on its own.
type arm struct {
	*point
	expr   ast.Expr
	value  cue.Value
	static bool
}

func newMeter() *meter {
	return &meter{
		arms: map[ast.Node]*arm{}, structs: map[*ast.StructLit]*structure{}, tops: map[string]*structure{},
		seen: map[any]bool{}, passed: map[any]bool{}, known: map[any]unified{}, budget: maxVisits,
	}
}

// touch says that a part was used.
func (p *point) touch() {
	for ; p != nil && !p.Hit; p = p.outer {
		p.Hit = true
	}
}

// coverage is the points of the files of a package and of those it imports.
func (m *meter) coverage(inst *build.Instance) lang.Coverage {
	byFile := map[string][]lang.Point{}
	seen := map[*build.Instance]bool{}
	var add func(*build.Instance)
	add = func(i *build.Instance) {
		if seen[i] {
			return
		}
		seen[i] = true
		for _, f := range i.Files {
			if _, ok := m.tops[f.Filename]; ok {
				byFile[f.Filename] = nil
			}
		}
		for _, imported := range i.Imports {
			add(imported)
		}
	}
	add(inst)
	for _, p := range m.points {
		if points, ok := byFile[p.file]; ok {
			byFile[p.file] = append(points, p.Point)
		}
	}
	var all lang.Coverage
	for name, points := range byFile {
		all = append(all, lang.FileCoverage{File: name, Points: points})
	}
	return lang.Coverage(nil).Merge(all)
}

// attach finds the parts of a file and marks its fields and structs.
func (m *meter) attach(f *ast.File) {
	top := &structure{}
	m.decls(top, f.Decls)
	m.tops[f.Filename] = top
}

func (m *meter) point(kind lang.PointKind, outer *point, from, to token.Pos) *point {
	p := &point{outer: outer, file: from.Filename(), Point: lang.Point{
		Kind: kind, Line: from.Line(), Column: from.Column(), EndLine: to.Line(), EndColumn: to.Column(),
	}}
	if !to.IsValid() {
		p.EndLine, p.EndColumn = p.Line, p.Column
	}
	m.points = append(m.points, p)
	return p
}

func (m *meter) mark(of any) *ast.Attribute {
	m.marks = append(m.marks, of)
	return &ast.Attribute{Text: "@" + meterAttribute + "(" + strconv.Itoa(len(m.marks)-1) + ")"}
}

// decls finds the parts in the declarations of a struct.
func (m *meter) decls(s *structure, decls []ast.Decl) {
	for _, d := range decls {
		switch x := d.(type) {
		case *ast.Field:
			m.field(s, x)
		case *ast.EmbedDecl:
			if c, ok := x.Expr.(*ast.Comprehension); ok {
				m.guard(s, c)
			} else {
				m.expr(s.outer, x.Expr, true)
			}
		case *ast.Comprehension:
			m.guard(s, x)
		case *ast.LetClause:
			m.expr(s.outer, x.Expr, false)
		case *ast.Ellipsis:
			m.expr(s.outer, x.Type, true)
		}
	}
}

func (m *meter) field(s *structure, x *ast.Field) {
	name, _, _ := ast.LabelName(x.Label)
	_, pattern := x.Label.(*ast.ListLit)
	f := &field{
		point:  m.point(lang.PointField, s.outer, x.Label.Pos(), x.Value.End()),
		value:  x.Value,
		always: x.Constraint == token.ILLEGAL && !pattern && !strings.HasPrefix(strings.TrimPrefix(name, "_"), "#"),
	}
	m.expr(f.point, x.Value, true)
	f.inline, f.refers = inline(x.Value), refers(x.Value)
	f.choice = m.choice(x.Value)
	x.Attrs = append(x.Attrs, m.mark(f))
	s.fields = append(s.fields, f)
}

// guard finds the parts of a comprehension in a struct. Only of an "if" can be
// told that it did not hold.
func (m *meter) guard(s *structure, c *ast.Comprehension) {
	then, otherwise := m.comprehension(s.outer, c)
	if then == nil || !onlyIf(c) {
		return
	}
	if otherwise == nil {
		// There is no "else"; the "if" stands for it.
		otherwise = m.point(lang.PointElse, s.outer, c.Pos(), c.Pos())
		otherwise.EndColumn += len("if")
	}
	s.guards = append(s.guards, guard{then, otherwise})
}

func onlyIf(c *ast.Comprehension) bool {
	for _, clause := range c.Clauses {
		if _, ok := clause.(*ast.IfClause); !ok {
			return false
		}
	}
	return true
}

// comprehension finds the parts of a comprehension's bodies. What is in its
// clauses is not counted, because no result shows it.
func (m *meter) comprehension(outer *point, c *ast.Comprehension) (then *structure, otherwise *point) {
	body, ok := c.Value.(*ast.StructLit)
	if !ok {
		return nil, nil
	}
	kind := lang.PointBody
	if onlyIf(c) {
		kind = lang.PointThen
	}
	then = m.structure(m.point(kind, outer, body.Pos(), body.End()), body)
	if c.Fallback != nil && c.Fallback.Body != nil {
		otherwise = m.point(lang.PointElse, outer, c.Fallback.Body.Pos(), c.Fallback.Body.End())
		m.structure(otherwise, c.Fallback.Body)
	}
	return then, otherwise
}

func (m *meter) structure(outer *point, x *ast.StructLit) *structure {
	s := &structure{outer: outer}
	m.structs[x] = s
	m.decls(s, x.Elts)
	x.Elts = append(x.Elts, m.mark(s))
	return s
}

// expr finds the parts in an expression. Plain says that the expression is what
// the value is, not an operand of something else: only there can alternatives
// be told from the result.
func (m *meter) expr(outer *point, e ast.Expr, plain bool) {
	switch x := e.(type) {
	case *ast.StructLit:
		m.structure(outer, x)
	case *ast.Comprehension:
		m.comprehension(outer, x)
	case *ast.BinaryExpr:
		if x.Op == token.OR && plain {
			for _, a := range alternatives(x) {
				p := m.point(lang.PointArm, outer, a.Pos(), a.End())
				m.arms[a] = &arm{point: p, expr: a}
				m.expr(p, a, true)
			}
			return
		}
		m.expr(outer, x.X, plain && x.Op == token.AND)
		m.expr(outer, x.Y, plain && x.Op == token.AND)
	case *ast.ParenExpr:
		m.expr(outer, x.X, plain)
	case *ast.ListLit:
		for _, item := range x.Elts {
			if rest, ok := item.(*ast.Ellipsis); ok {
				item = rest.Type
			}
			m.expr(outer, item, plain)
		}
	default:
		for _, operand := range operands(e) {
			m.expr(outer, operand, false)
		}
	}
}

// alternatives is those of a disjunction, without marks of a default.
func alternatives(e ast.Expr) []ast.Expr {
	switch x := e.(type) {
	case *ast.BinaryExpr:
		if x.Op == token.OR {
			return append(alternatives(x.X), alternatives(x.Y)...)
		}
	case *ast.UnaryExpr:
		if x.Op == token.MUL {
			return alternatives(x.X)
		}
	case *ast.ParenExpr:
		if inner := alternatives(x.X); len(inner) > 1 {
			return inner
		}
	}
	return []ast.Expr{e}
}

// operands is what an expression computes with, other than struct and list
// literals, comprehensions and operators of two sides.
func operands(e ast.Expr) []ast.Expr {
	switch x := e.(type) {
	case *ast.Alias:
		return []ast.Expr{x.Expr}
	case *ast.UnaryExpr:
		return []ast.Expr{x.X}
	case *ast.PostfixExpr:
		return []ast.Expr{x.X}
	case *ast.SelectorExpr:
		return []ast.Expr{x.X}
	case *ast.IndexExpr:
		return []ast.Expr{x.X, x.Index}
	case *ast.SliceExpr:
		return []ast.Expr{x.X, x.Low, x.High}
	case *ast.CallExpr:
		return append([]ast.Expr{x.Fun}, x.Args...)
	case *ast.Interpolation:
		return x.Elts
	}
	return nil
}

// inline reports whether an expression computes with a struct or list that is
// written inside of it, such as (#F & {in: 1}).out or [if a {1}, 2][0].
func inline(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.BinaryExpr:
		if x.Op == token.AND || x.Op == token.OR {
			return inline(x.X) || inline(x.Y)
		}
		return hasLiteral(x.X) || hasLiteral(x.Y)
	case *ast.ParenExpr:
		return inline(x.X)
	}
	for _, operand := range operands(e) {
		if hasLiteral(operand) {
			return true
		}
	}
	return false
}

// hasLiteral reports whether an expression has a struct or list in it.
func hasLiteral(e ast.Expr) bool {
	found := false
	if e != nil {
		ast.Walk(e, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.StructLit, *ast.ListLit, *ast.Comprehension:
				found = true
			}
			return !found
		}, nil)
	}
	return found
}

// basic is the predeclared names of values and types, which refer to nothing.
var basic = map[string]bool{
	"_": true, "bool": true, "bytes": true, "false": true, "float": true, "int": true,
	"null": true, "number": true, "string": true, "true": true, "uint": true,
}

// refers reports whether an expression has a reference outside of the structs
// in it.
func refers(e ast.Expr) bool {
	found := false
	ast.Walk(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.StructLit:
			return false
		case *ast.Ident:
			found = found || !basic[x.Name]
		}
		return !found
	}, nil)
	return found
}

// choice reports whether an expression is a choice between references.
func (m *meter) choice(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return m.choice(x.X)
	case *ast.BinaryExpr:
		if x.Op == token.AND {
			return m.choice(x.X) || m.choice(x.Y)
		}
		if x.Op == token.OR {
			for _, a := range alternatives(x) {
				if _, ok := a.(*ast.StructLit); !ok && refers(a) {
					return true
				}
			}
		}
	}
	return false
}
