package cue

import (
	"strconv"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/writ-dev/writ/lang"
)

// Bounds on looking at a result.
const (
	maxVisits    = 2_000_000
	maxReference = 50 // references to references
)

// observe notes which parts of the program the evaluated package v, of the
// given files, is made of.
func (m *meter) observe(v cue.Value, files []*ast.File) {
	var tops []*structure
	for _, f := range files {
		if s, ok := m.tops[f.Filename]; ok {
			m.use(s)
			tops = append(tops, s)
		}
	}
	m.otherwise(v, tops)
	m.visit(v, 0)
}

// observeTests notes which parts of a program the tests refer to: nothing else
// of the package was asked for.
func (m *meter) observeTests(tests cue.Value) {
	if valid(tests) == nil {
		m.visit(tests, 0)
		return
	}
	for iter, err := tests.Fields(); err == nil && iter.Next(); {
		if test := iter.Value(); valid(test) == nil {
			m.visit(test, 1)
		} else {
			for part, err := test.Fields(); err == nil && part.Next(); {
				if valid(part.Value()) == nil {
					m.visit(part.Value(), 2)
				}
			}
		}
	}
}

// visit looks at a value and all inside of it.
func (m *meter) visit(v cue.Value, depth int) {
	v, _ = v.Default()
	// Only a pointer tells values apart that have no path.
	key := any(v.Core().V)
	if m.seen[key] || m.budget <= 0 || depth > lang.MaxDepth {
		return
	}
	m.seen[key] = true
	m.budget--
	fields := m.parts(v)
	follow := len(fields) == 0 // of tests, and of elements
	for _, f := range fields {
		m.useField(f)
		m.match(f.value, v)
		follow = follow || f.inline || f.choice || f.refers && !composite(v)
	}
	if follow && (len(fields) > 0 || !composite(v)) {
		m.follow(v, v, 0)
	}
	m.visitInside(v, depth)
}

// parts are the fields that a value was unified from. The structs are noted as
// used.
func (m *meter) parts(v cue.Value) []*field {
	u := m.marked(v)
	for _, s := range u.structs {
		s.outer.touch()
		m.use(s)
	}
	m.otherwise(v, u.structs)
	return u.fields
}

// unified is the fields and structs that a value was unified from.
type unified struct {
	fields  []*field
	structs []*structure
}

// marked is what a value was unified from. It is kept, since many references
// may be to one value, and one value may have thousands of parts.
func (m *meter) marked(v cue.Value) unified {
	key := any(v.Core().V)
	if u, ok := m.known[key]; ok {
		return u
	}
	var u unified
	for _, a := range v.Attributes(cue.ValueAttr) {
		if a.Name() != meterAttribute {
			continue
		}
		n, err := strconv.Atoi(a.Contents())
		if err != nil || n < 0 || n >= len(m.marks) {
			continue // the user's own attribute of that name
		}
		switch x := m.marks[n].(type) {
		case *field:
			u.fields = append(u.fields, x)
		case *structure:
			u.structs = append(u.structs, x)
		}
	}
	m.known[key] = u
	return u
}

// otherwise notes the conditions in the structs of v that did not hold.
func (m *meter) otherwise(v cue.Value, structs []*structure) {
	here := map[*structure]bool{}
	for _, s := range structs {
		here[s] = true
	}
	for _, s := range structs {
		for _, g := range s.guards {
			if !here[g.then] && !g.otherwise.Hit && v.Validate() == nil {
				g.otherwise.touch()
			}
		}
	}
}

func (m *meter) visitInside(v cue.Value, depth int) {
	if v.IncompleteKind() == cue.ListKind {
		for iter, err := v.List(); err == nil && iter.Next(); {
			m.visit(iter.Value(), depth+1)
		}
		return
	}
	for iter, err := v.Fields(cue.Hidden(true)); err == nil && iter.Next(); {
		// A hidden field that is not concrete is a template, like a definition:
		// what counts is who uses it.
		name := iter.Selector()
		if name.IsDefinition() || name.PkgPath() != "" && valid(iter.Value()) != nil {
			continue
		}
		m.visit(iter.Value(), depth+1)
	}
}

// composite reports whether a value is a struct or a list.
func composite(v cue.Value) bool {
	return v.IncompleteKind()&(cue.StructKind|cue.ListKind) != 0
}

// useField notes a field, and what its value has in any case.
func (m *meter) useField(f *field) {
	f.touch()
	m.always(f.value)
}

// use notes the fields that a struct has in any case.
func (m *meter) use(s *structure) {
	for _, f := range s.fields {
		if f.always && !f.Hit {
			m.useField(f)
		}
	}
}

// always notes the fields of the structs that an expression has in any case,
// which is not so for alternatives and comprehensions.
func (m *meter) always(e ast.Expr) {
	switch x := e.(type) {
	case *ast.StructLit:
		if s, ok := m.structs[x]; ok {
			m.use(s)
		}
	case *ast.BinaryExpr:
		if x.Op != token.OR {
			m.always(x.X)
			m.always(x.Y)
		}
	case *ast.ParenExpr:
		m.always(x.X)
	case *ast.ListLit:
		for _, item := range x.Elts {
			m.always(item)
		}
	default:
		for _, operand := range operands(e) {
			m.always(operand)
		}
	}
}

// match notes which alternatives in the expression e, which v was unified
// from, v is an instance of.
func (m *meter) match(e ast.Expr, v cue.Value) {
	switch x := e.(type) {
	case *ast.ParenExpr:
		m.match(x.X, v)
	case *ast.BinaryExpr:
		switch x.Op {
		case token.AND:
			m.match(x.X, v)
			m.match(x.Y, v)
		case token.OR:
			m.matchArms(alternatives(x), v)
		}
	case *ast.StructLit:
		for _, d := range x.Elts {
			if embed, ok := d.(*ast.EmbedDecl); ok {
				m.match(embed.Expr, v)
			}
		}
	case *ast.ListLit:
		iter, err := v.List()
		for i := 0; err == nil && iter.Next() && len(x.Elts) > 0; i++ {
			item := x.Elts[min(i, len(x.Elts)-1)]
			if rest, ok := item.(*ast.Ellipsis); ok {
				item = rest.Type
			}
			m.match(item, iter.Value())
		}
	}
}

// matchArms decides between alternatives that can be evaluated on their own. An
// alternative that is the very value goes before those that merely admit it.
func (m *meter) matchArms(arms []ast.Expr, v cue.Value) {
	var admit []*arm
	for _, e := range arms {
		a := m.arms[e]
		if a == nil || !m.evaluate(a) {
			continue
		}
		if a.value.IsConcrete() && !composite(a.value) {
			if a.value.Equals(v) {
				a.touch()
				return
			}
			continue
		}
		admit = append(admit, a)
	}
	for _, a := range admit {
		if a.value.Unify(v).Validate() == nil {
			a.touch()
			m.match(a.expr, v)
		}
	}
}

// evaluate reports whether the alternative can be evaluated on its own: struct
// literals show up in the result by themselves, and for references CUE must be
// asked.
func (m *meter) evaluate(a *arm) bool {
	if !a.static {
		a.static = true
		if _, ok := a.expr.(*ast.StructLit); !ok && !refers(a.expr) {
			a.value = m.context.BuildExpr(a.expr)
		}
	}
	return a.value.Exists() && a.value.Err() == nil
}

// follow notes what the expression behind v refers to. Of is the value that v
// is a part of the making of, if it is one.
func (m *meter) follow(v, of cue.Value, depth int) {
	if depth > maxReference || m.budget <= 0 {
		return
	}
	m.budget--
	// Expr evaluates the operands again, so it is for those that have no name.
	if to := cue.Dereference(v); to.Core().V != v.Core().V && !anonymous(expression(v)) {
		m.refer(v, to, of, depth)
		return
	}
	op, parts := v.Expr()
	switch op {
	case cue.NoOp:
		if composite(v) && isLiteral(expression(v)) {
			m.visit(v, depth)
		}
	case cue.SelectorOp, cue.IndexOp:
		m.refer(v, cue.Dereference(v), of, depth)
		if anonymous(expression(v)) {
			m.visit(parts[0], depth)
		}
	case cue.AndOp:
		for _, part := range parts {
			m.follow(part, of, depth+1)
		}
	case cue.OrOp:
		m.choose(parts, of, depth)
	default:
		for _, part := range parts {
			m.follow(part, cue.Value{}, depth+1)
		}
	}
}

// refer notes what the reference v is to, and what that is made of.
func (m *meter) refer(v, to, of cue.Value, depth int) {
	m.along(v)
	if to.Err() != nil {
		return
	}
	for _, f := range m.parts(to) {
		m.useField(f)
		if of.Exists() {
			m.match(f.value, of)
		}
	}
	// Of a template, and of what is unified into a struct, the parts that count
	// show up in the result.
	if !(of.Exists() && composite(of)) && !m.seen[any(to.Core().V)] && valid(to) == nil {
		m.visit(to, depth)
	}
	if to.Core().V != v.Core().V {
		m.follow(to, of, depth+1)
	}
}

// along notes the fields that a reference goes through.
func (m *meter) along(v cue.Value) {
	root, steps := referencePath(v)
	for n := 1; n < len(steps); n++ {
		through := root.LookupPath(cue.MakePath(steps[:n]...))
		if key := any(through.Core().V); !m.passed[key] {
			m.passed[key] = true
			for _, f := range m.marked(through).fields {
				f.touch()
			}
		}
	}
}

// referencePath is where a reference leads, or nothing: CUE evaluates its base
// again for that, and panics on some that it could evaluate in their place.
func referencePath(v cue.Value) (root cue.Value, steps []cue.Selector) {
	defer func() {
		if recover() != nil {
			root, steps = cue.Value{}, nil
		}
	}()
	root, path := v.ReferencePath()
	return root, path.Selectors()
}

// choose follows the alternatives that admit the value of.
func (m *meter) choose(alternatives []cue.Value, of cue.Value, depth int) {
	for _, v := range alternatives {
		a, known := m.arms[expression(v)]
		if !of.Exists() || known && m.evaluate(a) || v.Unify(of).Validate() != nil {
			continue
		}
		if known {
			if _, ok := a.expr.(*ast.StructLit); ok {
				continue
			}
			a.touch()
		}
		m.follow(v, of, depth+1)
	}
}

// expression is the source of a value, without the field that it is the value
// of.
func expression(v cue.Value) ast.Node {
	n := v.Source()
	for {
		switch x := n.(type) {
		case *ast.Field:
			n = x.Value
		case *ast.ParenExpr:
			n = x.X
		default:
			return n
		}
	}
}

func isLiteral(n ast.Node) bool {
	switch n.(type) {
	case *ast.StructLit, *ast.ListLit, *ast.Comprehension:
		return true
	}
	return false
}

// anonymous reports whether a selector or index is on something that has no
// name.
func anonymous(n ast.Node) bool {
	var on ast.Expr
	switch x := n.(type) {
	case *ast.SelectorExpr:
		on = x.X
	case *ast.IndexExpr:
		on = x.X
	default:
		return false
	}
	for {
		switch x := on.(type) {
		case *ast.Ident:
			return false
		case *ast.SelectorExpr:
			on = x.X
		case *ast.IndexExpr:
			on = x.X
		case *ast.ParenExpr:
			on = x.X
		default:
			return true
		}
	}
}
