package jsonnet

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// maxDocDepth bounds objects in objects.
const maxDocDepth = 10

// Document tells what a file says of itself: of a library the functions and
// fields of its object, of a program the inputs that it takes. The error, a
// diag.List, says why the file is no Jsonnet.
func Document(file string, data []byte) (page lang.Page, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = diag.Errorf(diag.Position{File: file}, "JSONNET000", "the parser failed: %v", r)
		}
	}()
	if line := tooDeep(data); line > 0 {
		return page, diag.Errorf(diag.Position{File: file, Line: line}, "JSONNET008", "brackets or operators nest deeper than %d", maxNesting)
	}
	node, err := jsonnet.SnippetToAST(file, string(data))
	if err != nil {
		return page, diagnose(file, err)
	}
	d := documenter{lines: strings.Split(string(data), "\n")}
	page = lang.Page{Name: file, Language: "jsonnet", Text: d.head()}
	value := result(node)
	if path.Ext(file) != ".libsonnet" {
		if f, ok := value.(*ast.Function); ok {
			page.Inputs = d.parameters(f, lang.SymbolInput)
		}
		found := findings{external: map[string]diag.Position{}}
		found.walk(node)
		for _, name := range slices.Sorted(maps.Keys(found.external)) {
			if slices.ContainsFunc(page.Inputs, func(s lang.Symbol) bool { return s.Name == name }) {
				continue
			}
			page.Inputs = append(page.Inputs, lang.Symbol{Name: name, Kind: lang.SymbolInput, Pos: found.external[name], Required: true})
		}
		return page, nil
	}
	if f, ok := value.(*ast.Function); ok {
		page.Symbols = []lang.Symbol{{Name: path.Base(file), Kind: lang.SymbolFunction, Pos: position(f.Loc()), Parameters: d.parameters(f, lang.SymbolField)}}
		return page, nil
	}
	page.Symbols = d.fields(value, "", 0)
	return page, nil
}

// result is what a file comes to, behind its local variables.
func result(n ast.Node) ast.Node {
	for {
		switch x := n.(type) {
		case *ast.Local:
			n = x.Body
		case *ast.Parens:
			n = x.Inner
		default:
			return n
		}
	}
}

// documenter finds comments, which the syntax tree does not have, by the places
// of what they are about.
type documenter struct{ lines []string }

// fields are those of an object, and of the objects in it.
func (d documenter) fields(n ast.Node, prefix string, depth int) []lang.Symbol {
	if depth > maxDocDepth {
		return nil
	}
	switch x := result(n).(type) {
	case *ast.Binary:
		if x.Op == ast.BopPlus {
			return append(d.fields(x.Left, prefix, depth+1), d.fields(x.Right, prefix, depth+1)...)
		}
	case *ast.DesugaredObject:
		var out []lang.Symbol
		for _, f := range x.Fields {
			name, ok := f.Name.(*ast.LiteralString)
			if !ok || strings.HasPrefix(name.Value, "_") {
				continue
			}
			out = append(out, d.field(prefix+name.Value, f, depth)...)
		}
		return out
	}
	return nil
}

func (d documenter) field(name string, f ast.DesugaredObjectField, depth int) []lang.Symbol {
	s := lang.Symbol{Name: name, Kind: lang.SymbolField, Pos: position(&f.LocRange), Text: d.before(f.LocRange)}
	switch body := result(f.Body).(type) {
	case *ast.Function:
		s.Kind, s.Parameters = lang.SymbolFunction, d.parameters(body, lang.SymbolField)
	case *ast.LiteralString, *ast.LiteralNumber, *ast.LiteralBoolean, *ast.LiteralNull:
		s.Type = d.source(body)
	case *ast.DesugaredObject, *ast.Binary:
		inner := d.fields(body, name+".", depth+1)
		if s.Text == "" && len(inner) > 0 {
			return inner
		}
		return append([]lang.Symbol{s}, inner...)
	}
	return []lang.Symbol{s}
}

func (d documenter) parameters(f *ast.Function, kind string) []lang.Symbol {
	var out []lang.Symbol
	for _, p := range f.Parameters {
		s := lang.Symbol{Name: string(p.Name), Kind: kind, Pos: position(&p.LocRange), Text: d.before(p.LocRange), Required: p.DefaultArg == nil}
		if p.DefaultArg != nil {
			s.Default = d.source(p.DefaultArg)
		}
		out = append(out, s)
	}
	return out
}

// source is the text of an expression that is on one line.
func (d documenter) source(n ast.Node) string {
	loc := n.Loc()
	if loc == nil || loc.Begin.Line != loc.End.Line || loc.Begin.Line < 1 || loc.Begin.Line > len(d.lines) {
		return "…"
	}
	line := d.lines[loc.Begin.Line-1]
	from, to := loc.Begin.Column-1, loc.End.Column-1
	if from < 0 || to > len(line) || from >= to {
		return "…"
	}
	return line[from:to]
}

// head is the comment at the top of the file.
func (d documenter) head() string {
	first := 0
	for first < len(d.lines) && strings.TrimSpace(d.lines[first]) == "" {
		first++
	}
	end := first
	if end < len(d.lines) && strings.HasPrefix(strings.TrimSpace(d.lines[end]), "/*") {
		for end < len(d.lines) && !strings.Contains(d.lines[end], "*/") {
			end++
		}
		return commentText(d.lines[first:min(end+1, len(d.lines))])
	}
	for end < len(d.lines) && isComment(d.lines[end]) {
		end++
	}
	return commentText(d.lines[first:end])
}

// before is the comment on the lines before a place that begins its line.
func (d documenter) before(at ast.LocationRange) string {
	end := at.Begin.Line - 1
	if end < 1 || end >= len(d.lines) {
		return ""
	}
	if line := d.lines[end]; at.Begin.Column-1 > len(line) || strings.TrimSpace(line[:max(0, at.Begin.Column-1)]) != "" {
		return ""
	}
	first := end
	if strings.HasSuffix(strings.TrimSpace(d.lines[end-1]), "*/") {
		for first > 0 {
			first--
			if strings.HasPrefix(strings.TrimSpace(d.lines[first]), "/*") {
				return commentText(d.lines[first:end])
			}
		}
		return ""
	}
	for first > 0 && isComment(d.lines[first-1]) {
		first--
	}
	return commentText(d.lines[first:end])
}

func isComment(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "//") || strings.HasPrefix(line, "#")
}

// commentText is what comments say, without their signs.
func commentText(lines []string) string {
	var out []string
	for _, line := range lines {
		line = strings.TrimSpace(line)
		for _, sign := range []string{"/**", "/*", "//", "#", "*/", "*"} {
			if rest, ok := strings.CutPrefix(line, sign); ok {
				line = strings.TrimPrefix(rest, " ")
				break
			}
		}
		line = strings.TrimSuffix(line, "*/")
		out = append(out, strings.TrimRight(line, " \t\r"))
	}
	return strings.Trim(strings.Join(out, "\n"), "\n")
}
