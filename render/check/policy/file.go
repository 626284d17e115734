package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/expression"
	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// maxFile bounds a policy file, in bytes, and maxPolicies what is in it.
const (
	maxFile     = 1 << 20
	maxPolicies = 1000
)

// loadRules reads a file of rules in CEL.
func (s *Set) loadRules(src Source) error {
	text, err := read(src)
	if err != nil {
		return err
	}
	r := &reader{file: src.Name, lines: strings.Split(string(text), "\n")}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return diag.Errorf(diag.Position{File: src.Name}, "POLICY", "has no policies")
	} else if err != nil {
		return diag.Errorf(diag.Position{File: src.Name}, "POLICY", "%s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		return diag.Errorf(diag.Position{File: src.Name, Line: max(second.Line, 1)}, "POLICY", "a policy file has only one document")
	}
	r.fields(doc.Content[0], "", []string{"policies"}, func(_ string, v *yaml.Node) {
		for i, n := range r.items(v, ".policies") {
			if i == maxPolicies {
				r.fail(n, ".policies", "", "has more than %d policies", maxPolicies)
				break
			}
			r.policy(n, api.IndexPath(".policies", i))
		}
	})
	if len(r.rules) == 0 && len(r.errs) == 0 {
		r.fail(doc.Content[0], "", "add policies: with a list", "has no policies")
	}
	for _, p := range r.rules {
		p.pos.File = src.file(p.pos.File)
	}
	s.rules = append(s.rules, r.rules...)
	return r.errs.Err()
}

func read(src Source) ([]byte, error) {
	f, err := src.FS.Open(src.Name)
	if err != nil {
		return nil, lang.Failure(diag.Position{}, src.Name, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, lang.Failure(diag.Position{}, src.Name, &fs.PathError{Op: "read", Path: src.Name, Err: errors.New("not a regular file")})
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		return nil, diag.Errorf(diag.Position{File: src.Name}, "POLICY", "is larger than %d bytes", maxFile)
	}
	return text, err
}

// reader makes rules of YAML nodes and collects what is wrong.
type reader struct {
	file  string
	lines []string
	rules []*rule
	errs  diag.List
}

var (
	policyName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	// fieldPath is a JSON path without anything to be computed.
	fieldPath = regexp.MustCompile(`^(\.[A-Za-z_][A-Za-z0-9_-]*|\[[0-9]+\]|\["[^"]*"\])+$`)
)

var policyFields = []string{"name", "match", "rule", "message", "messageExpression", "severity", "path", "hint"}

func (r *reader) policy(n *yaml.Node, at string) {
	p := &rule{severity: Error, pos: r.pos(n)}
	var text, computed *yaml.Node
	before := len(r.errs)
	r.fields(n, at, policyFields, func(key string, v *yaml.Node) {
		here := at + "." + key
		switch key {
		case "name":
			if p.name = r.text(v, here); p.name != "" && !policyName.MatchString(p.name) {
				r.fail(v, here, "use lower-case letters, digits and '-'", "%q is no name", p.name)
			}
		case "match":
			p.match = r.match(v, here)
		case "rule":
			text = r.scalar(v, here)
		case "message":
			p.message = strings.Join(strings.Fields(r.text(v, here)), " ")
		case "messageExpression":
			computed = r.scalar(v, here)
		case "severity":
			if p.severity = Severity(r.text(v, here)); p.severity != Error && p.severity != Warning {
				r.fail(v, here, "use error or warning", "%q is no severity", p.severity)
			}
		case "path":
			if p.path = r.text(v, here); p.path != "" && !fieldPath.MatchString(p.path) {
				r.fail(v, here, "write a field such as .spec.replicas", "%q is no path of a field", p.path)
			}
		case "hint":
			p.hint = r.text(v, here)
		}
	})
	if len(r.errs) > before {
		return
	}
	if p.name == "" {
		r.fail(n, at+".name", "", "is required")
	}
	if text == nil {
		r.fail(n, at+".rule", "write a rule in CEL", "is required")
	}
	if len(r.errs) == before {
		r.compile(p, text, computed, at)
	}
}

// compile makes programs of a policy's expressions. The variables that a rule
// uses tell what it is about.
func (r *reader) compile(p *rule, text, computed *yaml.Node, at string) {
	every := []expression.Variable{
		{Name: string(aboutObject), Type: expression.AnyType}, {Name: string(aboutEdge), Type: expression.AnyType},
		{Name: string(aboutEdges), Type: expression.ListOf(expression.AnyType)},
	}
	program, ok := r.program(text, at+".rule", every, expression.BoolType)
	if !ok {
		return
	}
	p.about = aboutObject
	for _, a := range []about{aboutEdges, aboutEdge, aboutObject} {
		if program.Uses(string(a)) {
			p.about = a
			break
		}
	}
	only := slices.DeleteFunc(every, func(v expression.Variable) bool { return v.Name != string(p.about) })
	if p.program, ok = r.program(text, at+".rule", only, expression.BoolType); !ok {
		r.errs[len(r.errs)-1].Hint = fmt.Sprintf("a rule about %s knows nothing else", p.about)
		return
	}
	if computed != nil {
		p.computed, _ = r.program(computed, at+".messageExpression", only, expression.StringType)
	}
	if p.message == "" {
		p.message = "does not satisfy the policy: " + strings.Join(strings.Fields(text.Value), " ")
	}
	r.rules = append(r.rules, p)
}

func (r *reader) program(n *yaml.Node, at string, variables []expression.Variable, result *expression.Type) (*expression.Program, bool) {
	p, err := expression.Compile(n.Value, expression.Options{Variables: variables, Result: result})
	if err == nil {
		return p, true
	}
	var list expression.Errors
	if !errors.As(err, &list) {
		list = expression.Errors{{Line: 1, Column: 1, Message: err.Error()}}
	}
	r.errs = append(r.errs, diag.Diagnostic{Code: "POLICY", Pos: r.inside(n, list[0].Line, list[0].Column), Path: at, Message: list[0].Message})
	return nil, false
}

// inside is the position of a place in the text of a scalar, as far as YAML's
// notation lets it be told: else that of the scalar.
func (r *reader) inside(n *yaml.Node, line, column int) diag.Position {
	p := r.pos(n)
	switch {
	case n.Style&yaml.LiteralStyle != 0 && n.Line < len(r.lines):
		first := r.lines[n.Line] // the line after the indicator
		indent := len(first) - len(strings.TrimLeft(first, " "))
		return diag.Position{File: r.file, Line: n.Line + line, Column: indent + column}
	case line == 1 && n.Style&yaml.FoldedStyle == 0:
		if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
			column++
		}
		p.Column += column - 1
	}
	return p
}

func (r *reader) match(n *yaml.Node, at string) *match {
	m := &match{}
	r.fields(n, at, []string{"kinds", "namespaces", "names", "labels", "exclude"}, func(key string, v *yaml.Node) {
		here := at + "." + key
		switch key {
		case "kinds":
			m.kinds = r.patterns(v, here)
		case "namespaces":
			m.namespaces = r.patterns(v, here)
		case "names":
			m.names = r.patterns(v, here)
		case "labels":
			m.labels = map[string]string{}
			r.fields(v, here, nil, func(key string, v *yaml.Node) { m.labels[key] = r.pattern(v, api.FieldPath(here, key)) })
		case "exclude":
			if strings.HasSuffix(at, ".exclude") {
				r.fail(v, here, "", "cannot be inside of exclude")
				return
			}
			m.exclude = r.match(v, here)
		}
	})
	return m
}

func (r *reader) patterns(n *yaml.Node, at string) []string {
	var out []string
	for i, v := range r.items(n, at) {
		out = append(out, r.pattern(v, api.IndexPath(at, i)))
	}
	return out
}

func (r *reader) pattern(n *yaml.Node, at string) string {
	s := r.text(n, at)
	if _, err := path.Match(s, ""); err != nil {
		r.fail(n, at, "", "%q is no pattern", s)
	}
	return s
}

// fields calls each for every member of the mapping n. known, when not nil,
// lists the only names allowed.
func (r *reader) fields(n *yaml.Node, at string, known []string, each func(key string, v *yaml.Node)) {
	n = target(n)
	if n.Kind != yaml.MappingNode {
		r.fail(n, at, "", "must be a mapping")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := key.Value
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag != "!!str":
			r.fail(key, at, "quote it", "a key must be a string")
		case seen[name]:
			r.fail(key, at+"."+name, "", "is given twice")
		case known != nil && !slices.Contains(known, name):
			hint := "known here: " + strings.Join(known, ", ")
			if near := api.Nearest(name, known); near != "" {
				hint = api.DidYouMean(near)
			}
			r.fail(key, at+"."+name, hint, "unknown field")
		default:
			seen[name] = true
			each(name, value)
		}
	}
}

func (r *reader) items(n *yaml.Node, at string) []*yaml.Node {
	n = target(n)
	if n.Kind != yaml.SequenceNode {
		r.fail(n, at, "put it in a list: [ ]", "must be a list")
		return nil
	}
	return n.Content
}

// scalar is a string that is not empty, or nil.
func (r *reader) scalar(n *yaml.Node, at string) *yaml.Node {
	if strings.TrimSpace(r.text(n, at)) == "" {
		if n = target(n); n.Kind == yaml.ScalarNode {
			r.fail(n, at, "", "must not be empty")
		}
		return nil
	}
	return target(n)
}

func (r *reader) text(n *yaml.Node, at string) string {
	n = target(n)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.fail(n, at, "", "must be a string")
		return ""
	}
	return n.Value
}

// target is what an alias stands for.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func (r *reader) fail(n *yaml.Node, at, hint, format string, args ...any) {
	r.errs = append(r.errs, diag.Diagnostic{Code: "POLICY", Pos: r.pos(n), Path: at, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (r *reader) pos(n *yaml.Node) diag.Position {
	return diag.Position{File: r.file, Line: n.Line, Column: n.Column}
}
