package cue

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
	"cuelang.org/go/encoding/json"
	"cuelang.org/go/encoding/toml"
	"cuelang.org/go/encoding/yaml"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// embedder puts the files that @embed names into the syntax tree of a file, as
// conjuncts of the fields that have the attribute. CUE's own way would read
// them through a file system that it finds for itself, unseen.
type embedder struct {
	l   *loader
	dir string
	// replaced are the values of fields before and after.
	replaced map[ast.Node]ast.Node
	problems diag.List
}

// embed embeds what f asks for and tells whether there was anything. The
// attributes are gone afterwards.
func (l *loader) embed(name string, f *ast.File) (bool, error) {
	enabled, err := embedsFiles(f)
	if err != nil {
		return false, err
	}
	e := &embedder{l: l, dir: path.Dir(name), replaced: map[ast.Node]ast.Node{}}
	found := false
	ast.Walk(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.File:
			found = e.declarations(x.Decls, enabled) || found
		case *ast.StructLit:
			found = e.declarations(x.Elts, enabled) || found
		case *ast.Field:
			found = e.field(x, enabled) || found
		}
		return true
	}, nil)
	reconnect(f, e.replaced)
	return found, e.problems.Err()
}

// embedsFiles tells whether a file has @extern(embed), and removes it.
func embedsFiles(f *ast.File) (bool, error) {
	for i, d := range f.Decls {
		a, ok := d.(*ast.Attribute)
		if !ok {
			if _, ok := d.(*ast.CommentGroup); ok {
				continue
			}
			break
		}
		name, body := a.Split()
		if name != "extern" {
			continue
		}
		switch strings.Trim(strings.TrimSpace(body), `"`) {
		case "embed":
		default:
			return false, diag.List{{Code: "CUE007", Pos: position(a.Pos()), Message: "@extern(" + body + ") is not supported", Hint: "@extern(embed) is all there is; programs run no other code"}}
		}
		if packageName(f) == "" {
			return false, diag.List{{Code: "CUE007", Pos: position(a.Pos()), Message: "@extern(embed) without a package clause", Hint: "give the file a package clause"}}
		}
		f.Decls = slices.Delete(slices.Clone(f.Decls), i, i+1)
		return true, nil
	}
	return false, nil
}

// declarations replaces @embed attributes among declarations by what they embed.
func (e *embedder) declarations(decls []ast.Decl, enabled bool) (found bool) {
	for i, d := range decls {
		if a, ok := d.(*ast.Attribute); ok && a.Name() == "embed" {
			decls[i], found = &ast.EmbedDecl{Expr: e.attribute(a, enabled)}, true
		}
	}
	return found
}

func (e *embedder) field(f *ast.Field, enabled bool) (found bool) {
	var rest []*ast.Attribute
	before := f.Value
	for _, a := range f.Attrs {
		if a.Name() != "embed" {
			rest = append(rest, a)
			continue
		}
		f.Value, found = ast.NewBinExpr(token.AND, f.Value, e.attribute(a, enabled)), true
	}
	f.Attrs = rest
	if found {
		e.replaced[before] = f.Value
	}
	return found
}

// attribute is what an attribute embeds; after a problem, anything.
func (e *embedder) attribute(a *ast.Attribute, enabled bool) ast.Expr {
	expr, err := e.embedded(a, enabled)
	if err != nil {
		e.problems = append(e.problems, diag.From(err)...)
		return ast.NewIdent("_")
	}
	return expr
}

func (e *embedder) embedded(a *ast.Attribute, enabled bool) (ast.Expr, error) {
	pos := position(a.Pos())
	fail := func(hint, format string, args ...any) (ast.Expr, error) {
		return nil, diag.List{{Code: "CUE007", Pos: pos, Message: "@embed: " + fmt.Sprintf(format, args...), Hint: hint}}
	}
	_, body := a.Split()
	args, err := attributeArguments(body)
	if err != nil {
		return fail("write @embed(file=NAME) or @embed(glob=PATTERN), and perhaps type=TYPE", "%s", err)
	}
	file, glob := args["file"], args["glob"]
	_, empty := args["allowEmptyGlob"]
	name := file + glob
	switch {
	case !enabled:
		return fail("write @extern(embed) above the package clause", "the file does not have @extern(embed)")
	case (file == "") == (glob == ""):
		return fail("write @embed(file=NAME) or @embed(glob=PATTERN)", "has either file= or glob=")
	case empty && glob == "":
		return fail("remove it", "allowEmptyGlob is for glob=")
	case path.IsAbs(name) || !fs.ValidPath(name):
		return nil, diag.List{{Code: "LANG002", Pos: pos, Message: "@embed: " + strconv.Quote(name) + " is not a path inside of the file's directory", Hint: "name a file in the directory of the CUE file, or below it, without . or .."}}
	case !e.l.module.real && !lang.IsLibrary(e.dir+"/"):
		return fail("add a cue.mod/module.cue", "files can be embedded only within a module")
	case file != "":
		return e.file(pos, file, args["type"])
	}
	names, err := e.match(pos, glob)
	if err != nil {
		return nil, err
	}
	if ext := path.Ext(glob); args["type"] == "" && (ext == "" || strings.ContainsAny(ext, `*?[\`)) {
		return fail("add type=", "the pattern does not end in the extension of a type")
	}
	if len(names) == 0 && !empty {
		return fail("correct the pattern, or add allowEmptyGlob", "no file matches %q", glob)
	}
	all := ast.NewStruct()
	for _, name := range names {
		expr, err := e.file(pos, name, args["type"])
		if err != nil {
			return nil, err
		}
		all.Elts = append(all.Elts, &ast.Field{Label: ast.NewString(name), Value: expr})
	}
	return all, nil
}

// file is the content of a file, relative to the embedding one.
func (e *embedder) file(pos diag.Position, name, kind string) (ast.Expr, error) {
	full := path.Join(e.dir, name)
	if lang.IsLibrary(e.dir + "/") {
		full = lang.LibraryPrefix + path.Join(strings.TrimPrefix(e.dir, lang.LibraryPrefix), name)
	}
	if err := e.sameModule(pos, name); err != nil {
		return nil, err
	}
	data, err := e.l.reader.ReadFile(full)
	if err != nil {
		return nil, lang.Failure(pos, full, err)
	}
	if kind == "" {
		kind = typeOf(name)
	}
	if line := tooDeep(data); line > 0 && kind != "text" && kind != "binary" {
		return nil, diag.Errorf(diag.Position{File: full, Line: line}, "CUE004", "brackets or operators nest deeper than %d", maxNesting)
	}
	if kind != "binary" && !utf8.Valid(data) {
		return nil, diag.List{{Code: "CUE007", Pos: pos, Message: "@embed: " + full + " is not UTF-8", Hint: "save it as UTF-8, or embed it with type=binary"}}
	}
	expr, err := e.decode(pos, full, kind, data)
	if err == nil || len(diag.From(err)) > 0 && diag.From(err)[0].Code != "" {
		return expr, err
	}
	problems := e.l.diagnose(err)
	for i := range problems {
		problems[i].Notes = append(problems[i].Notes, diag.Note{Pos: pos, Text: "embedded here"})
		if problems[i].Pos.File == e.l.program.Entry && problems[i].Pos.Line == 0 {
			problems[i].Pos = diag.Position{File: full}
		}
	}
	return nil, problems
}

// typeOf is the type of a file by its extension.
func typeOf(name string) string {
	switch ext := path.Ext(name); ext {
	case ".json", ".toml":
		return ext[1:]
	case ".yaml", ".yml":
		return "yaml"
	case ".txt":
		return "text"
	}
	return ""
}

func (e *embedder) decode(pos diag.Position, name, kind string, data []byte) (ast.Expr, error) {
	switch kind {
	case "json":
		// CUE would unify what an object has twice.
		if _, err := lang.ParseJSON(name, data); err != nil {
			return nil, err
		}
		return json.Extract(name, data)
	case "yaml":
		d := yaml.NewDecoder(name, bytes.NewReader(data))
		expr, err := d.Extract()
		if errors.Is(err, io.EOF) {
			return ast.NewNull(), nil
		}
		if err != nil {
			return nil, err
		}
		if _, err := d.Extract(); !errors.Is(err, io.EOF) {
			return nil, diag.List{{Code: "CUE007", Pos: pos, Message: "@embed: " + name + " has more than one document", Hint: "make it a file for each document, and embed them with glob="}}
		}
		return expr, uniqueKeys(expr)
	case "toml":
		return toml.NewDecoder(name, bytes.NewReader(data)).Decode()
	case "text":
		return ast.NewString(string(data)), nil
	case "binary":
		return &ast.BasicLit{Kind: token.STRING, Value: literal.Bytes.Quote(string(data))}, nil
	case "":
		return nil, diag.List{{Code: "CUE007", Pos: pos, Message: "@embed: what " + name + " holds cannot be told by its name", Hint: "add type=json, yaml, toml, text or binary"}}
	}
	return nil, diag.List{{Code: "CUE007", Pos: pos, Message: "@embed: type " + kind + " is not supported", Hint: "use json, yaml, toml, text or binary"}}
}

// uniqueKeys refuses what a mapping has twice, which CUE would unify.
func uniqueKeys(expr ast.Expr) error {
	var problems diag.List
	ast.Walk(expr, func(n ast.Node) bool {
		s, ok := n.(*ast.StructLit)
		if !ok {
			return true
		}
		first := map[string]diag.Position{}
		for _, d := range s.Elts {
			f, ok := d.(*ast.Field)
			if !ok {
				continue
			}
			name, _, err := ast.LabelName(f.Label)
			if pos, twice := first[name]; twice && err == nil {
				problems = append(problems, lang.Duplicate(lang.Field{Name: name, Pos: position(f.Label.Pos())}, pos)...)
			} else if err == nil {
				first[name] = position(f.Label.Pos())
			}
		}
		return true
	}, nil)
	return problems.Err()
}

// sameModule refuses a file below a directory that is a module of its own.
func (e *embedder) sameModule(pos diag.Position, name string) error {
	for d := path.Dir(name); d != "."; d = path.Dir(d) {
		if _, err := e.l.reader.ReadFile(path.Join(e.dir, d, "cue.mod", "module.cue")); err == nil {
			return diag.Errorf(pos, "CUE007", "@embed: %s is in another module, that of %s", name, path.Join(e.dir, d))
		}
	}
	return nil
}

// match lists the files that match a pattern, relative to the embedding one. As
// in a shell, a name with a dot in front needs a pattern with a dot in front.
func (e *embedder) match(pos diag.Position, pattern string) ([]string, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, diag.Errorf(pos, "CUE007", "@embed: %q is not a pattern", pattern)
	}
	found := []string{"."}
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		var next []string
		for _, dir := range found {
			entries, err := e.l.reader.ReadDir(path.Join(e.dir, dir))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, lang.Failure(pos, path.Join(e.dir, dir), err)
			}
			for _, entry := range entries {
				ok, _ := path.Match(part, entry.Name())
				hidden := strings.HasPrefix(entry.Name(), ".") && !strings.HasPrefix(part, ".")
				if last := i == len(parts)-1; !ok || hidden || last == e.isDir(path.Join(dir, entry.Name()), entry) {
					continue
				}
				next = append(next, path.Join(dir, entry.Name()))
			}
		}
		found = next
	}
	slices.Sort(found)
	return found, nil
}

// isDir looks where a link leads to.
func (e *embedder) isDir(name string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.IsDir()
	}
	info, err := e.l.reader.Stat(path.Join(e.dir, name))
	return err == nil && info.IsDir()
}

// attributeArguments reads "file=a.json, type=text", whose values may be quoted.
func attributeArguments(body string) (map[string]string, error) {
	args := map[string]string{}
	for _, part := range splitOutside(body) {
		key, value, _ := strings.Cut(part, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if strings.HasPrefix(value, `"`) || strings.HasPrefix(value, "#") {
			unquoted, err := literal.Unquote(value)
			if err != nil {
				return nil, fmt.Errorf("%s is not a string", value)
			}
			value = unquoted
		}
		if !slices.Contains([]string{"file", "glob", "type", "allowEmptyGlob"}, key) {
			return nil, fmt.Errorf("no argument %q is known", key)
		}
		if _, twice := args[key]; twice {
			return nil, fmt.Errorf("%s is given twice", key)
		}
		args[key] = value
	}
	return args, nil
}

// splitOutside splits at the commas outside of double quotes.
func splitOutside(s string) []string {
	var parts []string
	start, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quoted:
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

// reconnect makes references to values that were replaced lead to what they are
// now: the parser has connected them to what they were.
func reconnect(f *ast.File, replaced map[ast.Node]ast.Node) {
	if len(replaced) == 0 {
		return
	}
	ast.Walk(f, func(n ast.Node) bool {
		if ident, ok := n.(*ast.Ident); ok {
			if now, ok := replaced[ident.Node]; ok {
				ident.Node = now
			}
		}
		return true
	}, nil)
}
