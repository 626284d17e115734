package cue

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// The rules of Lint.
var (
	unusedImport    = lang.Rule{Code: "UnusedImport", Text: "an import that nothing refers to"}
	duplicateImport = lang.Rule{Code: "DuplicateImport", Text: "a package that one file imports twice"}
	unusedLet       = lang.Rule{Code: "UnusedLet", Text: "a let clause that nothing refers to"}
	unusedField     = lang.Rule{Code: "UnusedField", Text: "a hidden field or definition that nothing in its package refers to"}
	shadowedName    = lang.Rule{Code: "ShadowedName", Text: "a let clause, loop variable or alias that hides one further out, an import or a builtin"}
	selfReference   = lang.Rule{Code: "SelfReference", Text: "a field whose value is only itself, where one further out was meant"}
	unusedTag       = lang.Rule{Code: "UnusedTag", Text: "an input, a hidden field with @tag, that nothing in its package refers to"}
	listArithmetic  = lang.Rule{Code: "ListArithmetic", Text: "+ or * on a list, which CUE no longer has"}
)

// Rules lists what Lint looks for.
func Rules() []lang.Rule {
	return []lang.Rule{unusedImport, duplicateImport, unusedLet, unusedField, unusedTag, shadowedName, selfReference, listArithmetic}
}

// Lint finds, without evaluating anything, what looks like a mistake in CUE
// files, given by name. Files of one package name are looked at together: a
// hidden field is used when any of them refers to its name. The error, a
// diag.List, holds why files are no CUE; the others are looked at all the same.
func Lint(files map[string][]byte) (diag.List, error) {
	var problems diag.List
	packages := map[string]*packageLinter{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := parseToLint(name, files[name])
		if err != nil {
			problems = append(problems, diag.From(err)...)
			continue
		}
		key := packageName(f)
		if key == "" {
			key = name // a file without a package is by itself
		}
		p := packages[key]
		if p == nil {
			p = &packageLinter{used: map[string]bool{}}
			packages[key] = p
		}
		p.file(f)
	}
	var found diag.List
	for _, key := range slices.Sorted(maps.Keys(packages)) {
		found = append(found, packages[key].finish()...)
	}
	return diag.From(found.Err()), problems.Err()
}

func parseToLint(name string, data []byte) (f *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = diag.Errorf(diag.Position{File: name}, "CUE001", "the parser failed: %v", r)
		}
	}()
	if line := tooDeep(data); line > 0 {
		return nil, diag.Errorf(diag.Position{File: name, Line: line}, "CUE004", "brackets or operators nest deeper than %d", maxNesting)
	}
	f, err = parser.ParseFile(name, data, parser.ParseComments)
	if err != nil {
		return nil, newLoader(lang.Program{}, nil).diagnose(err)
	}
	return f, nil
}

// packageLinter looks at the files of one package.
type packageLinter struct {
	found diag.List
	// used are the names that are referred to, in any file; hidden are the
	// first declarations of the names to be used.
	used   map[string]bool
	hidden []declaration
}

// declaration is of a name to be used, perhaps for an input.
type declaration struct {
	ident *ast.Ident
	input bool
}

func (p *packageLinter) report(rule lang.Rule, pos token.Pos, message, hint string, notes ...diag.Note) {
	p.found = append(p.found, diag.Diagnostic{Code: rule.Code, Pos: position(pos), Message: message, Hint: hint, Notes: notes})
}

func (p *packageLinter) file(f *ast.File) {
	s := &scopes{p: p, refers: map[ast.Node]bool{}}
	s.imports(f)
	// Names in labels are declarations; all others are references.
	labels := map[*ast.Ident]bool{}
	ast.Walk(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.ImportDecl, *ast.Package:
			return false
		case *ast.Field:
			p.field(x, labels)
		case *ast.SelectorExpr:
			if sel, ok := x.Sel.(*ast.Ident); ok {
				p.used[sel.Name] = true
			}
		case *ast.BinaryExpr:
			p.arithmetic(x)
		case *ast.Ident:
			if !labels[x] {
				p.used[x.Name] = true
				if x.Node != nil {
					s.refers[x.Node] = true
				}
			}
		}
		return true
	}, nil)
	s.walk(f)
	s.unused(f)
}

func (p *packageLinter) field(f *ast.Field, labels map[*ast.Ident]bool) {
	label := f.Label
	if alias, ok := label.(*ast.Alias); ok {
		labels[alias.Ident] = true
		label, _ = alias.Expr.(ast.Label)
	}
	ident, ok := label.(*ast.Ident)
	if !ok {
		return
	}
	labels[ident] = true
	hidden := strings.HasPrefix(ident.Name, "_") && ident.Name != "_"
	if hidden && !asserts(f.Value) {
		p.hidden = append(p.hidden, declaration{ident, hasTag(f)})
	}
	value, ok := f.Value.(*ast.Ident)
	if ok && value.Name == ident.Name && value.Node == f.Value {
		p.report(selfReference, value.Pos(), fmt.Sprintf("%s refers to this very field, not to one further out, so it says nothing", value.Name),
			"give the one further out another name by a let clause: let _"+value.Name+" = "+value.Name)
	}
}

// asserts reports whether a value says what must hold, for which nobody has to
// refer to it.
func asserts(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	return ok && b.Op == token.AND
}

func hasTag(f *ast.Field) bool {
	return slices.ContainsFunc(f.Attrs, func(a *ast.Attribute) bool {
		name, _ := a.Split()
		return name == "tag"
	})
}

func (p *packageLinter) arithmetic(x *ast.BinaryExpr) {
	_, left := x.X.(*ast.ListLit)
	_, right := x.Y.(*ast.ListLit)
	switch {
	case x.Op == token.ADD && (left || right):
		p.report(listArithmetic, x.OpPos, "+ does not join lists", `use list.Concat of the package "list"`)
	case x.Op == token.MUL && (left || right):
		p.report(listArithmetic, x.OpPos, "* does not repeat a list", `use list.Repeat of the package "list"`)
	}
}

// finish reports what no file of the package refers to.
func (p *packageLinter) finish() diag.List {
	seen := map[string]bool{}
	for _, d := range p.hidden {
		ident := d.ident
		switch {
		case p.used[ident.Name] || seen[ident.Name]:
		case d.input:
			p.report(unusedTag, ident.Pos(), "nothing refers to "+ident.Name+", so the input makes no difference", "use it, or remove it and what gives it in writ.yaml")
		default:
			p.report(unusedField, ident.Pos(), "nothing refers to "+ident.Name, "remove it, or make it a regular field if it belongs to the result")
		}
		seen[ident.Name] = true
	}
	return p.found
}

// importName is the name that an import has in its file.
func importName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	text, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return ""
	}
	p := ast.ParseImportPath(text)
	if p.Qualifier != "" {
		return p.Qualifier
	}
	return path.Base(p.Path)
}
