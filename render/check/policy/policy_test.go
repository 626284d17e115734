package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/cue"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render/check/policy"
)

func load(t testing.TB, files map[string]string) (*policy.Set, error) {
	t.Helper()
	fsys := fstest.MapFS{}
	var sources []policy.Source
	for _, name := range []string{"p/a.yaml", "p/b.yaml", "p/c.cue"} {
		if text, ok := files[name]; ok {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
			sources = append(sources, policy.Source{FS: fsys, Name: name, CUE: cue.Evaluator{}})
		}
	}
	return policy.Load(sources)
}

func documents(t testing.TB, texts ...string) []object.Object {
	t.Helper()
	var out []object.Object
	for _, text := range texts {
		b, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		o, err := object.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

func deployment(namespace, name, image string, replicas int) string {
	return fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, namespace: %s, labels: {tier: front}}, spec: {replicas: %d, template: {spec: {containers: [{name: c, image: %q}]}}}}", name, namespace, replicas, image)
}

func edge(from, to, service string) policy.Edge {
	return policy.Edge{Document: 0, Facts: map[string]any{
		"from": map[string]any{"namespace": from, "kind": "Deployment", "name": "web", "labels": map[string]any{"tier": "front"}},
		"to":   map[string]any{"namespace": to, "service": service, "ports": []any{}},
	}}
}

func show(list []policy.Violation) string {
	var out []string
	for _, v := range list {
		s := fmt.Sprintf("%s %s %d %s: %s", v.Severity, v.Policy, v.Document, v.Path, v.Message)
		if v.Hint != "" {
			s += "; " + v.Hint
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

func TestRules(t *testing.T) {
	docs := documents(t,
		deployment("prod", "web", "web:1", 1), deployment("prod-eu", "api", "api@sha256:00", 5),
		"{apiVersion: v1, kind: Service, metadata: {name: web, namespace: prod}, spec: {ports: [{port: 80}]}}",
	)
	edges := []policy.Edge{edge("prod", "prod", "api"), edge("shop", "bank", "ledger")}
	for _, c := range []struct{ name, file, want string }{
		{"passes", `policies: [{name: a, rule: object.metadata.name != ""}]`, ""},
		{"message, hint, path", `policies: [{name: pinned, match: {kinds: [Deployment]}, rule: 'object.spec.template.spec.containers.all(c, c.image.contains("@"))', message: pin it, hint: add a digest, path: .spec.template, severity: warning}]`,
			"warning pinned 0 .spec.template: pin it; add a digest"},
		{"message of its own", `policies: [{name: few, match: {kinds: [apps/Dep*]}, rule: object.spec.replicas < 3, messageExpression: '"%s has %d".format([object.metadata.name, object.spec.replicas])'}]`, "error few 1 : api has 5"},
		{"no message", `policies: [{name: few, match: {kinds: [apps/Dep*]}, rule: object.spec.replicas < 3}]`, "error few 1 : does not satisfy the policy: object.spec.replicas < 3"},
		{"namespaces, names, labels", `policies: [{name: a, match: {namespaces: [prod-*], names: ["a?i"], labels: {tier: "*"}}, rule: "false", message: m}]`, "error a 1 : m"},
		{"exclude", `policies: [{name: a, match: {exclude: {kinds: [Deployment]}}, rule: "false", message: m}]`, "error a 2 : m"},
		{"group that does not fit", `policies: [{name: a, match: {kinds: [batch/Deployment]}, rule: "false"}]`, ""},
		{"field that is not there", `policies: [{name: a, rule: object.spec.replicas > 0}]`, "error a 2 : the policy cannot be evaluated: no such key: replicas; make the rule right for documents without the field: has(x.y), or x.?y.orValue(z)"},
		{"access", `policies: [{name: ledger, rule: edge.to.service != "ledger" || edge.from.namespace == "payments", messageExpression: edge.from.namespace + " may not use the ledger"}]`, "error ledger 0 : shop may not use the ledger"},
		{"access of some", `policies: [{name: a, match: {namespaces: [prod], labels: {tier: front}}, rule: edge.to.namespace == "x", message: m}]`, "error a 0 : m"},
		{"all access", `policies: [{name: a, rule: edges.size() <= 1, messageExpression: string(edges.size()) + " accesses"}]`, "error a -1 : 2 accesses"},
		{"all access, with a variable named edge", `policies: [{name: a, rule: 'edges.all(edge, edge.to.service != "ledger")', message: m}]`, "error a -1 : m"},
		{"costs too much", `policies: [{name: a, match: {names: [api]}, rule: '[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, a+b+c+d+e+f > 0))))))'}]`,
			"error a 1 : the policy cannot be evaluated: the rule costs too much; look for loops in loops, or match fewer documents"},
		{"anchors", "policies:\n- &a {name: a, match: &m {names: [api]}, rule: 'false', message: m}\n- {name: b, match: *m, rule: 'false', message: n2}", "error a 1 : m\nerror b 1 : n2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := load(t, map[string]string{"p/a.yaml": c.file})
			if err != nil {
				t.Fatal(err)
			}
			found, err := s.Check(t.Context(), docs, edges)
			if err != nil {
				t.Fatal(err)
			}
			if got := show(found); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

func TestConstraints(t *testing.T) {
	docs := documents(t,
		deployment("prod", "web", "web:1", 1), deployment("prod", "api", "api:2", 5),
		"{apiVersion: v1, kind: Service, metadata: {name: web, namespace: prod}, spec: {ports: [{port: 80}]}}",
	)
	for _, c := range []struct{ name, file, want string }{
		{"passes", "package policy\n#Document: {metadata: {namespace: \"prod\", ...}, ...}\n", ""},
		{"conflict", "package policy\n#Deployment: {\n\tspec: {replicas: <3, ...}\n\t...\n} @policy(hint=\"ask for more\")\n", "error #Deployment 1 .spec.replicas: invalid value 5 (out of bound <3); ask for more"},
		{"missing field", "package policy\n#Service: {\n\tmetadata: {owner!: string, ...}\n\t...\n}\n", "error #Service 2 .metadata.owner: field is required but not present"},
		{"not concrete", "package policy\n#Service: {\n\tmetadata: {labels: team: string, ...}\n\t...\n}\n", "error #Service 2 .metadata.labels.team: incomplete value string"},
		{"closed", "package policy\n#Service: {apiVersion: _, kind: _, metadata: _, spec: ports: [...{name: string, port: int}]}\n", "error #Service 2 .spec.ports[0].name: incomplete value string"},
		{"field not allowed", "package policy\n#Service: {apiVersion: _, kind: _, metadata: _}\n", "error #Service 2 .spec: field not allowed; remove the field, or allow more with ... in #Service"},
		{"field not allowed inside", "package policy\n#Service: {metadata: namespace: \"prod\", ...}\n", "error #Service 2 .metadata.name: field not allowed; remove the field, or allow more with ... in #Service.metadata"},
		{"severity and kind", "package policy\n#Small: {spec: {replicas: <3, ...}, ...} @policy(kind=Deployment,severity=warning)\n", "warning #Small 1 .spec.replicas: invalid value 5 (out of bound <3)"},
		{"parts", "package policy\n#_meta: {namespace: \"bank\", ...}\n#Service: {metadata: #_meta, ...}\n", `error #Service 2 .metadata.namespace: conflicting values "bank" and "prod"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := load(t, map[string]string{"p/c.cue": c.file})
			if err != nil {
				t.Fatal(err)
			}
			found, err := s.Check(t.Context(), docs, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := show(found); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
			for _, v := range found {
				if v.Pos.File != "p/c.cue" || v.Pos.Line == 0 {
					t.Errorf("the policy is at %s", v.Pos)
				}
			}
		})
	}
}

func TestWrongFiles(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"empty", "", "p/a.yaml: has no policies"},
		{"no YAML", "policies: [", "p/a.yaml: line 1: did not find expected node content"},
		{"two documents", "policies: []\n---\na: 1\n", "p/a.yaml:2: a policy file has only one document"},
		{"no list", "policies: {}", "p/a.yaml:1:11: .policies: must be a list"},
		{"unknown field", "policies:\n- {name: a, rul: x, rule: 'true'}", `p/a.yaml:2:13: .policies[0].rul: unknown field (did you mean "rule"?)`},
		{"twice", "policies:\n- name: a\n  rule: 'true'\n  name: b\n", "p/a.yaml:4:3: .policies[0].name: is given twice"},
		{"no name", "policies:\n- rule: 'true'\n", "p/a.yaml:2:3: .policies[0].name: is required"},
		{"no rule", "policies:\n- name: a\n", "p/a.yaml:2:3: .policies[0].rule: is required (write a rule in CEL)"},
		{"bad name", "policies: [{name: A B, rule: 'true'}]", `p/a.yaml:1:19: .policies[0].name: "A B" is no name (use lower-case letters, digits and '-')`},
		{"severity", "policies: [{name: a, rule: 'true', severity: fatal}]", `p/a.yaml:1:46: .policies[0].severity: "fatal" is no severity (use error or warning)`},
		{"path", "policies: [{name: a, rule: 'true', path: spec}]", `p/a.yaml:1:42: .policies[0].path: "spec" is no path of a field (write a field such as .spec.replicas)`},
		{"pattern", "policies: [{name: a, rule: 'true', match: {names: ['[']}}]", `p/a.yaml:1:52: .policies[0].match.names[0]: "[" is no pattern`},
		{"syntax of a rule", "policies:\n- name: a\n  rule: object.a ==\n", "p/a.yaml:3:20: .policies[0].rule: syntax error: mismatched input the end"},
		{"quoted rule", "policies:\n- name: a\n  rule: 'object.a + nothing.b'\n", "p/a.yaml:3:21: .policies[0].rule: undeclared reference to 'nothing' (in container '')"},
		{"rule of several lines", "policies:\n- name: a\n  rule: |\n    object.a == 1 &&\n    nothing.b\n", "p/a.yaml:5:5: .policies[0].rule: undeclared reference to 'nothing' (in container '')"},
		{"no truth value", "policies: [{name: a, rule: '1 + 1'}]", "p/a.yaml:1:29: .policies[0].rule: gives a int and must give a bool"},
		{"two subjects", "policies: [{name: a, rule: 'edge.start == object.kind'}]", "p/a.yaml:1:43: .policies[0].rule: undeclared reference to 'object' (in container '') (a rule about edge knows nothing else)"},
		{"message that is no text", "policies: [{name: a, rule: 'object.x', messageExpression: '1'}]", "p/a.yaml:1:60: .policies[0].messageExpression: gives a int and must give a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, map[string]string{"p/a.yaml": c.file})
			l := diag.From(err)
			if len(l) == 0 {
				t.Fatal("no error")
			}
			got := l[0].Error()
			if l[0].Hint != "" && strings.Contains(c.want, " (") {
				got += " (" + l[0].Hint + ")"
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestWrongConstraints(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"syntax", "package policy\n#A: {\n", "p/c.cue:2:7: "},
		{"no package", "#A: {}\n", "p/c.cue:1: a policy in CUE needs a package"},
		{"no definition", "package policy\na: 1\n#part: {}\n", "p/c.cue:1: no definition applies to documents"},
		{"attribute", "package policy\n#A: {...} @policy(severty=x)\n", `p/c.cue:2:1: #A: @policy has no argument "severty"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, map[string]string{"p/c.cue": c.file})
			if l := diag.From(err); len(l) == 0 || !strings.HasPrefix(l[0].Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	// What only evaluation finds is an error of the policy, not of a document.
	s, err := load(t, map[string]string{"p/c.cue": "package policy\n#Service: {a: nothing, ...}\n"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Check(t.Context(), documents(t, "{apiVersion: v1, kind: Service, metadata: {name: a}}"), nil)
	if l := diag.From(err); len(l) == 0 || l[0].Pos.File != "p/c.cue" || !strings.Contains(l[0].Message, `"nothing" not found`) {
		t.Errorf("got %v", err)
	}
}

func TestNamesAreUnique(t *testing.T) {
	_, err := load(t, map[string]string{"p/a.yaml": "policies: [{name: a, rule: 'true'}]", "p/b.yaml": "policies: [{name: a, rule: 'true'}]"})
	l := diag.From(err)
	if len(l) != 1 || l[0].Pos.File != "p/b.yaml" || len(l[0].Notes) != 1 || l[0].Notes[0].Pos.File != "p/a.yaml" {
		t.Errorf("got %+v", l)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("policies:\n- name: a\n  match: &x {kinds: [A], exclude: *x}\n  rule: |\n    object.a == 1\n")
	f.Add("policies: [{name: a, rule: '[1].map(x, x)', path: '.a[0][\"b\"]', messageExpression: '\"a\"'}]")
	doc := documents(f, deployment("a", "b", "c", 1))
	f.Fuzz(func(t *testing.T, text string) {
		s, err := load(t, map[string]string{"p/a.yaml": text})
		if err == nil {
			_, _ = s.Check(t.Context(), doc, []policy.Edge{edge("a", "b", "c")})
		}
	})
}
