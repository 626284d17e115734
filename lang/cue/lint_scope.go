package cue

import (
	"fmt"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/writ-dev/writ/lang/diag"
)

// builtins are the predeclared names that are worth not hiding.
var builtins = map[string]bool{
	"and": true, "or": true, "len": true, "close": true, "div": true, "mod": true, "quo": true, "rem": true,
	"string": true, "bytes": true, "bool": true, "int": true, "float": true, "number": true,
}

// scopes follows the names that one file declares by imports, let clauses,
// loops and aliases.
type scopes struct {
	p *packageLinter
	// refers are the declarations that something refers to.
	refers map[ast.Node]bool
	// names are those in scope, the innermost last.
	names []scopedName
}

type scopedName struct {
	name string
	pos  token.Pos
}

// imports declares the imports of a file.
func (s *scopes) imports(f *ast.File) {
	first := map[string]token.Pos{}
	for spec := range f.ImportSpecs() {
		if at, ok := first[spec.Path.Value]; ok {
			s.p.report(duplicateImport, spec.Pos(), spec.Path.Value+" is imported twice", "remove one of the two", diag.Note{Pos: position(at), Text: "the first"})
		} else {
			first[spec.Path.Value] = spec.Pos()
		}
		s.names = append(s.names, scopedName{importName(spec), spec.Pos()})
	}
}

// walk visits a node and leaves the scope as it was.
func (s *scopes) walk(root ast.Node) {
	var marks []int
	opens := func(n ast.Node) bool {
		switch n.(type) {
		case *ast.StructLit, *ast.Comprehension, *ast.Field:
			return true
		}
		return false
	}
	ast.Walk(root, func(n ast.Node) bool {
		if opens(n) {
			marks = append(marks, len(s.names))
		}
		switch x := n.(type) {
		case *ast.LetClause:
			s.declare(x.Ident, "the let clause")
		case *ast.ForClause:
			s.declare(x.Key, "the variable")
			s.declare(x.Value, "the variable")
		case *ast.Alias:
			s.declare(x.Ident, "the alias")
		}
		return true
	}, func(n ast.Node) {
		if opens(n) {
			s.names = s.names[:marks[len(marks)-1]]
			marks = marks[:len(marks)-1]
		}
	})
}

func (s *scopes) declare(ident *ast.Ident, what string) {
	if ident == nil || ident.Name == "_" {
		return
	}
	hint := "give it a name of its own"
	if builtins[ident.Name] {
		s.p.report(shadowedName, ident.Pos(), fmt.Sprintf("%s %s hides the builtin of that name", what, ident.Name), hint)
	}
	for i := len(s.names) - 1; i >= 0; i-- {
		if s.names[i].name == ident.Name {
			s.p.report(shadowedName, ident.Pos(), fmt.Sprintf("%s %s hides another one", what, ident.Name), hint, diag.Note{Pos: position(s.names[i].pos), Text: "what it hides"})
			break
		}
	}
	s.names = append(s.names, scopedName{ident.Name, ident.Pos()})
}

// unused reports imports and let clauses without use.
func (s *scopes) unused(f *ast.File) {
	for spec := range f.ImportSpecs() {
		if !s.refers[spec] {
			s.p.report(unusedImport, spec.Pos(), "nothing refers to the import "+spec.Path.Value, "remove the import")
		}
	}
	ast.Walk(f, func(n ast.Node) bool {
		if let, ok := n.(*ast.LetClause); ok && !s.refers[let] {
			s.p.report(unusedLet, let.Pos(), "nothing refers to "+let.Ident.Name, "remove the let clause")
		}
		return true
	}, nil)
}
