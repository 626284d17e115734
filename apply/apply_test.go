package apply_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/apply"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/registry"
	"github.com/writ-dev/writ/cluster/store"
	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// world is a registry over a real store; user is who applies.
type world struct {
	t        testing.TB
	registry *registry.Registry
	user     api.Client
	system   api.Client
}

func newWorld(t testing.TB) *world {
	t.Helper()
	s := store.New(store.Options{})
	r, err := registry.New(registry.Options{Store: s, Proposer: store.Local(s)})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, registry: r, user: r.As(registry.User{Name: "alice"}), system: r.As(registry.System)}
	w.create(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}}`)
	return w
}

func (w *world) create(text string) object.Object {
	w.t.Helper()
	o, err := object.Parse([]byte(text))
	if err != nil {
		w.t.Fatal(err)
	}
	if tree := o.Tree(); o.Kind() != "Namespace" {
		tree["metadata"].(map[string]any)["namespace"] = "default"
		if o, err = object.FromTree(tree); err != nil {
			w.t.Fatal(err)
		}
	}
	o, err = w.user.Create(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

func (w *world) get(k object.Key) object.Object {
	w.t.Helper()
	o, err := w.user.Get(w.t.Context(), k)
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// change updates an object as c, by changing its tree.
func (w *world) change(c api.Client, k object.Key, edit func(tree map[string]any)) {
	w.t.Helper()
	tree := w.get(k).Tree()
	edit(tree)
	o, err := object.FromTree(tree)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := c.Update(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) plan(b *render.Bundle) *apply.Plan {
	w.t.Helper()
	p, err := apply.Compute(w.t.Context(), w.user, b, apply.Options{Release: "app", By: "alice"})
	if err != nil {
		w.t.Fatalf("plan: %v", err)
	}
	return p
}

func (w *world) apply(b *render.Bundle) *apply.Plan {
	w.t.Helper()
	p := w.plan(b)
	if _, err := apply.Apply(w.t.Context(), w.user, p, apply.CommitOptions{Bundle: b}); err != nil {
		w.t.Fatalf("apply: %v", err)
	}
	return p
}

// documents is an evaluator for tests: JSON documents, one after the other.
type documents struct{}

func (documents) Eval(_ context.Context, p lang.Program) (*lang.Result, error) {
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
	b, err := render.Render(t.Context(), render.Options{
		FS:         fstest.MapFS{"app.json": {Data: []byte(strings.Join(docs, "\n"))}},
		Entry:      "app.json",
		Evaluators: map[render.Language]lang.Evaluator{render.YAML: documents{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func deployment(name, image string, more string) string {
	return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"` + name + `"},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"` + name + `"}},` +
		`"template":{"metadata":{"labels":{"app":"` + name + `"}},"spec":{"containers":[{"name":"main","image":"` + image + `"` + more + `}]}}}}`
}

func service(name string) string {
	return `{"apiVersion":"v1","kind":"Service","metadata":{"name":"` + name + `"},"spec":{"type":"NodePort","selector":{"app":"` + name + `"},"ports":[{"name":"http","port":80,"targetPort":8080},{"name":"dns","port":53,"protocol":"UDP"}]}}`
}

func configMap(name, key, value string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{%q:%q}}`, name, key, value)
}

func dependency(name, consumer, target, port string) string {
	return fmt.Sprintf(`{"apiVersion":"writ.dev/v1alpha1","kind":"Dependency","metadata":{"name":%q},"spec":{"consumer":{"kind":"Deployment","name":%q},"target":{"service":{"name":%q,"ports":[%q]}}}}`, name, consumer, target, port)
}

// full is a bundle with every kind that people write, in its shortest form, so
// that the server has the most to fill in.
func full(t testing.TB) *render.Bundle {
	return bundle(t,
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"data"}}`,
		`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"web"}}`,
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"creds"},"stringData":{"password":"hunter2-very-secret"},"data":{"token":"c2VjcmV0LXRva2Vu"}}`,
		configMap("conf", "a", "1"),
		service("web"),
		deployment("web", "web:1", `,"ports":[{"name":"http","containerPort":8080},{"name":"dns","containerPort":53,"protocol":"UDP"},{"name":"dns-tcp","containerPort":53}],"env":[{"name":"A","value":"1"},{"name":"P","valueFrom":{"secretKeyRef":{"name":"creds","key":"password"}}}],"readinessProbe":{"httpGet":{"path":"/","port":"http"}},"resources":{"requests":{"cpu":"1000m","memory":"1024Mi"}}`),
		dependency("web-store", "web", "store", "6379"),
		`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"once"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"j","image":"j:1"}]}}}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"lone"},"spec":{"containers":[{"name":"p","image":"p:1"}]}}`,
		configMap("other", "k", "v"),
	)
}

func actions(p *apply.Plan) map[string]apply.Action {
	out := map[string]apply.Action{}
	for _, o := range p.Objects {
		out[o.Key.Kind+"/"+o.Key.Name] = o.Action
	}
	return out
}

func TestPlanAfterApplyIsEmpty(t *testing.T) {
	w := newWorld(t)
	b := full(t)
	first := w.apply(b)
	if n := first.Count(apply.Create); n != len(b.Documents) {
		t.Errorf("first plan creates %d of %d: %v", n, len(b.Documents), actions(first))
	}
	second := w.plan(b)
	if !second.Empty() || second.Record != nil {
		var out bytes.Buffer
		_ = second.Print(&out, false)
		t.Errorf("second plan is not empty (record %v):\n%s", second.Record != nil, &out)
	}
}

func TestUpdateKeepsWhatOthersSet(t *testing.T) {
	w := newWorld(t)
	w.apply(bundle(t, deployment("web", "web:1", `,"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]`)))
	k := api.Deployment.Key("default", "web")
	w.change(w.user, k, func(tree map[string]any) {
		tree["metadata"].(map[string]any)["annotations"] = map[string]any{"team": "blue"}
		tree["spec"].(map[string]any)["minReadySeconds"] = json.Number("7")
	})
	next := bundle(t, deployment("web", "web:2", `,"env":[{"name":"A","value":"1"}]`))
	p := w.plan(next)
	var paths []string
	for _, c := range p.Objects[0].Changes {
		paths = append(paths, c.Path)
	}
	const container = ".spec.template.spec.containers[name=main]"
	if d := cmp.Diff([]string{container + ".env[name=B]", container + ".image"}, paths); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
	image := p.Objects[0].Changes[1]
	if image.Old != "web:1" || image.New != "web:2" || image.Pos.Line != 1 || image.Pos.Column < 2 {
		t.Errorf("image change is %+v", image)
	}
	if _, err := apply.Apply(t.Context(), w.user, p, apply.CommitOptions{Bundle: next}); err != nil {
		t.Fatal(err)
	}
	tree := w.get(k).Tree()
	if got := tree["spec"].(map[string]any)["minReadySeconds"]; got != json.Number("7") {
		t.Errorf("minReadySeconds is %v", got)
	}
	if got := w.get(k).Meta().Annotations["team"]; got != "blue" {
		t.Errorf("annotation is %q", got)
	}
	if p := w.plan(next); !p.Empty() {
		t.Errorf("plan after apply: %v", actions(p))
	}
}

func TestPruneByInventory(t *testing.T) {
	w := newWorld(t)
	w.apply(bundle(t, configMap("a", "k", "1"), configMap("b", "k", "1"), configMap("c", "k", "1")))
	w.create(strings.Replace(configMap("stranger", "k", "1"), `"name"`, `"labels":{"release":"app"},"name"`, 1))
	// c is no longer the one that the release made.
	if err := w.user.Delete(t.Context(), api.ConfigMap.Key("default", "c"), ""); err != nil {
		t.Fatal(err)
	}
	w.create(configMap("c", "k", "mine"))

	b := bundle(t, configMap("a", "k", "1"))
	p := w.apply(b)
	if d := cmp.Diff(map[string]apply.Action{"ConfigMap/a": apply.Unchanged, "ConfigMap/b": apply.Delete}, actions(p)); d != "" {
		t.Errorf("actions (-want +got):\n%s", d)
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "ConfigMap default/c") {
		t.Errorf("warnings are %q", p.Warnings)
	}
	for _, name := range []string{"a", "c", "stranger"} {
		w.get(api.ConfigMap.Key("default", name))
	}
	if _, err := w.user.Get(t.Context(), api.ConfigMap.Key("default", "b")); err == nil {
		t.Error("b is still there")
	}
	if p := w.plan(b); !p.Empty() || p.Record != nil {
		t.Errorf("plan after prune: %v", actions(p))
	}
}

func TestStalePlan(t *testing.T) {
	docs := []string{configMap("a", "k", "1"), configMap("b", "k", "1")}
	for _, c := range []struct {
		name  string
		spoil func(w *world)
		want  string
	}{
		{"a changed object", func(w *world) {
			w.change(w.user, api.ConfigMap.Key("default", "a"), func(tree map[string]any) { tree["data"] = map[string]any{"k": "hacked"} })
		}, "ConfigMap default/a: was changed"},
		{"a deleted object", func(w *world) {
			if err := w.user.Delete(w.t.Context(), api.ConfigMap.Key("default", "a"), ""); err != nil {
				w.t.Fatal(err)
			}
		}, "ConfigMap default/a: was deleted"},
		{"a created object", func(w *world) { w.create(configMap("new", "k", "x")) }, "ConfigMap default/new: was created"},
		{"an unchanged one that changed", func(w *world) {
			w.change(w.user, api.ConfigMap.Key("default", "b"), func(tree map[string]any) { tree["data"] = map[string]any{"k": "2"} })
		}, "ConfigMap default/b: was changed"},
		{"another application", func(w *world) { w.apply(bundle(w.t, append(docs, configMap("more", "k", "1"))...)) }, "Release.writ.dev default/app: was applied again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.apply(bundle(t, docs...))
			b := bundle(t, configMap("a", "k", "2"), docs[1], configMap("new", "k", "1"))
			p := w.plan(b)
			c.spoil(w)
			before, err := w.user.List(t.Context(), api.ConfigMap, api.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = apply.Apply(t.Context(), w.user, p, apply.CommitOptions{Bundle: b})
			var stale *apply.StaleError
			if !errors.As(err, &stale) {
				t.Fatalf("error is %v, want a StaleError", err)
			}
			if !strings.Contains(err.Error(), c.want) || len(diag.From(err)) == 0 || diag.From(err)[0].Code != "STALE" {
				t.Errorf("error is %q, want %q", err, c.want)
			}
			after, err := w.user.List(t.Context(), api.ConfigMap, api.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if before.Revision != after.Revision {
				t.Errorf("something was written: revision %d, then %d", before.Revision, after.Revision)
			}
		})
	}
}

// TestStatusIsNoDrift: controllers write status all the time.
func TestStatusIsNoDrift(t *testing.T) {
	w := newWorld(t)
	w.apply(bundle(t, deployment("web", "web:1", "")))
	b := bundle(t, deployment("web", "web:2", ""))
	p := w.plan(b)
	k := api.Deployment.Key("default", "web")
	tree := w.get(k).Tree()
	tree["status"] = map[string]any{"observedGeneration": 1, "replicas": 1}
	o, err := object.FromTree(tree)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.system.UpdateStatus(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.change(w.system, k, func(tree map[string]any) {
		tree["metadata"].(map[string]any)["annotations"] = map[string]any{"deployment.kubernetes.io/revision": "1"}
	})
	if _, err := apply.Apply(t.Context(), w.user, p, apply.CommitOptions{Bundle: b}); err != nil {
		t.Fatal(err)
	}
	live := w.get(k)
	if got := live.Meta().Annotations["deployment.kubernetes.io/revision"]; got != "1" {
		t.Errorf("the controller's mark is %q", got)
	}
	if !bytes.Contains(live.JSON(), []byte(`"web:2"`)) || !bytes.Contains(live.JSON(), []byte(`"observedGeneration"`)) {
		t.Errorf("live object is %s", live.JSON())
	}
}

func TestReplaceImmutable(t *testing.T) {
	w := newWorld(t)
	w.apply(bundle(t, deployment("web", "web:1", "")))
	k := api.Deployment.Key("default", "web")
	uid := w.get(k).Meta().UID
	b := bundle(t, strings.ReplaceAll(deployment("web", "web:1", ""), `"app":"web"`, `"app":"other"`))
	p := w.plan(b)
	if p.Objects[0].Action != apply.Replace || !strings.Contains(p.Objects[0].Why, "selector") {
		t.Fatalf("plan is %+v", p.Objects[0])
	}
	if _, err := apply.Apply(t.Context(), w.user, p, apply.CommitOptions{Bundle: b}); err != nil {
		t.Fatal(err)
	}
	if got := w.get(k).Meta().UID; got == uid {
		t.Error("the object was not replaced")
	}
	if p := w.plan(b); !p.Empty() || p.Record != nil {
		t.Errorf("plan after replacement: %v, record %v", actions(p), p.Record != nil)
	}
}

func TestSecretsStaySecret(t *testing.T) {
	w := newWorld(t)
	secret := func(password string) string {
		return `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"creds","annotations":{"note":"x"}},"stringData":{"password":"` + password + `"}}`
	}
	w.apply(bundle(t, secret("first-password")))
	b := bundle(t, secret("second-password"))
	b.Inputs = map[string]string{"password": "second-password", "env": "prod"}
	p := w.plan(b)
	var printed bytes.Buffer
	if err := p.Print(&printed, true); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(printed.String(), ".data.password: digest:") {
		t.Errorf("the change is not shown:\n%s", &printed)
	}

	var read apply.Plan
	if err := json.Unmarshal(encoded, &read); err != nil {
		t.Fatal(err)
	}
	if _, err := apply.Apply(t.Context(), w.user, &read, apply.CommitOptions{}); err == nil || !strings.Contains(err.Error(), "does not hold the values") {
		t.Errorf("applying a sealed plan by itself: %v", err)
	}
	if _, err := apply.Apply(t.Context(), w.user, &read, apply.CommitOptions{Bundle: b}); err != nil {
		t.Fatalf("applying a sealed plan with its bundle: %v", err)
	}
	live := w.get(api.Secret.Key("default", "creds"))
	if !bytes.Contains(live.JSON(), []byte("c2Vjb25kLXBhc3N3b3Jk")) {
		t.Errorf("live secret is %s", live.JSON())
	}
	release, err := api.Decode[api.Release](w.get(api.ReleaseKind.Key("default", "app")))
	if err != nil {
		t.Fatal(err)
	}
	if got := release.Spec.Inputs; got["password"] != "(secret)" || got["env"] != "prod" {
		t.Errorf("recorded inputs are %v", got)
	}
	docs := gunzip(t, release.Spec.Documents)
	for _, leak := range []string{"first-password", "second-password", "Zmlyc3QtcGFzc3dvcmQ", "c2Vjb25kLXBhc3N3b3Jk"} {
		for where, text := range map[string]string{"print": printed.String(), "JSON": string(encoded), "release": docs} {
			if strings.Contains(text, leak) {
				t.Errorf("%s holds %q", where, leak)
			}
		}
	}
	if p := w.plan(b); !p.Empty() || p.Record != nil {
		t.Errorf("plan after apply: %v", actions(p))
	}
}

func TestRefusalHasPosition(t *testing.T) {
	w := newWorld(t)
	b := bundle(t, configMap("a", "k", "1"), deployment("web", "web:1", `,"hostnme":"x"`))
	_, err := apply.Compute(t.Context(), w.user, b, apply.Options{Release: "app"})
	list := diag.From(err)
	if len(list) == 0 || list[0].Object != "Deployment.apps default/web" || list[0].Pos.Line != 2 || list[0].Pos.File != "app.json" {
		t.Fatalf("refusal is %+v (%v)", list, err)
	}
	b = bundle(t, deployment("web", "web:1", `,"ports":[{"containerPort":99999}]`))
	_, err = apply.Compute(t.Context(), w.user, b, apply.Options{Release: "app"})
	list = diag.From(err)
	want := b.Documents[0].Origin.Field(".spec.template.spec.containers[0].ports[0].containerPort")
	if len(list) != 1 || list[0].Path != ".spec.template.spec.containers[0].ports[0].containerPort" || list[0].Pos != want {
		t.Errorf("refusal is %+v, want it at %v", list, want)
	}
}

func TestOwnershipBetweenReleases(t *testing.T) {
	w := newWorld(t)
	b := bundle(t, configMap("a", "k", "1"))
	w.apply(b)
	_, err := apply.Compute(t.Context(), w.user, b, apply.Options{Release: "thief"})
	if err == nil || !strings.Contains(err.Error(), "belongs to release default/app") {
		t.Errorf("error is %v", err)
	}
	w.create(configMap("found", "other", "1"))
	both := bundle(t, configMap("a", "k", "1"), configMap("found", "k", "1"))
	_, err = apply.Compute(t.Context(), w.user, both, apply.Options{Release: "app"})
	if err == nil || !strings.Contains(err.Error(), "ConfigMap default/found: exists already, and is not of this release") {
		t.Errorf("error is %v", err)
	}
	p, err := apply.Compute(t.Context(), w.user, both, apply.Options{Release: "app", Adopt: true})
	if err != nil {
		t.Fatal(err)
	}
	if o := p.Objects[1]; o.Action != apply.Update || !strings.Contains(o.Why, "takes it over") {
		t.Errorf("adoption is planned as %+v", o)
	}
}

// TestHandOver moves an object from one release to another: it is never
// deleted, and fields that only the old release wrote go.
func TestHandOver(t *testing.T) {
	w := newWorld(t)
	labelled := strings.Replace(configMap("a", "k", "1"), `"name"`, `"labels":{"old":"yes"},"name"`, 1)
	w.apply(bundle(t, labelled, configMap("b", "k", "1")))
	k := api.ConfigMap.Key("default", "a")
	uid := w.get(k).Meta().UID
	b := bundle(t, configMap("a", "k", "2"))
	p, err := apply.Compute(t.Context(), w.user, b, apply.Options{Release: "new", Adopt: true})
	if err != nil {
		t.Fatal(err)
	}
	if o := p.Objects[0]; o.Action != apply.Update || o.From != "default/app" || len(p.Others) != 1 {
		t.Fatalf("planned as %+v", o)
	}
	var out bytes.Buffer
	if err := p.Print(&out, false); err != nil || !strings.Contains(out.String(), "taken over from release default/app") {
		t.Errorf("printed (%v):\n%s", err, &out)
	}
	if _, err := apply.Apply(t.Context(), w.user, p, apply.CommitOptions{Bundle: b}); err != nil {
		t.Fatal(err)
	}
	live := w.get(k)
	if live.Meta().UID != uid || live.Meta().Labels["old"] != "" {
		t.Errorf("object is %s", live.JSON())
	}
	// The old release, without the object, has nothing to delete.
	old := w.plan(bundle(t, configMap("b", "k", "1")))
	if !old.Empty() || len(old.Objects) != 1 {
		t.Errorf("the old release plans %v", actions(old))
	}
	if _, err := apply.Compute(t.Context(), w.user, bundle(t, labelled), apply.Options{Release: "app"}); err == nil || !strings.Contains(err.Error(), "belongs to release default/new") {
		t.Errorf("error is %v", err)
	}
}

func TestImpact(t *testing.T) {
	w := newWorld(t)
	base := []string{deployment("web", "web:1", ""), deployment("api", "api:1", "")}
	w.apply(bundle(t, append(base, dependency("d1", "web", "store", "6379"), dependency("d2", "web", "api", "80"), dependency("d3", "web", "api", "80"))...))
	p := w.plan(bundle(t, append(base, dependency("d1", "web", "store", "6380"), dependency("d3", "web", "api", "80"))...))
	want := [][]apply.Access{
		{{Namespace: "default", Consumer: "Deployment/web", Target: "default/store:6380", Pos: p.Opened[0].Pos}},
		{{Namespace: "default", Consumer: "Deployment/web", Target: "default/store:6379"}},
	}
	if d := cmp.Diff(want, [][]apply.Access{p.Opened, p.Closed}); d != "" {
		t.Errorf("opened and closed (-want +got):\n%s", d)
	}
	if p.Opened[0].Pos.Line != 3 {
		t.Errorf("position is %v", p.Opened[0].Pos)
	}
	var out bytes.Buffer
	if err := p.Print(&out, false); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"release default/app: 1 to change, 1 to delete, 3 unchanged",
		"  ~ Dependency.writ.dev default/d1",
		`      .spec.target.service.ports[0]: 6379 -> 6380`,
		"  - Dependency.writ.dev default/d2: no longer in the bundle",
		"  + default/Deployment/web may now reach default/store:6380",
		"  - default/Deployment/web may no longer reach default/store:6379",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("printed plan lacks %q:\n%s", line, &out)
		}
	}
}

func TestPlanIsAValue(t *testing.T) {
	w := newWorld(t)
	b := bundle(t, configMap("a", "k", "1"), deployment("web", "web:1", ""))
	p := w.plan(b)
	encoded, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var read apply.Plan
	if err := json.Unmarshal(encoded, &read); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(&read)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(encoded), string(again)); d != "" {
		t.Errorf("plan read back differs:\n%s", d)
	}
	res, err := apply.Apply(t.Context(), w.user, &read, apply.CommitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Objects) != 2 {
		t.Errorf("result has %d objects", len(res.Objects))
	}
	if p := w.plan(b); !p.Empty() || p.Record != nil {
		t.Errorf("plan after apply: %v", actions(p))
	}
}

func TestPrintIsHarmless(t *testing.T) {
	w := newWorld(t)
	w.apply(bundle(t, configMap("a", "k", "1")))
	text := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"\u001b[2J\u009b2Jx"}}`
	var out bytes.Buffer
	if err := w.plan(bundle(t, text)).Print(&out, false); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\u009b") || !strings.Contains(out.String(), `.data.k: 1 -> "\u001b[2J`) {
		t.Errorf("printed %q", out.String())
	}
}

func TestCascade(t *testing.T) {
	w := newWorld(t)
	b := bundle(t, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"data"}}`,
		strings.Replace(configMap("c", "k", "1"), `"name"`, `"namespace":"data","name"`, 1), configMap("keep", "k", "1"), deployment("web", "web:1", ""))
	w.apply(b)
	k := api.Deployment.Key("default", "web")
	rs := w.as(w.system, `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web-1","namespace":"default",`+owner(w.get(k))+`},"spec":{"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"main","image":"web:1"}]}}}}`)
	w.as(w.system, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-1-x","namespace":"default",`+owner(rs)+`},"spec":{"containers":[{"name":"main","image":"web:1"}]}}`)
	w.as(w.system, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"stranger","namespace":"data"}}`)
	p := w.plan(bundle(t, configMap("keep", "k", "1")))
	got := map[string][]string{}
	for _, o := range p.Objects {
		for _, k := range o.Cascade {
			got[o.Key.Kind] = append(got[o.Key.Kind], k.Kind+"/"+k.Name)
		}
	}
	want := map[string][]string{"Deployment": {"ReplicaSet/web-1", "Pod/web-1-x"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("cascades (-want +got):\n%s", d)
	}
	// The namespace holds what somebody else made, and is kept; it goes when it
	// is empty.
	if got := actions(p)["Namespace/data"]; got != apply.Keep {
		t.Errorf("the namespace is to %s", got)
	}
	rest := bundle(t, configMap("keep", "k", "1"))
	w.apply(rest)
	w.get(api.Namespace.Key("", "data"))
	if p := w.plan(rest); !p.Empty() || p.Record != nil {
		t.Errorf("next plan: %v, record %v", actions(p), p.Record != nil)
	}
	if err := w.system.Delete(t.Context(), api.Secret.Key("data", "stranger"), ""); err != nil {
		t.Fatal(err)
	}
	if got := actions(w.plan(rest))["Namespace/data"]; got != apply.Delete {
		t.Errorf("the empty namespace is to %s", got)
	}
}

func TestMissingNamespace(t *testing.T) {
	w := newWorld(t)
	b := bundle(t, strings.Replace(configMap("c", "k", "1"), `"name"`, `"namespace":"nope","name"`, 1))
	_, err := apply.Compute(t.Context(), w.user, b, apply.Options{Release: "app"})
	list := diag.From(err)
	if len(list) != 1 || list[0].Message != "namespace nope does not exist" || list[0].Hint == "" || list[0].Pos.Line != 1 {
		t.Errorf("refusal is %+v", list)
	}
}

// TestLibraryAppsHaveNoFalseDiff applies what the standard library makes.
func TestLibraryAppsHaveNoFalseDiff(t *testing.T) {
	root, err := os.OpenRoot("../stdlib/testdata")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, inputs := range map[string]map[string]string{"small": nil, "many": nil, "full": {"image_web": "web:1"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`)
			b, err := render.Render(t.Context(), render.Options{FS: root.FS(), Entry: name + "/app.cue", Inputs: inputs})
			if err != nil {
				t.Fatal(err)
			}
			if p := w.apply(b); p.Count(apply.Create) != len(b.Documents) {
				t.Errorf("first plan: %v", actions(p))
			}
			if p := w.plan(b); !p.Empty() || p.Record != nil {
				t.Errorf("second plan: %v, record %v", actions(p), p.Record != nil)
			}
		})
	}
}

// TestChangeBackAndForth changes one object in ways that servers find hard.
func TestChangeBackAndForth(t *testing.T) {
	w := newWorld(t)
	port := `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{%s"selector":{"app":"s"},"ports":[%s]}}`
	strategy := strings.Replace(deployment("web", "web:1", ""), `"replicas":2`, `"replicas":2,"strategy":{"type":"Recreate"}`, 1)
	for i, docs := range [][]string{
		{fmt.Sprintf(port, ``, `{"port":80}`), deployment("web", "web:1", "")},
		{fmt.Sprintf(port, `"type":"NodePort",`, `{"port":80}`), strategy},
		{fmt.Sprintf(port, `"type":"NodePort",`, `{"port":80,"name":"a"},{"port":80,"name":"b","protocol":"UDP"}`), deployment("web", "web:1", `,"env":[{"name":"A","value":"1"}]`)},
		{fmt.Sprintf(port, ``, `{"port":80,"name":"b","protocol":"UDP"}`), deployment("web", "web:1", `,"env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]`)},
		{fmt.Sprintf(port, ``, `{"port":81}`), deployment("web", "web:1", `,"readinessProbe":{"tcpSocket":{"port":80}}`)},
		{fmt.Sprintf(port, ``, `{"port":81}`), deployment("web", "web:1", `,"readinessProbe":{"httpGet":{"port":80}}`)},
		{fmt.Sprintf(port, ``, `{"port":80}`), deployment("web", "web:1", "")},
	} {
		b := bundle(t, docs...)
		if p := w.apply(b); i > 0 && p.Empty() {
			t.Errorf("step %d changes nothing", i)
		}
		if p := w.plan(b); !p.Empty() || p.Record != nil {
			var out bytes.Buffer
			_ = p.Print(&out, false)
			t.Errorf("step %d is not stable:\n%s", i, &out)
		}
	}
	spec := w.get(api.Service.Key("default", "s")).Tree()["spec"].(map[string]any)
	if spec["ports"].([]any)[0].(map[string]any)["nodePort"] != nil {
		t.Errorf("a node port is left: %v", spec)
	}
}

// FuzzPlan applies plans as they may come from a file: whatever it holds,
// nothing panics.
func FuzzPlan(f *testing.F) {
	w := newWorld(f)
	b := bundle(f, configMap("a", "k", "1"))
	p, err := apply.Compute(f.Context(), w.user, b, apply.Options{Release: "app"})
	if err != nil {
		f.Fatal(err)
	}
	encoded, err := json.Marshal(p)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encoded)
	for _, s := range []string{
		`{}`, `{"objects":[{}]}`, `{"objects":[{"key":{"kind":"ConfigMap","name":"a"},"action":"delete"}]}`,
		`{"objects":[{"key":{"kind":"ConfigMap","name":"a"},"action":"update","base":{}}]}`,
		`{"objects":[{"key":{"kind":"Secret","name":"a"},"action":"create","sealed":true}]}`,
		`{"objects":[],"record":{}}`, `{"record":{"object":{"apiVersion":"v1","kind":"Pod","metadata":{}}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _, _ = apply.Decode(text)
		var p apply.Plan
		if json.Unmarshal(text, &p) != nil || len(p.Objects) > 100 {
			t.Skip()
		}
		_ = p.Print(io.Discard, true)
		_, _ = apply.Apply(t.Context(), w.user, &p, apply.CommitOptions{})
	})
}
