package cue

import (
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/token"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// Document tells what a package says of itself: its definitions, and the inputs
// that its fields take. Files are those of the package, by name. The error, a
// diag.List, says why files are no CUE.
func Document(files map[string][]byte) (lang.Page, error) {
	page := lang.Page{Language: "cue"}
	var problems diag.List
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := parseToLint(name, files[name])
		if err != nil {
			problems = append(problems, diag.From(err)...)
			continue
		}
		page.Text = joinParagraphs(page.Text, packageText(f))
		page.Symbols = append(page.Symbols, definitions(f)...)
		page.Inputs = append(page.Inputs, tagged(f)...)
	}
	return page, problems.Err()
}

// PackageName is the name that a file gives its package, or "".
func PackageName(file string, data []byte) (string, error) {
	f, err := parseToLint(file, data)
	if err != nil {
		return "", err
	}
	return packageName(f), nil
}

// ModulePath is the path in the text of a cue.mod/module.cue, or "".
func ModulePath(data []byte) string {
	f, err := parseToLint("cue.mod/module.cue", data)
	if err != nil {
		return ""
	}
	return modulePath(f)
}

func joinParagraphs(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// packageText is the comment before the package clause.
func packageText(f *ast.File) string {
	for _, d := range f.Decls {
		if p, ok := d.(*ast.Package); ok {
			return docText(p)
		}
	}
	return ""
}

// docText is the comment before a node.
func docText(n ast.Node) string {
	text := ""
	for _, g := range ast.Comments(n) {
		if g.Doc && g.Position == 0 {
			text = commentText(g)
		}
	}
	return text
}

func commentText(g *ast.CommentGroup) string {
	var lines []string
	for _, c := range g.List {
		line := strings.TrimPrefix(c.Text, "//")
		lines = append(lines, strings.TrimRight(strings.TrimPrefix(line, " "), " \t\r"))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

func definitions(f *ast.File) []lang.Symbol {
	var out []lang.Symbol
	for _, d := range f.Decls {
		field, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		if name := labelName(field); strings.HasPrefix(name, "#") {
			s := symbol(field, lang.SymbolDefinition)
			if text, isText := field.Value.(*ast.StructLit); isText {
				s.Embeds = embeds(text)
			}
			out = append(out, s)
		}
	}
	return out
}

// labelName is how a field is declared: a name, or a pattern in brackets; ""
// for one whose name is computed.
func labelName(f *ast.Field) string {
	label := f.Label
	if alias, ok := label.(*ast.Alias); ok {
		label, _ = alias.Expr.(ast.Label)
	}
	switch l := label.(type) {
	case *ast.Ident:
		return l.Name
	case *ast.BasicLit:
		name, _, err := ast.LabelName(l)
		if err != nil {
			return ""
		}
		return name
	case *ast.ListLit:
		return source(l)
	}
	return ""
}

// symbol is a field, or a definition.
func symbol(f *ast.Field, kind string) lang.Symbol {
	s := lang.Symbol{Name: labelName(f), Kind: kind, Pos: position(f.Pos()), Text: docText(f), Required: f.Constraint == token.NOT}
	describeValue(&s, f.Value)
	return s
}

// describeValue adds what a field may be.
func describeValue(s *lang.Symbol, value ast.Expr) {
	text, ok := value.(*ast.StructLit)
	if !ok {
		t := describedBy(value)
		s.Type, s.Values, s.Default, s.Computed = t.text, t.values, t.value, t.computed
		return
	}
	if isAny(text) {
		s.Type = anyStruct
		return
	}
	if pattern, of := onlyPattern(text); of != nil {
		s.Type = "{" + pattern + ": " + describedBy(of).text + "}"
		return
	}
	s.Open = slices.ContainsFunc(text.Elts, func(d ast.Decl) bool { _, ok := d.(*ast.Ellipsis); return ok })
	if s.Open && s.Kind == lang.SymbolField {
		return // a template: what is in it is the result, not what to give
	}
	s.Fields = fields(text)
	s.Computed = len(s.Fields) == 0 && len(text.Elts) > 0 && !s.Open && len(embeds(text)) == 0
}

// anyStruct is a struct of which nothing is said.
const anyStruct = "{...}"

func isAny(s *ast.StructLit) bool {
	if len(s.Elts) != 1 {
		return false
	}
	rest, ok := s.Elts[0].(*ast.Ellipsis)
	return ok && rest.Type == nil
}

// onlyPattern is the pattern of a struct that is a map, and what it is to.
func onlyPattern(s *ast.StructLit) (pattern string, value ast.Expr) {
	if len(s.Elts) != 1 {
		return "", nil
	}
	f, ok := s.Elts[0].(*ast.Field)
	if !ok || docText(f) != "" {
		return "", nil
	}
	if inner, isStruct := f.Value.(*ast.StructLit); isStruct && !isAny(inner) || !strings.HasPrefix(labelName(f), "[") {
		return "", nil
	}
	return labelName(f), f.Value
}

// fields are those that a struct declares, but hidden ones and definitions. What
// is declared several times is joined.
func fields(s *ast.StructLit) []lang.Symbol {
	var out []lang.Symbol
	for _, d := range s.Elts {
		f, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		name := labelName(f)
		if name == "" || strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#") {
			continue
		}
		if top, ok := f.Value.(*ast.Ident); ok && top.Name == "_" && docText(f) == "" {
			continue // only makes the name known here
		}
		next := symbol(f, lang.SymbolField)
		if next.Open && next.Text == "" {
			continue // adds to what is told where it is declared
		}
		if i := slices.IndexFunc(out, func(s lang.Symbol) bool { return s.Name == name }); i >= 0 {
			have := &out[i]
			have.Text = joinParagraphs(have.Text, next.Text)
			have.Required = have.Required || next.Required
			have.Fields = append(have.Fields, next.Fields...)
			if have.Type == "" {
				have.Type, have.Values, have.Default = next.Type, next.Values, next.Default
			}
			continue
		}
		out = append(out, next)
	}
	return out
}

func embeds(s *ast.StructLit) []string {
	var out []string
	for _, d := range s.Elts {
		if e, ok := d.(*ast.EmbedDecl); ok {
			switch e.Expr.(type) {
			case *ast.Ident, *ast.SelectorExpr:
				out = append(out, source(e.Expr))
			}
		}
	}
	return out
}

// tagged are the inputs: fields with a @tag.
func tagged(f *ast.File) []lang.Symbol {
	var out []lang.Symbol
	ast.Walk(f, func(n ast.Node) bool {
		field, ok := n.(*ast.Field)
		if !ok {
			return true
		}
		for _, a := range field.Attrs {
			name, body := a.Split()
			if name != "tag" {
				continue
			}
			s := symbol(field, lang.SymbolInput)
			s.Name, _, _ = strings.Cut(body, ",")
			s.Required = s.Default == "" && !concrete(field.Value)
			out = append(out, s)
		}
		return true
	}, nil)
	return out
}

func concrete(e ast.Expr) bool {
	_, ok := e.(*ast.BasicLit)
	return ok
}

// source is an expression on one line, without comments.
func source(e ast.Expr) string {
	ast.Walk(e, func(n ast.Node) bool {
		ast.SetComments(n, nil)
		return true
	}, nil)
	b, err := format.Node(e)
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(b)), " ")
}
