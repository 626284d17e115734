package cue

import (
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/ast/astutil"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// expression is the value of the program's expression in the scope of v, which
// is the value of the package p.
func (l *loader) expression(c *cue.Context, v cue.Value, p *build.Instance) (*lang.Result, error) {
	source := []byte(l.program.Expression)
	if line := tooDeep(source); line > 0 {
		return nil, diag.Errorf(diag.Position{File: lang.ExpressionFile, Line: line}, "CUE004", "brackets or operators nest deeper than %d", maxNesting)
	}
	e, err := parser.ParseExpr(lang.ExpressionFile, source)
	if err != nil {
		return nil, l.diagnose(err)
	}
	f := &ast.File{Filename: lang.ExpressionFile, Decls: []ast.Decl{&ast.EmbedDecl{Expr: e}}}
	if err := refuse(f); err != nil {
		return nil, err
	}
	x, err := l.inScope(c, f, v, p)
	if err != nil {
		return nil, err
	}
	err = x.Err() // of what is only incomplete too, such as a field that is not there
	if err == nil {
		err = x.Validate()
	}
	if err != nil {
		return nil, l.diagnoseIn(err, x)
	}
	r := &lang.Result{Reads: l.reader.Reads(), Inputs: l.inputs.used(), Shape: lang.Shape{Type: kind(x)}}
	if valid(x) != nil {
		r.Shape.Source = written(x, cue.Final(), cue.Definitions(true))
		return r, nil
	}
	r.Value, err = export(x, diag.Position{File: lang.ExpressionFile})
	return r, err
}

// inScope evaluates the one expression that is in f.
func (l *loader) inScope(c *cue.Context, f *ast.File, v cue.Value, p *build.Instance) (cue.Value, error) {
	options := []cue.BuildOption{cue.Scope(v), cue.InferBuiltins(true), cue.ImportPath(p.ID())}
	used := imports(f, p.Files)
	if len(used) == 0 {
		return c.BuildExpr(f.Decls[0].(*ast.EmbedDecl).Expr, options...), nil
	}
	// Only an instance can have imports.
	f.Decls = append([]ast.Decl{&ast.ImportDecl{Specs: used}}, f.Decls...)
	inst := l.context.NewInstance(p.Dir, nil)
	inst.ImportPath, inst.PkgName = p.ImportPath, p.PkgName
	if err := l.complete(inst, []*ast.File{f}); err != nil {
		return cue.Value{}, err
	}
	return c.BuildInstance(inst, options...), nil
}

// imports are those of the package's files that f refers to, but for CUE's own.
func imports(f *ast.File, files []*ast.File) []*ast.ImportSpec {
	specs := map[string]*ast.ImportSpec{}
	for _, file := range files {
		for spec := range file.ImportSpecs() {
			if strings.Contains(spec.Path.Value, ".") {
				specs[importName(spec)] = spec
			}
		}
	}
	astutil.Resolve(f, func(token.Pos, string, ...any) {}) // what it cannot resolve, the compiler tells
	var used []*ast.ImportSpec
	for _, ident := range f.Unresolved {
		if spec := specs[ident.Name]; spec != nil {
			used = append(used, &ast.ImportSpec{Name: spec.Name, Path: spec.Path})
			delete(specs, ident.Name)
		}
	}
	return used
}

// kind is the kind of a value, and what a default is the default of.
func kind(v cue.Value) string {
	text := strings.Trim(v.IncompleteKind().String(), "()")
	if _, has := v.Default(); has && v.IncompleteKind()&(cue.StructKind|cue.ListKind) == 0 {
		text += ", the default of " + written(v)
	}
	return text
}

// written is a value as CUE.
func written(v cue.Value, o ...cue.Option) string {
	b, err := format.Node(v.Syntax(o...), format.Simplify())
	if err != nil {
		return v.IncompleteKind().String()
	}
	return strings.TrimSpace(string(b))
}
