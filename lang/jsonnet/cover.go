package jsonnet

import (
	"strconv"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/writ-dev/writ/lang"
)

// meterFile is the file that a meter's imports come from. No file of a program
// has such a name.
const meterFile = "\x00meter"

// meter counts which parts of a program are evaluated. go-jsonnet has no hook
// for that, so each part E becomes "if import N then E", where the import of
// the number N is answered by the meter itself with true. An import has no free
// variables, so nothing else of the analysed tree changes.
type meter struct {
	points []point
	byFile map[string]int
	holds  jsonnet.Contents
}

// point is a part of a program, where the tree holds it, and what it was.
type point struct {
	lang.Point
	file     string
	slot     *ast.Node
	original ast.Node
}

func newMeter() *meter {
	return &meter{byFile: map[string]int{}, holds: jsonnet.MakeContents("true")}
}

// answer is the import of a point's number.
func (m *meter) answer(name string) (jsonnet.Contents, string, error) {
	if n, err := strconv.Atoi(name); err == nil && n < len(m.points) {
		m.points[n].Hit = true
	}
	return m.holds, meterFile, nil
}

// attach makes the files of a program report what of them is evaluated.
func (m *meter) attach(files map[string]ast.Node) {
	for name, node := range files {
		if lang.CoverFile(name) {
			m.byFile[name] = len(m.points)
			m.walk(&node)
		}
	}
}

// detach makes the files what they were, for those who read positions there.
func (m *meter) detach() {
	for i := len(m.points) - 1; i >= 0; i-- {
		if p := m.points[i]; p.slot != nil {
			*p.slot = p.original
		}
	}
}

// coverage is what was evaluated so far.
func (m *meter) coverage() lang.Coverage {
	var all lang.Coverage
	byFile := map[string][]lang.Point{}
	for name := range m.byFile {
		byFile[name] = nil
	}
	for _, p := range m.points {
		byFile[p.file] = append(byFile[p.file], p.Point)
	}
	for name, points := range byFile {
		all = append(all, lang.FileCoverage{File: name, Points: points})
	}
	return lang.Coverage(nil).Merge(all)
}

// watch counts the part in slot, which is written at loc.
func (m *meter) watch(kind lang.PointKind, slot *ast.Node, loc ast.LocationRange) {
	if !loc.IsSet() || *slot == nil {
		return
	}
	original := *slot
	number := &ast.Import{
		NodeBase: ast.NewNodeBaseLoc(ast.LocationRange{FileName: meterFile}, nil),
		File:     &ast.LiteralString{Value: strconv.Itoa(len(m.points)), Kind: ast.StringDouble},
	}
	base := ast.NewNodeBase(*original.Loc(), nil, original.FreeVariables())
	base.SetContext(original.Context())
	*slot = &ast.Conditional{NodeBase: base, Cond: number, BranchTrue: original, BranchFalse: &ast.LiteralNull{}}
	m.points = append(m.points, point{
		Point: lang.Point{
			Kind: kind,
			Line: loc.Begin.Line, Column: max(loc.Begin.Column, 1),
			EndLine: loc.End.Line, EndColumn: max(loc.End.Column, 1),
		},
		file: loc.FileName, slot: slot, original: original,
	})
}

// operands are the operators that may not evaluate their right side.
var operands = map[ast.BinaryOp]lang.PointKind{ast.BopAnd: lang.PointAnd, ast.BopOr: lang.PointOr}

// walk watches the parts inside of a desugared expression, inner ones first.
func (m *meter) walk(slot *ast.Node) {
	switch n := (*slot).(type) {
	case *ast.Apply:
		m.call(n)
	case *ast.Array:
		for i := range n.Elements {
			m.walk(&n.Elements[i].Expr)
		}
	case *ast.Binary:
		m.walk(&n.Left)
		m.walk(&n.Right)
		if kind := operands[n.Op]; kind != "" && n.Loc().IsSet() {
			m.watch(kind, &n.Right, place(n.Right))
		}
	case *ast.Conditional:
		m.conditional(n)
	case *ast.DesugaredObject:
		m.object(n, lang.PointField)
	case *ast.Error:
		m.walk(&n.Expr)
	case *ast.Function:
		m.function(n)
	case *ast.Index:
		m.walk(&n.Target)
		m.walk(&n.Index)
	case *ast.InSuper:
		m.walk(&n.Index)
	case *ast.Local:
		m.binds(n.Binds)
		m.walk(&n.Body)
	case *ast.SuperIndex:
		m.walk(&n.Index)
	case *ast.Unary:
		m.walk(&n.Expr)
	}
}

func (m *meter) binds(binds ast.LocalBinds) {
	for i := range binds {
		m.walk(&binds[i].Body)
	}
}

func (m *meter) function(n *ast.Function) {
	for i := range n.Parameters {
		if n.Parameters[i].DefaultArg != nil {
			m.walk(&n.Parameters[i].DefaultArg)
		}
	}
	m.walk(&n.Body)
	m.watch(lang.PointFunction, &n.Body, place(n.Body))
}

// conditional watches the branches of an "if". Conditionals without a place
// are asserts, whose message is not a branch.
func (m *meter) conditional(n *ast.Conditional) {
	m.walk(&n.Cond)
	m.walk(&n.BranchTrue)
	m.walk(&n.BranchFalse)
	if !n.Loc().IsSet() {
		return
	}
	m.watch(lang.PointThen, &n.BranchTrue, place(n.BranchTrue))
	otherwise := place(n.BranchFalse)
	if !otherwise.IsSet() {
		// There is no "else"; the "if" stands for it.
		otherwise = *n.Loc()
		otherwise.End = ast.Location{Line: otherwise.Begin.Line, Column: otherwise.Begin.Column + len("if")}
	}
	m.watch(lang.PointElse, &n.BranchFalse, otherwise)
}

// object watches the fields of an object. Its asserts look like conditionals.
func (m *meter) object(n *ast.DesugaredObject, kind lang.PointKind) {
	for i := range n.Asserts {
		if assert, ok := n.Asserts[i].(*ast.Conditional); ok {
			m.walk(&assert.Cond)
			m.walk(&assert.BranchFalse)
		}
	}
	m.binds(n.Locals)
	for i := range n.Fields {
		f := &n.Fields[i]
		m.walk(&f.Name)
		m.walk(&f.Body)
		m.watch(kind, &f.Body, f.LocRange)
	}
}

// call watches a call, or the comprehension that it stands for.
func (m *meter) call(n *ast.Apply) {
	arguments := n.Arguments.Positional
	switch name := standard(n); {
	case name == "$flatMapArray" && len(arguments) == 2:
		m.comprehension(n, false)
		return
	case name == "$objectFlatMerge" && len(arguments) == 1:
		if list, ok := arguments[0].Expr.(*ast.Apply); ok && standard(list) == "$flatMapArray" {
			m.comprehension(list, true)
			return
		}
	}
	m.walk(&n.Target)
	for i := range arguments {
		m.walk(&arguments[i].Expr)
	}
	for i := range n.Arguments.Named {
		m.walk(&n.Arguments.Named[i].Arg)
	}
}

// comprehension watches one "for" of a comprehension of a list or an object. It
// is a function of the variable, which gives a list of one body, or another
// "for", behind the conditions if there are any; and the list to go through.
func (m *meter) comprehension(n *ast.Apply, object bool) {
	arguments := n.Arguments.Positional
	m.walk(&arguments[1].Expr)
	f, ok := arguments[0].Expr.(*ast.Function)
	if !ok {
		m.walk(&arguments[0].Expr)
		return
	}
	inside := &f.Body
	if c, ok := (*inside).(*ast.Conditional); ok && !c.Loc().IsSet() {
		m.walk(&c.Cond)
		inside = &c.BranchTrue
	}
	switch x := (*inside).(type) {
	case *ast.Apply:
		m.comprehension(x, object)
	case *ast.Array:
		body := &x.Elements[0].Expr
		if o, ok := (*body).(*ast.DesugaredObject); ok && object {
			m.object(o, lang.PointBody)
			return
		}
		m.walk(body)
		m.watch(lang.PointBody, body, place(*body))
	}
}

// place is where an expression is written. What a construct was rewritten to
// has no place of its own, but a part of it does.
func place(n ast.Node) ast.LocationRange {
	for range 10 {
		if n == nil || n.Loc().IsSet() {
			break
		}
		switch x := n.(type) {
		case *ast.Conditional:
			n = x.BranchTrue
		case *ast.Local:
			n = x.Body
		default:
			return *n.Loc()
		}
	}
	if n == nil {
		return ast.LocationRange{}
	}
	return *n.Loc()
}
