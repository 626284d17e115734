package jsonnet

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// maxProbes bounds how often a failed program is evaluated again in parts.
const maxProbes = 64

// probe finds which field of a program fails. Jsonnet evaluates a field when
// it is printed, so the trace of an error in a library often does not show the
// call that the user wrote; but the field that holds the call is theirs.
type probe struct {
	vm       *jsonnet.VM
	resolver *resolver
	entry    string
	node     ast.Node
	program  string // an expression of the program, called if it is a function
	left     int
}

func newProbe(vm *jsonnet.VM, r *resolver, entry string, node ast.Node, inputs map[string]string) *probe {
	p := &probe{vm: vm, resolver: r, entry: entry, node: node, left: maxProbes}
	p.program = "(import " + quote(entry) + ")"
	if parameters := r.parameters(node); parameters != nil {
		var args []string
		for _, parameter := range parameters {
			if _, ok := inputs[string(parameter.Name)]; ok {
				args = append(args, fmt.Sprintf("%s=std.extVar(%s)", parameter.Name, quote(string(parameter.Name))))
			}
		}
		p.program += "(" + strings.Join(args, ", ") + ")"
	}
	return p
}

// blame gives d the path of the field that fails and, when the error has no
// position in the user's files, the position of that field.
func (p *probe) blame(d *diag.Diagnostic) {
	if d.Pos.Line > 0 && !lang.IsLibrary(d.Pos.File) {
		return
	}
	fallback := diag.Position{File: p.entry}
	objects := p.resolver.follow(thunk{node: p.node}, 0)
	for _, f := range objects {
		if function, ok := f.node.(*ast.Function); ok {
			objects = p.resolver.follow(thunk{function.Body, arguments(function, f.env, ast.Arguments{}, nil)}, 0)
		}
	}
	path, expr := "", p.program
	for {
		name, ok := p.failing(expr)
		if !ok {
			break
		}
		path, expr = lang.JoinField(path, name), expr+"["+quote(name)+"]"
		var inner []thunk
		for i, f := range p.resolver.fields(objects, name) {
			if pos := position(&f.loc); i == 0 && pos.IsValid() && !lang.IsLibrary(pos.File) {
				fallback = pos
			}
			inner = append(inner, p.resolver.follow(f.body, 0)...)
		}
		objects = inner
	}
	d.Path = path
	if d.Pos.Line > 0 {
		d.Notes = append([]diag.Note{{Pos: d.Pos, Text: "found by the library here"}}, d.Notes...)
	}
	d.Pos = fallback
}

// failing is the first field of the object that an expression is which cannot
// be printed.
func (p *probe) failing(expr string) (string, bool) {
	out, ok := p.eval("local x = " + expr + "; if std.isObject(x) then std.objectFields(x) else []")
	var names []string
	if !ok || json.Unmarshal([]byte(out), &names) != nil {
		return "", false
	}
	for _, name := range names {
		if p.left <= 0 {
			break
		}
		if _, ok := p.eval(expr + "[" + quote(name) + "]"); !ok {
			return name, true
		}
	}
	return "", false
}

func (p *probe) eval(snippet string) (string, bool) {
	if p.left--; p.left < 0 {
		return "", false
	}
	out, err := p.vm.EvaluateAnonymousSnippet("<probe>", snippet)
	return out, err == nil
}

// quote writes a string literal of Jsonnet, whose escapes are those of JSON.
func quote(s string) string {
	return string(lang.Value{Kind: lang.String, Text: s}.AppendJSON(nil))
}
