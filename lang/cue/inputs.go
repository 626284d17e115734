package cue

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// inputs gives a program its parameters and notes which of them it uses.
type inputs struct {
	values map[string]string
	// must are those of values that the program has to have.
	must map[string]string
	// known is every name the program declares, with the first place.
	known map[string]diag.Position
	// all says that files belong to the program whatever their @if says.
	all bool
	// replaced is the fields' values before and after they got their inputs.
	replaced map[ast.Node]ast.Node
}

func newInputs(values, must map[string]string) *inputs {
	return &inputs{values: values, must: must, known: map[string]diag.Position{}, replaced: map[ast.Node]ast.Node{}}
}

func (in *inputs) declare(name string, pos diag.Position) {
	if _, ok := in.known[name]; !ok {
		in.known[name] = pos
	}
}

// included evaluates a file's @if and @ignore.
func (in *inputs) included(f *ast.File) (bool, error) {
	var condition *ast.Attribute
	for _, d := range f.Decls {
		a, ok := d.(*ast.Attribute)
		if !ok {
			if _, ok := d.(*ast.Package); ok {
				break
			}
			continue
		}
		switch name, body := a.Split(); name {
		case "ignore":
			return false, nil
		case "if":
			if condition != nil {
				return false, diag.List{{
					Code: "CUE005", Pos: position(a.Pos()), Message: "@if(" + body + ") is the second condition of the file",
					Notes: []diag.Note{{Pos: position(condition.Pos()), Text: "the first one"}}, Hint: "make it one, with && or ||",
				}}
			}
			condition = a
		}
	}
	if condition == nil {
		return true, nil
	}
	_, body := condition.Split()
	expr, err := parser.ParseExpr("", body)
	if err != nil {
		return false, diag.Errorf(position(condition.Pos()), "CUE005", "@if(%s) is not a condition", body)
	}
	holds, err := in.condition(expr, position(condition.Pos()))
	return holds || in.all, err
}

func (in *inputs) condition(e ast.Expr, pos diag.Position) (bool, error) {
	switch x := e.(type) {
	case *ast.Ident:
		in.declare(x.Name, pos)
		return in.values[x.Name] == "true", nil
	case *ast.ParenExpr:
		return in.condition(x.X, pos)
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			ok, err := in.condition(x.X, pos)
			return !ok, err
		}
	case *ast.BinaryExpr:
		if x.Op == token.LAND || x.Op == token.LOR {
			left, err := in.condition(x.X, pos)
			if err != nil {
				return false, err
			}
			right, err := in.condition(x.Y, pos)
			if x.Op == token.LAND {
				return left && right, err
			}
			return left || right, err
		}
	}
	return false, diag.Errorf(pos, "CUE005", "a condition of @if holds names, !, && and || only")
}

// inject gives every @tag field of the files its input, and reports inputs
// that the program has no tag for.
func (in *inputs) inject(files []*ast.File) error {
	var problems diag.List
	for _, f := range files {
		var outer []ast.Node // lists and comprehensions around the node
		ast.Walk(f, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.ListLit, *ast.Comprehension:
				outer = append(outer, n)
			case *ast.Field:
				problems = append(problems, in.field(x, len(outer) > 0)...)
			}
			return true
		}, func(n ast.Node) {
			switch n.(type) {
			case *ast.ListLit, *ast.Comprehension:
				outer = outer[:len(outer)-1]
			}
		})
	}
	for _, f := range files {
		reconnect(f, in.replaced)
	}
	problems = append(problems, in.unknown()...)
	return problems.Err()
}

func (in *inputs) unknown() diag.List {
	var problems diag.List
	for _, name := range slices.Sorted(maps.Keys(in.must)) {
		if _, ok := in.known[name]; ok {
			continue
		}
		problems = append(problems, lang.UnknownInput(name, in.known, "declare it: "+name+": string @tag("+name+")"))
	}
	return problems
}

// used is what the program has of the inputs given.
func (in *inputs) used() map[string]string {
	used := map[string]string{}
	for name, value := range in.values {
		if _, ok := in.known[name]; ok {
			used[name] = value
		}
	}
	return used
}

func (in *inputs) field(f *ast.Field, nested bool) diag.List {
	for _, a := range f.Attrs {
		name, body := a.Split()
		if name != "tag" {
			continue
		}
		pos := position(a.Pos())
		t, err := parseTag(body)
		if err != nil {
			return diag.Errorf(pos, "CUE005", "%s", err)
		}
		if _, _, err := ast.LabelName(f.Label); nested || err != nil || f.Constraint != token.ILLEGAL {
			return diag.Errorf(pos, "CUE005", "@tag belongs on a regular field outside of lists and comprehensions")
		}
		given, problem := in.given(t, pos)
		if problem != nil {
			return problem
		}
		before := f.Value
		for _, lit := range given {
			f.Value = ast.NewBinExpr(token.AND, f.Value, lit)
		}
		if len(given) > 0 {
			in.replaced[before] = f.Value
		}
	}
	return nil
}

// given is what the inputs say of a tag: the one of its name, and those of its
// short forms that are true, each of which stands for its own name.
func (in *inputs) given(t tag, pos diag.Position) ([]ast.Expr, diag.List) {
	var all []ast.Expr
	add := func(text string) diag.List {
		lit, err := inputLiteral(text, t.kind)
		if err != nil {
			return diag.List{{
				Code: "CUE005", Pos: pos, Message: fmt.Sprintf("input %s=%s: %s", t.name, text, err),
				Hint: "give an input of type " + t.kind,
			}}
		}
		all = append(all, lit)
		return nil
	}
	in.declare(t.name, pos)
	if text, ok := in.values[t.name]; ok {
		if problem := add(text); problem != nil {
			return nil, problem
		}
	}
	for _, short := range t.shorts {
		in.declare(short, pos)
		text, ok := in.values[short]
		if ok && text != "true" && text != "false" {
			return nil, diag.List{{
				Code: "CUE005", Pos: pos, Message: fmt.Sprintf("input %s=%s: %s is a short form of %s=%s, and true or false", short, text, short, t.name, short),
				Hint: "give " + t.name + ", or " + short + " alone",
			}}
		}
		if text == "true" {
			if problem := add(short); problem != nil {
				return nil, problem
			}
		}
	}
	return all, nil
}

// tag is what an attribute @tag says.
type tag struct {
	name, kind string
	shorts     []string
}

// parseTag reads "name,type=int,short=a|b". var= names something of the machine
// that renders; as for cue without --inject-vars, it is not looked at.
func parseTag(body string) (tag, error) {
	parts := strings.Split(body, ",")
	t := tag{name: strings.TrimSpace(parts[0]), kind: "string"}
	if !ast.IsValidIdent(t.name) {
		return t, fmt.Errorf("@tag(%s) does not start with a name", body)
	}
	for _, part := range parts[1:] {
		switch name, value, _ := strings.Cut(strings.TrimSpace(part), "="); name {
		case "type":
			t.kind = strings.Trim(value, `"`)
		case "short":
			t.shorts = strings.Split(strings.Trim(value, `"`), "|")
		}
	}
	for _, short := range t.shorts {
		if !ast.IsValidIdent(short) {
			return t, fmt.Errorf("@tag(%s): short form %q is not a name", body, short)
		}
	}
	if !slices.Contains([]string{"string", "int", "number", "bool"}, t.kind) {
		return t, fmt.Errorf("@tag(%s): unknown type %s", body, t.kind)
	}
	return t, nil
}

func inputLiteral(text, kind string) (ast.Expr, error) {
	switch kind {
	case "string":
		return ast.NewString(text), nil
	case "bool":
		b, err := strconv.ParseBool(text)
		if err != nil || text != "true" && text != "false" {
			return nil, fmt.Errorf("neither true nor false")
		}
		return ast.NewBool(b), nil
	}
	digits, negative := strings.CutPrefix(text, "-")
	var info literal.NumInfo
	if err := literal.ParseNum(digits, &info); err != nil {
		return nil, fmt.Errorf("not a number")
	}
	tok := token.FLOAT
	if info.IsInt() {
		tok = token.INT
	} else if kind == "int" {
		return nil, fmt.Errorf("not a whole number")
	}
	if err := checkExponent(tok, digits); err != nil {
		return nil, err
	}
	var lit ast.Expr = ast.NewLit(tok, digits)
	if negative {
		lit = &ast.UnaryExpr{Op: token.SUB, X: lit}
	}
	return lit, nil
}

// refuse reports what CUE would accept and Writ does not: numbers whose exponent
// CUE's decimals cannot hold, which it would silently replace by other numbers.
func refuse(f *ast.File) error {
	var problems diag.List
	ast.Walk(f, func(n ast.Node) bool {
		if x, ok := n.(*ast.BasicLit); ok {
			if err := checkExponent(x.Kind, x.Value); err != nil {
				problems = append(problems, diag.Diagnostic{Code: "CUE010", Pos: position(x.Pos()), Message: err.Error()})
			}
		}
		return true
	}, nil)
	return problems.Err()
}

func checkExponent(kind token.Token, text string) error {
	if kind != token.FLOAT || !strings.ContainsAny(text, "eE") {
		return nil
	}
	_, err := lang.CanonicalNumber(strings.ReplaceAll(text, "_", ""))
	return err
}
