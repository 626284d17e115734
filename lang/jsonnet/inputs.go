package jsonnet

import (
	"maps"
	"slices"
	"strconv"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// bound is the inputs that a program has, which are its external variables.
type bound struct {
	text map[string]string
	// code is the trees of those that are expressions.
	code map[string]ast.Node
}

// bind gives a program its arguments. Parameters is those of the function that
// the program is, if it is one.
func (s *surveyor) bind(parameters []ast.Parameter, program lang.Program) (bound, error) {
	inputs, have := program.Given(), bound{map[string]string{}, map[string]ast.Node{}}
	code, wrong := s.expressions(inputs, program.Settings.Code)
	known := maps.Clone(s.external)
	arguments := map[string]bool{}
	var problems diag.List
	for _, p := range parameters {
		name := string(p.Name)
		known[name], arguments[name] = position(&p.LocRange), true
		if _, ok := inputs[name]; !ok && p.DefaultArg == nil {
			problems = append(problems, diag.Diagnostic{
				Code: "LANG005", Pos: known[name],
				Message: "the program needs the input " + strconv.Quote(name),
				Hint:    "give it: --input " + name + "=VALUE",
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		_, must := program.Inputs[name]
		_, external := s.external[name]
		if !arguments[name] && !external && !s.any {
			if must {
				problems = append(problems, lang.UnknownInput(name, known, "make the program a function with a parameter "+name))
			}
			continue
		}
		have.text[name] = inputs[name]
		if slices.Contains(program.Settings.Code, name) {
			have.code[name] = code[name]
		}
		problems = append(problems, wrong[name]...)
		switch {
		case !arguments[name]:
		case have.code[name] != nil:
			s.vm.TLACode(name, inputs[name])
		default:
			s.vm.TLAVar(name, inputs[name])
		}
	}
	return have, problems.Err()
}

// expressions reads the inputs that are expressions, which may import files and
// ask for other inputs as the program may. Wrong is what is wrong with some.
func (s *surveyor) expressions(inputs map[string]string, names []string) (code map[string]ast.Node, wrong map[string]diag.List) {
	code, wrong = map[string]ast.Node{}, map[string]diag.List{}
	for _, name := range names {
		text, ok := inputs[name]
		if !ok {
			continue
		}
		if line := tooDeep([]byte(text)); line > 0 {
			wrong[name] = expressionError(name, diag.Errorf(diag.Position{}, "JSONNET008", "brackets or operators nest deeper than %d", maxNesting))
			continue
		}
		node, err := jsonnet.SnippetToAST("<input "+name+">", text)
		if err != nil {
			wrong[name] = expressionError(name, diagnose("", err))
			continue
		}
		f := &findings{external: map[string]diag.Position{}}
		f.walk(node)
		wrong[name] = expressionError(name, f.problems)
		f.problems = nil
		s.take(f, nil)
		code[name] = node
	}
	return code, wrong
}

// expressionError says of which input problems are: it has no file.
func expressionError(name string, problems diag.List) diag.List {
	for i := range problems {
		problems[i].Pos = diag.Position{}
		problems[i].Message = "input " + name + ": " + problems[i].Message
	}
	return problems
}
