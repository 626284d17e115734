package rendertest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/writ-dev/writ/render/rendertest"
)

const guestbook = "../../examples/guestbook"

// TestGuestbook is how a user's own test looks.
func TestGuestbook(t *testing.T) {
	b := rendertest.Render(t, guestbook, rendertest.Options{
		Inputs: map[string]string{"image_web": "registry.example/web:2"},
	})
	b.Count("Deployment", 4)
	b.Absent("Dependency", "web-store")

	web := b.Get("Deployment", "web")
	web.Field(".spec.template.spec.containers[name=web].image", "registry.example/web:2")
	web.Field(".spec.strategy", nil)
	web.Match(map[string]any{
		"metadata": map[string]any{"namespace": "default"},
		"spec":     map[string]any{"replicas": 2, "paused": nil},
	})
	var d appsv1.Deployment
	web.Decode(&d)
	if d.Spec.Template.Spec.ServiceAccountName != "web" {
		t.Errorf("the web runs as %q", d.Spec.Template.Spec.ServiceAccountName)
	}

	b.GetIn("default", "Dependency", "web-api").Field("spec.target.service", map[string]any{
		"name": "api", "ports": []string{"8080"},
	})
	for _, d := range b.Kind("Service") {
		d.Field(`.metadata.labels["app.kubernetes.io/name"]`, d.Object.Name())
	}
	rendertest.Fails(t, guestbook, rendertest.Options{Inputs: map[string]string{"image_web": "no image"}}, "image")
}

// TestTwins checks that both languages give the documents of one golden file.
func TestTwins(t *testing.T) {
	for _, entry := range []string{"guestbook.cue", "jsonnet"} {
		rendertest.Render(t, guestbook, rendertest.Options{Entry: entry}).Golden("testdata/guestbook.yaml")
	}
}

// recorder is a test whose failures are looked at.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// failuresOf runs do as a test of its own and returns what it reports.
func failuresOf(t *testing.T, do func(t testing.TB)) string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(r)
	}()
	<-done
	return strings.Join(r.failures, "\n---\n")
}

func project(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"writ.yaml":    "name: x\nunits: {a: a.jsonnet, b: b.jsonnet}\nenvironments: {dev: {}, prod: {inputs: {n: 3}}}\nimages: {web: {go: web}}\n",
		"a.jsonnet":    "function(n='1', image_web)\n{\n  apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' },\n  data: { n: n, image: image_web, text: 'x\\ny\\n' },\n}\n",
		"b.jsonnet":    "{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'b' } }\n",
		"also.jsonnet": "[{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: n } } for n in ['one', 'two']]",
		"bad.yaml":     "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {replica: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestSelects(t *testing.T) {
	dir := project(t)
	b := rendertest.Render(t, dir, rendertest.Options{Env: "prod"})
	b.Get("ConfigMap", "a").Match(map[string]any{"data": map[string]any{"n": "3", "image": "x/web:test"}})
	b.Count("ConfigMap", 2)
	rendertest.Render(t, dir, rendertest.Options{Env: "dev", Units: []string{"b"}}).Absent("ConfigMap", "a")
	rendertest.Render(t, dir, rendertest.Options{Env: "dev", Entry: "bad.yaml", Unchecked: true}).Get("Deployment", "x")
	l := rendertest.Fails(t, dir, rendertest.Options{Env: "dev", Entry: "bad.yaml"}, `bad.yaml:4:8: .*no field "replica"`)
	if len(l) != 1 {
		t.Errorf("%d problems: %v", len(l), l)
	}
}

func TestFailures(t *testing.T) {
	dir := project(t)
	prod := rendertest.Options{Env: "prod"}
	for name, c := range map[string]struct {
		do   func(t testing.TB)
		want string
	}{
		"does not render": {
			func(t testing.TB) { rendertest.Render(t, dir, rendertest.Options{}) },
			`the project has environments: dev, prod`,
		},
		"no document": {
			func(t testing.TB) { rendertest.Render(t, dir, prod).Get("ConfigMap", "c"); t.Errorf("not reached") },
			`(?s)^there is no ConfigMap c; there is\n\t\S*a\.jsonnet:\d+:\d+: ConfigMap default/a\n\t\S*b\.jsonnet\S*: ConfigMap default/b$`,
		},
		"several": {
			func(t testing.TB) {
				rendertest.Render(t, dir, rendertest.Options{Env: "prod", Entry: "also.jsonnet"}).Get("ConfigMap", "a")
			},
			`there are 2 of ConfigMap a:\n.*ConfigMap one/a\n.*ConfigMap two/a`,
		},
		"match": {
			func(t testing.TB) {
				rendertest.Render(t, dir, prod).Get("ConfigMap", "a").Match(map[string]any{"data": map[string]any{"n": "4", "text": "x\nz\n", "image": nil}})
			},
			`(?s)ConfigMap default/a: \.data\.image is "x/web:test", want none\n\t\S*a\.jsonnet:4:17: written here.*\.data\.n is "3", want "4".*-z\n\+y\n`,
		},
		"equal": {
			func(t testing.TB) {
				rendertest.Render(t, dir, prod).Get("ConfigMap", "b").Equal(map[string]any{"kind": "ConfigMap"})
			},
			`(?s)\.apiVersion is "v1", want none.*\.metadata is .* want none`,
		},
		"field": {
			func(t testing.TB) {
				a := rendertest.Render(t, dir, prod).Get("ConfigMap", "a")
				a.Field("data.n", "4")
				a.Field(".data.x", 1)
				a.Field("data", nil)
			},
			`(?s)\.data\.n is "3", want "4"\n\t\S*a\.jsonnet:4:11: written here\n---\n.*\.data\.x is missing, want 1.*\.data is \{.*want none`,
		},
		"count": {
			func(t testing.TB) { rendertest.Render(t, dir, prod).Count("ConfigMap", 1) },
			`there are 2 documents of kind ConfigMap, want 1:\n\t`,
		},
		"absent": {
			func(t testing.TB) { rendertest.Render(t, dir, prod).Absent("ConfigMap", "a") },
			`there is a ConfigMap a:\n\t\S*a\.jsonnet`,
		},
		"decode": {
			func(t testing.TB) {
				rendertest.Render(t, dir, prod).Get("ConfigMap", "a").Decode(new(appsv1.Deployment))
			},
			`decode ConfigMap default/a into a \*v1\.Deployment: json: unknown field "data"`,
		},
		"encode": {
			func(t testing.TB) { rendertest.Render(t, dir, prod).Get("ConfigMap", "a").Equal(func() {}) },
			`encode what ConfigMap default/a must be: json: unsupported type`,
		},
		"fails not": {
			func(t testing.TB) { rendertest.Fails(t, dir, prod, "x") },
			`renders, though it must fail with a message that matches "x"`,
		},
		"fails otherwise": {
			func(t testing.TB) { rendertest.Fails(t, dir, rendertest.Options{Env: "no"}, "other words") },
			`(?s)fails, but no message matches "other words":\nerror: .*no environment "no"`,
		},
		"bad expression": {
			func(t testing.TB) { rendertest.Fails(t, dir, prod, "(") },
			`missing closing`,
		},
		"no golden file": {
			func(t testing.TB) { rendertest.Render(t, dir, prod).Golden(filepath.Join(dir, "none.yaml")) },
			`there is no \S*none\.yaml; write it with WRIT_UPDATE=1`,
		},
		"another golden file": {
			func(t testing.TB) { rendertest.Render(t, dir, prod).Golden(filepath.Join(dir, "bad.yaml")) },
			`(?s)the documents are not those of .*\n-kind: Deployment\n`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if os.Getenv("WRIT_UPDATE") == "1" && strings.Contains(name, "golden") {
				t.Skip("golden files are being written")
			}
			if got := failuresOf(t, c.do); !regexp.MustCompile(c.want).MatchString(got) || strings.Contains(got, "not reached") {
				t.Errorf("the failures are\n%s\nwant a match of %s", got, c.want)
			}
		})
	}
}

func TestUpdate(t *testing.T) {
	dir := project(t)
	file := filepath.Join(dir, "new", "golden.yaml")
	t.Setenv("WRIT_UPDATE", "1")
	b := rendertest.Render(t, dir, rendertest.Options{Env: "prod"})
	b.Golden(file)
	t.Setenv("WRIT_UPDATE", "")
	b.Golden(file)
}
