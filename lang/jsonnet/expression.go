package jsonnet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
	"github.com/google/go-jsonnet/toolutils"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// An expression is put into the one field of an object, for there it may say $,
// and what $ stands for there is then replaced by the program. The text is on
// lines of its own, so that positions need only one line less.
const (
	beforeExpression = "{ v:: local value =\n"
	afterExpression  = "\n; [std.type(value), if std.type(value) == 'function' then null else value] }.v"
)

// expression is the value of the program's expression.
func (e *evaluation) expression() (*lang.Result, error) {
	source := e.program.Expression
	if line := tooDeep([]byte(source)); line > 0 {
		return nil, diag.Errorf(diag.Position{File: lang.ExpressionFile, Line: line}, "JSONNET008", "brackets or operators nest deeper than %d", maxNesting)
	}
	node, err := e.asField(source)
	if err != nil {
		return nil, err
	}
	s := survey(e.vm, lang.ExpressionFile, node, nil)
	if err := s.problems.Err(); err != nil {
		return nil, inSource(diag.From(err), source)
	}
	out, err := e.vm.Evaluate(node)
	if err != nil {
		return nil, inSource(diagnose(lang.ExpressionFile, err), source)
	}
	pair, err := e.parse(out)
	if err != nil || len(pair.Items) != 2 {
		return nil, fmt.Errorf("read the value of the expression: %w", err)
	}
	e.resolver.locate(&pair, node, lang.ExpressionFile)
	moveValue(&pair)
	r := &lang.Result{Value: pair.Items[1], Reads: e.reader.Reads(), Inputs: e.inputs.text, Shape: lang.Shape{Type: pair.Items[0].Text}}
	if r.Shape.Type == "function" {
		r.Shape.Source = "function"
		return r, nil
	}
	if err := exact(&r.Value, ""); err != nil {
		return nil, err
	}
	return r, nil
}

// asField is the expression as the field of an object whose $ is the program.
func (e *evaluation) asField(source string) (ast.Node, error) {
	// Alone first: the text must not end the object and begin another.
	_, err := jsonnet.SnippetToAST(lang.ExpressionFile, source)
	if err != nil && !strings.Contains(err.Error(), "No top-level object") {
		return nil, diagnose(lang.ExpressionFile, err)
	}
	node, err := jsonnet.SnippetToAST(lang.ExpressionFile, beforeExpression+source+afterExpression)
	if err != nil {
		return nil, inSource(diagnose(lang.ExpressionFile, err), source)
	}
	index, ok := node.(*ast.Index)
	if !ok {
		return nil, fmt.Errorf("the expression is no field of an object but %T", node)
	}
	object, ok := index.Target.(*ast.DesugaredObject)
	if !ok || len(object.Fields) != 1 {
		return nil, fmt.Errorf("the expression is in no object but %T", index.Target)
	}
	if self := ownSelf(object.Fields[0].Body); self != nil {
		return nil, inSource(diag.List{{
			Code: "JSONNET001", Pos: position(self.Loc()), Message: "there is no object around the expression", Hint: "the program's value is $",
		}}, source)
	}
	for i := range object.Locals {
		if object.Locals[i].Variable == "$" {
			object.Locals[i].Body = e.applied()
		}
	}
	return node, nil
}

// ownSelf finds what refers to the object that a field is in.
func ownSelf(node ast.Node) ast.Node {
	switch node.(type) {
	case nil, *ast.DesugaredObject:
		return nil
	case *ast.Self, *ast.SuperIndex, *ast.InSuper:
		return node
	}
	for _, child := range toolutils.Children(node) {
		if found := ownSelf(child); found != nil {
			return found
		}
	}
	return nil
}

// applied is the program with its arguments.
func (e *evaluation) applied() ast.Node {
	parameters := e.resolver.parameters(e.node)
	if parameters == nil {
		return e.node
	}
	call := &ast.Apply{NodeBase: ast.NewNodeBaseLoc(*e.node.Loc(), nil), Target: e.node}
	free := slices.Clone(e.node.FreeVariables())
	for _, p := range parameters {
		value, ok := e.inputs.text[string(p.Name)]
		if !ok {
			continue
		}
		var arg ast.Node = &ast.LiteralString{Value: value, Kind: ast.StringDouble}
		if code := e.inputs.code[string(p.Name)]; code != nil {
			arg = code
			free = append(free, code.FreeVariables()...)
		}
		call.Arguments.Named = append(call.Arguments.Named, ast.NamedArgument{Name: p.Name, Arg: arg})
	}
	call.SetFreeVariables(free)
	return call
}

// inSource makes positions those in the source, and leaves out notes on what is
// around it.
func inSource(l diag.List, source string) diag.List {
	last := strings.Count(source, "\n") + 1
	for i := range l {
		move(&l[i].Pos)
		for j := range l[i].Notes {
			move(&l[i].Notes[j].Pos)
		}
		l[i].Notes = slices.DeleteFunc(l[i].Notes, func(n diag.Note) bool {
			return n.Pos.File == lang.ExpressionFile && n.Pos.Line > last
		})
	}
	return l
}

func moveValue(v *lang.Value) {
	move(&v.Pos)
	for i := range v.Items {
		moveValue(&v.Items[i])
	}
	for i := range v.Fields {
		move(&v.Fields[i].Pos)
		moveValue(&v.Fields[i].Value)
	}
}

// move takes away the line before the expression.
func move(p *diag.Position) {
	if p.File == lang.ExpressionFile && p.Line > 1 {
		p.Line--
	}
}
