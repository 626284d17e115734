package cue

import (
	"io/fs"
	"strings"

	"cuelang.org/go/cue/ast"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// Definition is a definition at the top of a file. Attributes are those of its
// attribute @policy(name=value, ...), or nil without one.
type Definition struct {
	Name       string
	Pos        diag.Position
	Attributes map[string]string
}

// Definitions lists the definitions at the top of a source file and tells its
// package, without evaluating anything. Errors are diag.List.
func Definitions(fsys fs.FS, name string) (pkg string, list []Definition, err error) {
	f, err := newLoader(lang.Program{FS: fsys, Entry: name}, nil).parse(name)
	if err != nil {
		return "", nil, err
	}
	for _, d := range f.Decls {
		field, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		label, _, err := ast.LabelName(field.Label)
		if err != nil || !strings.HasPrefix(label, "#") {
			continue
		}
		list = append(list, Definition{Name: label, Pos: position(field.Pos()), Attributes: policyAttribute(field)})
	}
	return packageName(f), list, nil
}

// policyAttribute is the attribute @policy of a field or of the struct that is
// its value.
func policyAttribute(f *ast.Field) map[string]string {
	all := f.Attrs
	if s, ok := f.Value.(*ast.StructLit); ok {
		for _, d := range s.Elts {
			if a, ok := d.(*ast.Attribute); ok {
				all = append(all, a)
			}
		}
	}
	for _, a := range all {
		key, body := a.Split()
		if key != "policy" {
			continue
		}
		out := map[string]string{}
		for _, kv := range splitArguments(body) {
			k, v, _ := strings.Cut(kv, "=")
			out[strings.TrimSpace(k)] = strings.Trim(strings.TrimSpace(v), `"`)
		}
		return out
	}
	return nil
}

// splitArguments cuts at the commas that are not in quotes.
func splitArguments(s string) []string {
	var out []string
	start, quoted := 0, false
	for i := range len(s) {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}
