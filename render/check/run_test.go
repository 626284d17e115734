package check_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/writ-dev/writ/lang/cue"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render/check"
	"github.com/writ-dev/writ/render/check/policy"
)

// flow turns documents in YAML, one each, into JSON, one a line.
func flow(t testing.TB, docs ...string) []string {
	t.Helper()
	out := make([]string, len(docs))
	for i, d := range docs {
		b, err := yaml.YAMLToJSON([]byte(d))
		if err != nil {
			t.Fatalf("%v in:\n%s", err, d)
		}
		out[i] = string(b)
	}
	return out
}

// lines shows findings: "error CODE LINE OBJECT PATH: MESSAGE; HINT".
func lines(r *check.Report) string {
	var out []string
	for _, f := range r.Findings {
		s := fmt.Sprintf("%s %s %d %s %s: %s", f.Severity, f.Code, f.Pos.Line, f.Object, f.Path, f.Message)
		if f.Hint != "" {
			s += "; " + f.Hint
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

const crd = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}, spec: {group: example.com, scope: Namespaced,
  names: {plural: things, kind: Thing}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, required: [size],
  properties: {size: {type: integer, minimum: 1}, colour: {type: string, enum: [red, blue]}, of: {type: string, default: red}}, x-kubernetes-validations: [{rule: "self.size < 10 || self.of != 'red'", message: too large}]}}}}},
  {name: v1beta1, served: true, storage: false, deprecated: true, deprecationWarning: use v1, schema: {openAPIV3Schema: {type: object}}}, {name: v0, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}]}}`

func thing(version, spec string) string {
	return "{apiVersion: example.com/" + version + ", kind: Thing, metadata: {name: t, namespace: a}, spec: " + spec + "}"
}

const (
	ingress = `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i, namespace: default}, spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: %d}}}}]}}]}}`
	good    = `{apiVersion: v1, kind: ConfigMap, metadata: {name: good}}`
)

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name      string
		target    check.Target
		docs      []string
		want      string
		unchecked int
	}{
		{name: "good", docs: []string{deployment("web", ""), service("web"), dependency("web", "web", "http", "none"), good}},
		{name: "kind that Writ does not serve", docs: []string{ingressDoc(80), service("s")},
			want: "warning NotServed 1 Ingress.networking.k8s.io default/i .kind: Writ does not serve Ingress of networking.k8s.io/v1: plan and apply refuse it; check with --target kube if it is for a Kubernetes cluster"},
		{name: "several of a kind that Writ does not serve", docs: []string{ingressDoc(80), strings.Replace(ingressDoc(80), "name: i,", "name: j,", 1), service("s")},
			want: "warning NotServed 1 Ingress.networking.k8s.io default/i .kind: Writ does not serve Ingress of networking.k8s.io/v1: plan and apply refuse it, and 1 others; check with --target kube if it is for a Kubernetes cluster"},
		{name: "the same for Kubernetes", target: check.Kubernetes, docs: []string{ingressDoc(80), service("s")}},
		{name: "field that Writ does not honour", docs: []string{strings.Replace(deployment("web", ""), `"containers"`, `"hostNetwork":true,"containers"`, 1)},
			want: "error DEP010 1 Deployment.apps default/web .spec.template.spec.hostNetwork: a pod on the host's network would bypass its declared dependencies; remove it; publish ports with a Service of type NodePort"},
		{name: "the same for Kubernetes too", target: check.Kubernetes, docs: []string{strings.Replace(deployment("web", ""), `"containers"`, `"hostNetwork":true,"containers"`, 1)}},
		{name: "what both know is said once", docs: []string{deployment("web", `,"imagePullPolcy":"x","ports":[{"containerPort":0}],"env":[{"name":"A"},{"name":"A"}]}, {"name":"c","image":"i:1"`)},
			want: `warning Repeated 1 Deployment.apps default/web .spec.template.spec.containers[0].env[1]: name "A" is in the list twice, first as env[0]; remove one, or give it another name` + "\n" +
				`error UnknownField 1 Deployment.apps default/web .spec.template.spec.containers[0].imagePullPolcy: containers has no field "imagePullPolcy"; did you mean "imagePullPolicy"?` + "\n" +
				`error FieldValueInvalid 1 Deployment.apps default/web .spec.template.spec.containers[0].ports[0].containerPort: 0 is not a port number; use 1 to 65535` + "\n" +
				`error FieldValueDuplicate 1 Deployment.apps default/web .spec.template.spec.containers[1]: name "c" is in the list twice, first as containers[0]; remove one, or give it another name`},
		{name: "misspelt kind", docs: []string{strings.Replace(deployment("web", ""), "Deployment", "Deploymnet", 1)},
			want: `error UnknownKind 1 Deploymnet.apps web .kind: Kubernetes has no Deploymnet of apps/v1; did you mean "Deployment"?`},
		{name: "misspelt group", docs: []string{strings.Replace(deployment("web", ""), "apps/v1", "app/v1", 1)},
			want: `error UnknownKind 1 Deployment.app web .apiVersion: there is no Deployment of app/v1 in Kubernetes; did you mean "apps/v1"?`},
		{name: "version that was never", docs: []string{strings.Replace(deployment("web", ""), "apps/v1", "apps/v2", 1)},
			want: `error UnknownKind 1 Deployment.apps default/web .apiVersion: Kubernetes has no Deployment of apps/v2; use apiVersion: apps/v1`},
		{name: "version that was removed", docs: []string{strings.Replace(deployment("web", ""), "apps/v1", "extensions/v1beta1", 1)},
			want: `error RemovedAPI 1 Deployment.extensions web .apiVersion: extensions/v1beta1 Deployment is not served since Kubernetes 1.16; use apps/v1`},
		{name: "misspelt kind of Writ", docs: []string{strings.Replace(dependency("a", "b", "c", "none"), `"Dependency"`, `"Dependncy"`, 1)},
			want: `error UnknownKind 1 Dependncy.writ.dev d .kind: kind Dependncy of writ.dev/v1alpha1 is not served by Writ; did you mean "Dependency"?`},
		{name: "kind of Writ, for Kubernetes", target: check.Kubernetes, docs: []string{strings.Replace(dependency("a", "b", "80", "none"), `"start"`, `"strat"`, 1), deployment("a", "")},
			want: `error UnknownField 1 Dependency.writ.dev default/d .spec.strat: spec has no field "strat"; did you mean "start"?`},
		{name: "kind of nobody", docs: []string{`{"apiVersion":"nobody.example/v1","kind":"Thing","metadata":{"name":"t"}}`}, unchecked: 1},
		{name: "dependency on a broken document", docs: []string{deployment("web", `,"x":1`), service("s"), dependency("web", "s", "80", "none")},
			want: `error UnknownField 1 Deployment.apps default/web .spec.template.spec.containers[0].x: containers has no field "x"`},
		{name: "dependency on a port that is not there", target: check.Kubernetes, docs: []string{deployment("web", ""), service("s"), dependency("web", "s", "htp", "none")},
			want: `error DEP002 3 Dependency.writ.dev default/d .spec.target.service.ports[0]: Service default/s has no port htp; did you mean "http"?`},

		// Custom resources.
		{name: "custom resource", target: check.Kubernetes, docs: []string{crd, thing("v1", "{size: 3, colour: red}")}},
		{name: "custom resource before its definition", target: check.Kubernetes, docs: []string{thing("v1", "{size: 0, color: red}"), crd},
			want: `error UnknownField 1 Thing.example.com a/t .spec.color: spec has no field "color"; did you mean "colour"?` + "\n" +
				`error FieldValueInvalid 1 Thing.example.com a/t .spec.size: must be at least 1, but is 0`},
		{name: "custom resource without a field", target: check.Kubernetes, docs: []string{crd, thing("v1", "{}")}, want: `error FieldValueRequired 2 Thing.example.com a/t .spec.size: is required`},
		{name: "rule, with a default", target: check.Kubernetes, docs: []string{crd, thing("v1", "{size: 11}")}, want: `error Rule 2 Thing.example.com a/t .spec: too large`},
		{name: "deprecated version", target: check.Kubernetes, docs: []string{crd, thing("v1beta1", "{}")},
			want: `warning DeprecatedAPI 2 Thing.example.com a/t .apiVersion: use v1` + "\n" + `error UnknownField 2 Thing.example.com a/t .spec: a Thing has no field "spec"; it has: apiVersion, kind, metadata`},
		{name: "version not served", target: check.Kubernetes, docs: []string{crd, thing("v0", "{}")}, want: `error UnknownKind 2 Thing.example.com a/t .apiVersion: the definition of Thing does not serve version v0; it serves: v1, v1beta1`},
		{name: "metadata of a custom resource", target: check.Kubernetes, docs: []string{crd, strings.Replace(thing("v1", "{size: 1}"), "name: t", "name: T, lables: {a: b}", 1)},
			want: `error UnknownField 2 Thing.example.com a/T .metadata.lables: metadata has no field "lables"; did you mean "labels"?` + "\n" +
				`error FieldValueInvalid 2 Thing.example.com a/T .metadata.name: "T": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{name: "broken definition", target: check.Kubernetes, docs: []string{strings.Replace(crd, "self.size < 10", "self.sise < 10", 1), thing("v1", "{size: 0}")},
			want: `error FieldValueInvalid 1 CustomResourceDefinition.apiextensions.k8s.io things.example.com .spec.versions[0].schema.openAPIV3Schema.properties.spec["x-kubernetes-validations"][0].rule: column 5 of the expression: undefined field 'sise'` + "\n" +
				`error FieldValueInvalid 2 Thing.example.com a/t .spec.size: must be at least 1, but is 0`},

		// Names that lead to a document but to nothing in it.
		{name: "port of an ingress", target: check.Kubernetes, docs: []string{ingressDoc(81), service("s")},
			want: `warning Reference 1 Ingress.networking.k8s.io default/i .spec.rules[0].http.paths[0].backend.service.port: Service s has no port 81; it has 80 (http)`},
		{name: "service elsewhere", target: check.Kubernetes, docs: []string{ingressDoc(81)}},
		{name: "key", target: check.Kubernetes, docs: []string{deployment("web", `,"env":[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"good","key":"a"}}},{"name":"B","valueFrom":{"configMapKeyRef":{"name":"good","key":"a","optional":true}}}]`), good},
			want: `warning Reference 1 Deployment.apps default/web .spec.template.spec.containers[0].env[0].valueFrom.configMapKeyRef.key: ConfigMap good has no key "a": the container could not start; add it there, or mark the reference optional: true`},
		{name: "target port", target: check.Kubernetes, docs: []string{deployment("web", `,"ports":[{"name":"http","containerPort":80}]`), strings.Replace(service("web"), `"port":80`, `"port":80,"targetPort":"htp"`, 1)},
			want: `warning Reference 2 Service default/web .spec.ports[0].targetPort: no container of Deployment.apps default/web has a port named "htp"; did you mean "http"?`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := check.Run(t.Context(), bundle(t, flow(t, c.docs...)...), check.Subject{Target: c.target})
			if err != nil {
				t.Fatal(err)
			}
			if got := lines(r); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
			if r.Unchecked() != c.unchecked || r.Checked() != len(c.docs)-c.unchecked {
				t.Errorf("%d checked and %d unchecked of %d", r.Checked(), r.Unchecked(), len(c.docs))
			}
			if r.Failed(true) != (len(r.Findings) > 0 || c.unchecked > 0) {
				t.Errorf("failed is %t when strict", r.Failed(true))
			}
		})
	}
}

func ingressDoc(port int) string { return fmt.Sprintf(ingress, port) }

// TestDefinitionsFromElsewhere gives the definition that the bundle lacks.
func TestDefinitionsFromElsewhere(t *testing.T) {
	b := bundle(t, flow(t, thing("v1", "{size: x}"))...)
	r, err := check.Run(t.Context(), b, check.Subject{Target: check.Kubernetes})
	if err != nil || r.Unchecked() != 1 || len(r.Findings) != 0 || r.Failed(false) || !r.Failed(true) {
		t.Errorf("without the definition: %+v, %v", r, err)
	}
	r, err = check.Run(t.Context(), b, check.Subject{Target: check.Kubernetes, Definitions: bundle(t, flow(t, crd)...).Documents})
	if err != nil || r.Unchecked() != 0 || len(r.Documents) != 1 {
		t.Fatalf("with it: %+v, %v", r, err)
	}
	if got, want := lines(r), `error FieldValueTypeInvalid 1 Thing.example.com a/t .spec.size: must be a number, not the string "x"`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func policies(t testing.TB, files map[string]string) *policy.Set {
	t.Helper()
	fsys := fstest.MapFS{}
	var sources []policy.Source
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
		sources = append(sources, policy.Source{FS: fsys, Name: name, CUE: cue.Evaluator{}})
	}
	s, err := policy.Load(sources)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPolicies(t *testing.T) {
	docs := flow(t, deployment("web", ""), deployment("api", ""), service("api"), dependency("web", "api", "http", "ready"))
	for _, c := range []struct{ name, file, want string }{
		{"document", `policies: [{name: few, match: {kinds: [Deployment], names: [web]}, rule: object.spec.replicas > 1, message: m, path: .spec}]`,
			`error policy:few 1 Deployment.apps default/web .spec: the policy cannot be evaluated: no such key: replicas; make the rule right for documents without the field: has(x.y), or x.?y.orValue(z)`},
		{"access", `policies: [{name: who, rule: 'edge.from.kind + "/" + edge.from.name != "Deployment/web"', severity: warning, messageExpression: 'edge.from.namespace + "/" + edge.from.name + " reaches " + edge.to.workloads.join() + ":" + string(edge.to.ports[0].port) + " " + edge.start + " by " + edge.dependency'}]`,
			`warning policy:who 4 Dependency.writ.dev default/d : default/web reaches Deployment/api:80 ready by d`},
		{"all access", `policies: [{name: none, rule: edges.size() == 0, message: no access at all}]`, `error policy:none 1  : no access at all`},
		{"constraint", "", `error policy:Service 3 Service default/api .spec.ports[0].port: invalid value 80 (out of bound >1024)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"p.yaml": c.file}
			if c.file == "" {
				files = map[string]string{"p.cue": "package p\n#Service: {spec: {ports: [...{port: >1024, ...}], ...}, ...}\n"}
			}
			r, err := check.Run(t.Context(), bundle(t, docs...), check.Subject{Policies: policies(t, files), Environment: "prod"})
			if err != nil {
				t.Fatal(err)
			}
			if got := lines(r); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
			for _, f := range r.Findings {
				if f.Object != "" && (len(f.Notes) != 1 || !strings.HasPrefix(f.Notes[0].Pos.File, "p.")) {
					t.Errorf("the notes are %+v, want one in the policy", f.Notes)
				}
				if len(f.Environments) != 1 || f.Environments[0] != "prod" {
					t.Errorf("environments are %v", f.Environments)
				}
			}
		})
	}
	// A policy that cannot be evaluated is a finding, not the end.
	r, err := check.Run(t.Context(), bundle(t, docs...), check.Subject{Policies: policies(t, map[string]string{"p.cue": "package p\n#Service: {x: nothing, ...}\n"})})
	if err != nil || r.Count(check.Error) != 1 || !strings.Contains(r.Findings[0].Message, "nothing") || r.Findings[0].Pos.File != "p.cue" {
		t.Errorf("got %v, %v", lines(r), err)
	}
}

func TestEnvironments(t *testing.T) {
	all := &check.Report{}
	for env, docs := range map[string][]string{"dev": {service("s"), deployment("a", `,"x":1`)}, "prod": {service("s"), deployment("a", `,"x":1`), deployment("b", `,"z":1`)}} {
		r, err := check.Run(t.Context(), bundle(t, docs...), check.Subject{Environment: env})
		if err != nil {
			t.Fatal(err)
		}
		all.Add(r)
	}
	if all.Checked() != 5 || len(all.Findings) != 2 || len(all.Findings[0].Environments) != 2 || len(all.Findings[1].Environments) != 1 {
		t.Errorf("%d checked, findings %+v", all.Checked(), all.Findings)
	}
}

func FuzzRun(f *testing.F) {
	for _, d := range append(flow(f, crd, thing("v1", "{size: 3}"), ingressDoc(80)), deployment("a", ""), service("a"), dependency("a", "b", "c", "ready"),
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"a":"b"}},"spec":{"containers":[{"env":[{"valueFrom":{"configMapKeyRef":{}}}]}]}}`,
		`{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"a"},"spec":[]}`) {
		f.Add(d, service("s"))
	}
	rules := policies(f, map[string]string{"p.yaml": `policies: [{name: a, rule: object.spec.x > 1}, {name: b, rule: 'edge.to.ports.all(p, p.port > 1)'}]`})
	f.Fuzz(func(t *testing.T, a, b string) {
		bundle := tryBundle(t, a, b)
		if bundle == nil {
			return
		}
		for _, target := range []check.Target{check.Writ, check.Kubernetes} {
			r, err := check.Run(t.Context(), bundle, check.Subject{Target: target, Policies: rules})
			if err != nil {
				t.Fatal(err)
			}
			if r.Checked()+r.Unchecked() != len(bundle.Documents) {
				t.Errorf("%d checked and %d unchecked of %d", r.Checked(), r.Unchecked(), len(bundle.Documents))
			}
		}
	})
}

func BenchmarkRun1000(b *testing.B) {
	var docs []string
	for i := range 250 {
		name := fmt.Sprintf("app-%d", i)
		docs = append(docs, deployment(name, `,"ports":[{"name":"http","containerPort":8080}],"env":[{"name":"A","value":"b"}],"resources":{"limits":{"cpu":"1","memory":"64Mi"}},"readinessProbe":{"httpGet":{"path":"/","port":"http"}}`),
			service(name), strings.Replace(flow(b, good)[0], `"good"`, `"`+name+`"`, 1),
			strings.Replace(dependency(name, name, "http", "none"), `"name":"d"`, `"name":"`+name+`"`, 1))
	}
	bun := bundle(b, docs...)
	rules := policies(b, map[string]string{"p.yaml": `policies:
- {name: pinned, match: {kinds: [Deployment]}, rule: 'object.spec.template.spec.containers.all(c, c.image.contains(":"))'}
- {name: own, rule: edge.from.namespace == edge.to.namespace}`})
	b.ResetTimer()
	for b.Loop() {
		r, err := check.Run(b.Context(), bun, check.Subject{Policies: rules})
		if err != nil || r.Checked() != 1000 || r.Count(check.Error) != 0 {
			b.Fatal(err, r.Summary(), diag.From(err))
		}
	}
}
