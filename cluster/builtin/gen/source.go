package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// sources reads what the Go files say in comments, by package.
type sources struct {
	// dirs are where the modules are, by path.
	dirs     map[string]string
	packages map[string]*source
	// version is that of k8s.io/api.
	version string
}

// open finds the modules with the Kubernetes types.
func open() (sources, error) {
	s := sources{dirs: map[string]string{}, packages: map[string]*source{}}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Path}} {{.Version}} {{.Dir}}", "k8s.io/api", "k8s.io/apimachinery").Output()
	if err != nil {
		return s, fmt.Errorf("find the modules: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			return s, fmt.Errorf("find the modules: %q", line)
		}
		s.dirs[f[0]] = f[2]
		if f[0] == "k8s.io/api" {
			s.version = f[1]
		}
	}
	return s, nil
}

// own is the path of this package, which is "main" in the program but not in
// its test.
var own = reflect.TypeFor[anyJSON]().PkgPath()

// dir is where a package is.
func (s *sources) dir(path string) (string, error) {
	if path == own {
		// The program runs in the directory above, its test in its own.
		if _, err := os.Stat("apiextensions.go"); err != nil {
			return "gen", nil
		}
		return ".", nil
	}
	for module, dir := range s.dirs {
		if rest, ok := strings.CutPrefix(path+"/", module+"/"); ok {
			return filepath.Join(dir, filepath.FromSlash(rest)), nil
		}
	}
	return "", fmt.Errorf("package %s is in no known module", path)
}

// source is one package: the comments of types and of their fields, and the
// constants of each named string type.
type source struct {
	types  map[string]markers
	fields map[string]map[string]markers
	values map[string][]string
}

// markers are the "+name=value" lines of a comment, in order.
type markers []marker

type marker struct{ name, value string }

func (m markers) has(name string) bool {
	_, ok := m.get(name)
	return ok
}

func (m markers) get(name string) (string, bool) {
	for _, x := range m {
		if x.name == name {
			return x.value, true
		}
	}
	return "", false
}

func (m markers) all(name string) []string {
	var out []string
	for _, x := range m {
		if x.name == name {
			out = append(out, x.value)
		}
	}
	return out
}

func (s *sources) of(t reflect.Type) (*source, error) {
	path := t.PkgPath()
	if p := s.packages[path]; p != nil {
		return p, nil
	}
	dir, err := s.dir(path)
	if err != nil {
		return nil, err
	}
	p, err := parse(dir)
	if err != nil {
		return nil, err
	}
	s.packages[path] = p
	return p, nil
}

func parse(dir string) (*source, error) {
	p := &source{types: map[string]markers{}, fields: map[string]map[string]markers{}, values: map[string][]string{}}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		base := filepath.Base(name)
		if strings.HasPrefix(base, "zz_") || strings.HasPrefix(base, "generated") || strings.HasSuffix(base, "_test.go") || base == "types_swagger_doc_generated.go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				p.declaration(g, file)
			}
		}
	}
	return p, nil
}

func (p *source) declaration(g *ast.GenDecl, file *ast.File) {
	for _, spec := range g.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			doc := s.Doc
			if doc == nil {
				doc = g.Doc
			}
			p.types[s.Name.Name] = append(above(doc, file), read(doc)...)
			if st, ok := s.Type.(*ast.StructType); ok {
				p.structFields(s.Name.Name, st)
			}
		case *ast.ValueSpec:
			if g.Tok == token.CONST {
				p.constants(s)
			}
		}
	}
}

// constants takes the strings of a named type: "X T = text" and "X = T(text)".
func (p *source) constants(s *ast.ValueSpec) {
	typ, _ := s.Type.(*ast.Ident)
	for _, v := range s.Values {
		id := typ
		if call, ok := v.(*ast.CallExpr); ok && id == nil && len(call.Args) == 1 {
			id, _ = call.Fun.(*ast.Ident)
			v = call.Args[0]
		}
		if id == nil {
			continue
		}
		value := computed
		if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			value, _ = strconv.Unquote(lit.Value)
		}
		p.values[id.Name] = append(p.values[id.Name], value)
	}
}

// computed stands for a constant that is not a literal: its type has no closed
// set of values that could be read here.
const computed = "\x00"

func (p *source) structFields(name string, st *ast.StructType) {
	fields := map[string]markers{}
	p.fields[name] = fields
	for _, f := range st.Fields.List {
		m := read(f.Doc)
		names := f.Names
		if len(names) == 0 {
			names = []*ast.Ident{embedded(f.Type)}
		}
		for _, n := range names {
			fields[n.Name] = m
		}
	}
}

func embedded(e ast.Expr) *ast.Ident {
	switch x := e.(type) {
	case *ast.StarExpr:
		return embedded(x.X)
	case *ast.SelectorExpr:
		return x.Sel
	case *ast.Ident:
		return x
	}
	return ast.NewIdent("")
}

// above reads the comment block just before a doc comment: tags for code
// generators are often written there, with an empty line between.
func above(doc *ast.CommentGroup, file *ast.File) markers {
	if doc == nil {
		return nil
	}
	var before *ast.CommentGroup
	for _, g := range file.Comments {
		if g.End() < doc.Pos() {
			before = g
		}
	}
	if before == nil {
		return nil
	}
	for _, d := range file.Decls {
		if d.Pos() < doc.Pos() && d.End() > before.Pos() && d.End() < doc.Pos() {
			return nil // something is declared between the two
		}
	}
	return read(before)
}

// read takes the markers out of a comment. The wrapping of validations that
// are being introduced, "+k8s:beta(since: ...)=+k8s:minimum=0", is taken off:
// the API server enforces them in code of its own until then.
func read(doc *ast.CommentGroup) markers {
	if doc == nil {
		return nil
	}
	var out markers
	for line := range strings.SplitSeq(doc.Text(), "\n") {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "+") {
			continue
		}
		if strings.HasPrefix(line, "+k8s:alpha(") || strings.HasPrefix(line, "+k8s:beta(") {
			_, inner, ok := strings.Cut(line, ")=")
			if !ok {
				continue
			}
			line = inner
		}
		line, _, _ = strings.Cut(strings.TrimPrefix(line, "+"), " #")
		name, value, _ := strings.Cut(line, "=")
		out = append(out, marker{strings.TrimSpace(name), strings.TrimSpace(value)})
	}
	return out
}
