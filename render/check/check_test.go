package check_test

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/check"
)

type stream struct{}

func (stream) Eval(_ context.Context, p lang.Program) (*lang.Result, error) {
	text, err := fs.ReadFile(p.FS, p.Entry)
	if err != nil {
		return nil, err
	}
	values, err := lang.ParseJSONStream(p.Entry, text)
	if err != nil {
		return nil, err
	}
	return &lang.Result{Value: lang.Value{Kind: lang.List, Items: values}}, nil
}

func bundle(t testing.TB, docs ...string) *render.Bundle {
	t.Helper()
	b := tryBundle(t, docs...)
	if b == nil {
		t.Fatalf("cannot be rendered:\n%s", strings.Join(docs, "\n"))
	}
	return b
}

// tryBundle is nil when there is nothing to check.
func tryBundle(t testing.TB, docs ...string) *render.Bundle {
	t.Helper()
	b, err := render.Render(t.Context(), render.Options{
		FS:         fstest.MapFS{"a.json": {Data: []byte(strings.Join(docs, "\n"))}},
		Entry:      "a.json",
		Evaluators: map[render.Language]lang.Evaluator{render.YAML: stream{}},
	})
	if err != nil {
		return nil
	}
	return b
}

func deployment(name, container string) string {
	return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"` + name + `"},"spec":{"selector":{"matchLabels":{"app":"` + name + `"}},"template":{"metadata":{"labels":{"app":"` + name + `"}},"spec":{"containers":[{"name":"c","image":"i:1"` + container + `}]}}}}`
}

func service(name string) string {
	return `{"apiVersion":"v1","kind":"Service","metadata":{"name":"` + name + `"},"spec":{"selector":{"app":"` + name + `"},"ports":[{"name":"http","port":80}]}}`
}

func dependency(consumer, target, port, start string) string {
	return `{"apiVersion":"writ.dev/v1alpha1","kind":"Dependency","metadata":{"name":"d"},"spec":{"consumer":{"kind":"Deployment","name":"` + consumer + `"},"start":"` + start + `","target":{"service":{"name":"` + target + `","ports":["` + port + `"]}}}}`
}

func TestBundle(t *testing.T) {
	for _, c := range []struct {
		name string
		docs []string
		// want is a part of each error, in order; code of the first.
		want []string
		code string
		hint string
	}{
		{name: "good", docs: []string{deployment("web", ""), deployment("api", ""), service("api"), dependency("web", "api", "http", "ready")}},
		{name: "unknown field", docs: []string{service("s"), deployment("web", `,"imagePullPolcy":"Never"`)}, code: "UnknownField",
			want: []string{`a.json:2:216: Deployment.apps default/web: .spec.template.spec.containers[0].imagePullPolcy: `}, hint: "imagePullPolicy"},
		{name: "wrong type", docs: []string{deployment("web", `,"stdin":"yes"`)}, code: "FieldValueTypeInvalid", want: []string{`.spec.template.spec.containers[0].stdin: must be true or false`}},
		{name: "bad value", docs: []string{deployment("web", `,"ports":[{"containerPort":0}]`)}, want: []string{`containers[0].ports[0].containerPort`}},
		{name: "unknown kind", docs: []string{strings.Replace(service("s"), "Service", "Servce", 1)}, code: "UnknownKind", want: []string{"a.json:1:20: Servce s: .kind: kind Servce of v1 is not served"}, hint: `did you mean "Service"?`},
		{name: "wrong group", docs: []string{strings.Replace(deployment("web", ""), "apps/v1", "extensions/v1beta1", 1)}, code: "UnknownKind", want: []string{".apiVersion: kind Deployment of extensions/v1beta1"}, hint: "use apiVersion: apps/v1"},
		{name: "cluster-scoped in a namespace", docs: []string{`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","namespace":"b"}}`}, want: []string{"lives in no namespace"}},
		{name: "cluster's own kind", docs: []string{`{"apiVersion":"writ.dev/v1alpha1","kind":"Grant","metadata":{"name":"g"},"spec":{}}`}, code: "DEP012", want: []string{"only the cluster"}},
		{name: "no such port", docs: []string{deployment("web", ""), service("api"), dependency("web", "api", "htp", "none")}, code: "DEP002", want: []string{"a.json:3:"}, hint: `did you mean "http"?`},
		{name: "waits for itself", docs: []string{deployment("web", ""), service("web"), dependency("web", "web", "80", "ready")}, code: "DEP005", want: []string{"wait for itself"}},
		{name: "all that is wrong", docs: []string{deployment("a", `,"x":1`), deployment("b", `,"y":1`)}, want: []string{"a.json:1:", "a.json:2:"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := bundle(t, c.docs...)
			report, err := check.Bundle(t.Context(), b, check.Options{})
			list := diag.From(err)
			if len(list) != len(c.want) {
				t.Fatalf("got %d errors, want %d:\n%v", len(list), len(c.want), err)
			}
			for i, want := range c.want {
				if !strings.Contains(list[i].Error(), want) {
					t.Errorf("error %d is %q, want %q", i, list[i].Error(), want)
				}
			}
			if len(list) > 0 && (c.code != "" && list[0].Code != c.code || !strings.Contains(list[0].Hint, c.hint)) {
				t.Errorf("code %q, hint %q; want %q, %q", list[0].Code, list[0].Hint, c.code, c.hint)
			}
			if report.Checked+len(report.Unchecked) != len(c.docs) {
				t.Errorf("%d checked and %d unchecked of %d", report.Checked, len(report.Unchecked), len(c.docs))
			}
		})
	}
}

func TestUnknownKindsAreCounted(t *testing.T) {
	b := bundle(t, service("s"), `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t"}}`)
	report, err := check.Bundle(t.Context(), b, check.Options{AllowUnknown: true})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"Thing.example.com t"}, report.Unchecked); d != "" || report.Checked != 1 {
		t.Errorf("checked %d, unchecked (-want +got):\n%s", report.Checked, d)
	}
}

// TestCronJobConsumes: it is not served, and declares dependencies all the same.
func TestCronJobConsumes(t *testing.T) {
	const cron = `{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"web"},"spec":{"schedule":"@daily","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i:1"}]}}}}}}`
	uses := strings.Replace(dependency("web", "api", "80", "none"), `"Deployment"`, `"CronJob"`, 1)
	b := bundle(t, cron, uses)
	verdict, err := check.Bundle(t.Context(), b, check.Options{AllowUnknown: true})
	if err != nil || len(verdict.Warnings) > 0 {
		t.Errorf("the gate says %v and %v", err, verdict.Warnings)
	}
	for _, target := range []check.Target{check.Writ, check.Kubernetes} {
		report, err := check.Run(t.Context(), b, check.Subject{Target: target})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Findings {
			if f.Code != check.CodeNotServed {
				t.Errorf("for %s: %v", target, f.Diagnostic)
			}
		}
	}
}

func TestConsumerElsewhereIsAWarning(t *testing.T) {
	report, err := check.Bundle(t.Context(), bundle(t, deployment("web", ""), dependency("wbe", "api", "80", "none")), check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(report.Warnings, func(d diag.Diagnostic) bool { return d.Code == "DEP001" })
	if i < 0 || report.Warnings[i].Hint != `did you mean "web"?` || report.Warnings[i].Pos.Line != 2 {
		t.Errorf("warnings are %+v", report.Warnings)
	}
}
