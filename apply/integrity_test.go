package apply_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/apply"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/registry"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// with is a client for a user who writes with a program.
func (w *world) with(user, program string) api.Client {
	return w.registry.As(registry.User{Name: user, Manager: program})
}

func encode(t testing.TB, p *apply.Plan) []byte {
	t.Helper()
	text, _, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestBadPlanFiles: whatever is wrong with a plan's file is told, and never
// applied.
func TestBadPlanFiles(t *testing.T) {
	w := newWorld(t)
	good := encode(t, w.plan(bundle(t, configMap("a", "k", "1"))))
	if !apply.IsPlan(good) {
		t.Errorf("not taken for a plan: %s", good)
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "empty"},
		{"cut off", string(good[:len(good)/2]), "is cut off after"},
		{"edited", strings.Replace(string(good), `\"k\":\"1\"`, `\"k\":\"2\"`, 1), ""},
		{"edited value", strings.Replace(string(good), `"data":{"k":"1"}`, `"data":{"k":"2"}`, 1), "was changed after it was made"},
		{"another version", strings.Replace(string(good), "plan/v1", "plan/v9", 1), `has format "writ.dev/plan/v9"`},
		{"something else", `{"kind":"ConfigMap"}`, "not a plan"},
		{"no JSON", "hello", "not a plan"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.want == "" && c.text == string(good) {
				t.Skip("nothing to edit")
			}
			_, _, err := apply.Decode([]byte(c.text))
			if list := diag.From(err); len(list) != 1 || list[0].Code != "PLAN" || list[0].Hint == "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
		})
	}
	if _, _, err := apply.Decode(good); err != nil {
		t.Errorf("the plan as it was: %v", err)
	}
}

// forge edits a plan and makes it look untouched.
func forge(t testing.TB, text []byte, edit func(plan map[string]any)) *apply.Plan {
	t.Helper()
	var f struct{ Plan json.RawMessage }
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	v, err := object.Unmarshal(f.Plan)
	if err != nil {
		t.Fatal(err)
	}
	edit(v.(map[string]any))
	b, err := object.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var p apply.Plan
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	p2, _, err := apply.Decode(encode(t, &p))
	if err != nil {
		t.Fatal(err)
	}
	return p2
}

// TestForgedPlans: a plan that would do other than it says is refused, even
// when its checksum is right.
func TestForgedPlans(t *testing.T) {
	object0 := func(plan map[string]any) map[string]any { return plan["objects"].([]any)[0].(map[string]any) }
	for _, c := range []struct {
		name, want string
		edit       func(plan map[string]any)
	}{
		{"another value", ".data.k", func(plan map[string]any) {
			object0(plan)["object"].(map[string]any)["data"] = map[string]any{"k": "evil"}
		}},
		{"a change that is not told", ".data.more", func(plan map[string]any) {
			object0(plan)["object"].(map[string]any)["data"] = map[string]any{"k": "2", "more": "x"}
		}},
		{"another inventory", "names an object that the plan does not have", func(plan map[string]any) {
			rec := plan["record"].(map[string]any)["object"].(map[string]any)["spec"].(map[string]any)
			rec["inventory"] = append(rec["inventory"].([]any), map[string]any{"kind": "ConfigMap", "namespace": "default", "name": "victim"})
		}},
		{"access", "open and close the access", func(plan map[string]any) { delete(plan, "opened") }},
		{"an object more", "leaves objects of the plan out", func(plan map[string]any) {
			var more map[string]any
			if err := json.Unmarshal([]byte(`{"key":{"kind":"ConfigMap","namespace":"default","name":"x"},"action":"create","object":`+strings.Replace(configMap("x", "k", "1"), `"name"`, `"namespace":"default","name"`, 1)+`}`), &more); err != nil {
				t.Fatal(err)
			}
			plan["objects"] = append(plan["objects"].([]any), more)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.create(configMap("victim", "k", "1"))
			w.apply(bundle(t, configMap("a", "k", "1"), deployment("web", "web:1", "")))
			text := encode(t, w.plan(bundle(t, configMap("a", "k", "2"), deployment("web", "web:1", ""), dependency("d", "web", "store", "6379"))))
			honest, _, err := apply.Decode(text)
			if err != nil {
				t.Fatal(err)
			}
			_, err = apply.Apply(t.Context(), w.user, forge(t, text, c.edit), apply.CommitOptions{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
			if _, err := apply.Apply(t.Context(), w.user, honest, apply.CommitOptions{}); err != nil {
				t.Errorf("the plan as it was made: %v", err)
			}
		})
	}
}

func TestForeignPlan(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	for _, w := range []*world{w, other} {
		w.create(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system"}}`)
	}
	p := w.plan(bundle(t, configMap("a", "k", "1")))
	_, err := apply.Apply(t.Context(), other.user, p, apply.CommitOptions{})
	if err == nil || !strings.Contains(err.Error(), "was made for another cluster") {
		t.Errorf("error is %v", err)
	}
}

// TestThreeWay: who changed what a plan is about is told field by field.
func TestThreeWay(t *testing.T) {
	w := newWorld(t)
	w.user = w.with("alice", api.ManagerApply)
	w.apply(bundle(t, configMap("a", "k", "1")))
	p := w.plan(bundle(t, configMap("a", "k", "2")))
	w.change(w.with("bob", "kubectl-edit"), api.ConfigMap.Key("default", "a"), func(tree map[string]any) { tree["data"] = map[string]any{"k": "hacked"} })
	_, err := apply.Apply(t.Context(), w.user, p, apply.CommitOptions{})
	var stale *apply.StaleError
	if !errors.As(err, &stale) || len(stale.Moved) != 1 || len(stale.Moved[0].Deltas) != 1 {
		t.Fatalf("error is %v", err)
	}
	d := stale.Moved[0].Deltas[0]
	if d.Path != ".data.k" || d.Base != "1" || d.Live != "hacked" || d.Wanted != "2" || !strings.HasPrefix(d.By, "kubectl-edit at 2") {
		t.Errorf("delta is %+v", d)
	}
	if note := diag.From(err)[0].Notes[0].Text; !strings.Contains(note, ".data.k: was 1, is now hacked, set by kubectl-edit") || !strings.HasSuffix(note, "; the plan wants 2") {
		t.Errorf("note is %q", note)
	}
}

// TestRace applies one plan by many at once: one wins, and the others are told.
func TestRace(t *testing.T) {
	for range 20 {
		w := newWorld(t)
		w.apply(bundle(t, configMap("a", "k", "1")))
		const racers = 4
		plans := make([]*apply.Plan, racers)
		for i := range plans {
			b := bundle(t, configMap("a", "k", strings.Repeat("x", i+2)))
			p, err := apply.Compute(t.Context(), w.user, b, apply.Options{Release: "app", By: "racer"})
			if err != nil {
				t.Fatal(err)
			}
			plans[i] = p
		}
		errs := make([]error, racers)
		var group sync.WaitGroup
		for i, p := range plans {
			group.Go(func() { _, errs[i] = apply.Apply(t.Context(), w.user, p, apply.CommitOptions{}) })
		}
		group.Wait()
		won := 0
		for _, err := range errs {
			var stale *apply.StaleError
			switch {
			case err == nil:
				won++
			case !errors.As(err, &stale) || !strings.Contains(err.Error(), "was applied again by racer (revision 2"):
				t.Errorf("a loser is told %v", err)
			}
		}
		if won != 1 {
			t.Fatalf("%d of %d applied: %v", won, racers, errs)
		}
	}
}

// losing loses the answers of transactions: before they are sent, or after.
type losing struct {
	api.Client
	before, after int
}

func (l *losing) Transact(ctx context.Context, t api.Transaction) (*api.TransactionResult, error) {
	if t.DryRun {
		return l.Client.Transact(ctx, t)
	}
	if l.before > 0 {
		l.before--
		return nil, apierrors.NewServiceUnavailable("gone")
	}
	res, err := l.Client.Transact(ctx, t)
	if l.after > 0 {
		l.after--
		return nil, apierrors.NewTimeoutError("no answer", 0)
	}
	return res, err
}

// TestLostAnswer: when a server is lost during a commit, what became of it is
// found out.
func TestLostAnswer(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after int
	}{{"before it was heard", 3, 0}, {"after it was heard", 0, 1}} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			p := w.plan(bundle(t, configMap("a", "k", "1")))
			res, err := apply.Apply(t.Context(), &losing{w.user, c.before, c.after}, p, apply.CommitOptions{})
			if err != nil || res.Release != 1 || len(res.Objects) != 1 || res.Revision == 0 {
				t.Fatalf("result %+v, %v", res, err)
			}
			if h, err := apply.History(t.Context(), w.user, "default", "app"); err != nil || len(h) != 1 {
				t.Errorf("history has %d revisions, %v", len(h), err)
			}
		})
	}
	w := newWorld(t)
	_, err := apply.Apply(t.Context(), &losing{w.user, 1000, 0}, w.plan(bundle(t, configMap("a", "k", "1"))), apply.CommitOptions{Patience: 300 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "it is not known whether the plan was applied") {
		t.Errorf("error is %v", err)
	}
}

// TestInventoryHasUIDs: the transaction that creates objects also records which
// ones they are.
func TestInventoryHasUIDs(t *testing.T) {
	w := newWorld(t)
	w.apply(bundle(t, configMap("a", "k", "1"), deployment("web", "web:1", "")))
	k := api.ReleaseKind.Key("default", "app")
	r, err := api.Decode[api.Release](w.get(k))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range r.Spec.Inventory {
		o := w.get(object.Key{Group: i.Group, Kind: i.Kind, Namespace: i.Namespace, Name: i.Name})
		if i.UID == "" || i.UID != o.Meta().UID {
			t.Errorf("%s has UID %q in the inventory", o.Key(), i.UID)
		}
		if o.Meta().ResourceVersion != w.get(k).Meta().ResourceVersion {
			t.Errorf("%s was not written in one transaction with the release", o.Key())
		}
	}
}

// TestGuard: most of a release is not deleted by mistake.
func TestGuard(t *testing.T) {
	w := newWorld(t)
	var docs []string
	for i := range 24 {
		docs = append(docs, configMap("c"+string(rune('a'+i)), "k", "1"))
	}
	w.apply(bundle(t, docs...))
	for _, rest := range []*render.Bundle{bundle(t, docs[:2]...), render.FromObjects(nil)} {
		p := w.plan(rest)
		_, err := apply.Apply(t.Context(), w.user, p, apply.CommitOptions{Bundle: rest})
		if err == nil || !strings.Contains(err.Error(), "of the 24 objects of release default/app") || !strings.Contains(diag.From(err)[0].Hint, "--allow-deletes 2") {
			t.Errorf("error is %v", err)
		}
	}
	rest := bundle(t, docs[:2]...)
	if _, err := apply.Apply(t.Context(), w.user, w.plan(rest), apply.CommitOptions{Bundle: rest, AllowDeletes: 22}); err != nil {
		t.Error(err)
	}
}

// TestOrphan lets go of objects.
func TestOrphan(t *testing.T) {
	w := newWorld(t)
	kept := strings.Replace(configMap("kept", "k", "1"), `"name"`, `"annotations":{"writ.dev/prune":"keep"},"name"`, 1)
	w.apply(bundle(t, configMap("a", "k", "1"), configMap("b", "k", "1"), kept))
	b := bundle(t, configMap("a", "k", "1"))
	p, err := apply.Compute(t.Context(), w.user, b, apply.Options{Release: "app", Orphan: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := actions(p); got["ConfigMap/b"] != apply.Orphan || got["ConfigMap/kept"] != apply.Orphan {
		t.Errorf("actions: %v", got)
	}
	if got := actions(w.plan(b)); got["ConfigMap/b"] != apply.Delete || got["ConfigMap/kept"] != apply.Orphan {
		t.Errorf("actions without the option: %v", got)
	}
	if _, err := apply.Apply(t.Context(), w.user, p, apply.CommitOptions{Bundle: b}); err != nil {
		t.Fatal(err)
	}
	w.get(api.ConfigMap.Key("default", "b"))
	w.get(api.ConfigMap.Key("default", "kept"))
	if p := w.plan(b); !p.Empty() || p.Record != nil || len(p.Objects) != 1 {
		t.Errorf("next plan: %v", actions(p))
	}
}

// TestConflictsAndDrift: what other programs set is shown, told apart, and only
// taken over when that is asked for.
func TestConflictsAndDrift(t *testing.T) {
	w := newWorld(t)
	w.user = w.with("alice", api.ManagerApply)
	b := bundle(t, deployment("web", "web:1", ""))
	w.apply(b)
	k := api.Deployment.Key("default", "web")
	w.change(w.with("bob", "kubectl-scale"), k, func(tree map[string]any) {
		tree["spec"].(map[string]any)["replicas"] = json.Number("5")
		tree["spec"].(map[string]any)["minReadySeconds"] = json.Number("7")
	})
	w.change(w.system, k, func(tree map[string]any) {
		tree["metadata"].(map[string]any)["annotations"] = map[string]any{"deployment.kubernetes.io/revision": "1"}
	})
	p := w.plan(b)
	var drift []string
	for _, d := range p.Drift {
		by := ""
		if d.By != nil {
			by = d.By.Manager
		}
		drift = append(drift, d.Path+" "+string(d.Class)+" "+by)
	}
	want := ".metadata.annotations controller writ-controllers\n.spec.minReadySeconds edited kubectl-scale\n.spec.replicas edited kubectl-scale"
	if got := strings.Join(drift, "\n"); got != want || p.Defaulted == 0 {
		t.Errorf("drift is\n%s\nwant\n%s\n%d defaults", got, want, p.Defaulted)
	}
	if len(p.Conflicts) != 1 || p.Conflicts[0].Path != ".spec.replicas" || p.Conflicts[0].By.Manager != "kubectl-scale" {
		t.Fatalf("conflicts: %+v", p.Conflicts)
	}
	var out bytes.Buffer
	if err := p.Print(&out, false); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"conflicts:\n  ! Deployment.apps default/web .spec.replicas: 5 was set by kubectl-scale at ",
		"drift: 2 edited, 1 owned by controllers, ",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("printed plan lacks %q:\n%s", line, &out)
		}
	}
	_, err := apply.Apply(t.Context(), w.user, p, apply.CommitOptions{Bundle: b})
	if list := diag.From(err); len(list) != 1 || list[0].Code != "CONFLICT" || !strings.Contains(list[0].Hint, "--force-field .spec.replicas") {
		t.Errorf("error is %v", err)
	}
	p, err = apply.Compute(t.Context(), w.user, b, apply.Options{Release: "app", ForceFields: []string{".spec.replicas"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := apply.Apply(t.Context(), w.user, p, apply.CommitOptions{Bundle: b}); err != nil {
		t.Fatal(err)
	}
	spec := w.get(k).Tree()["spec"].(map[string]any)
	if spec["replicas"] != json.Number("2") || spec["minReadySeconds"] != json.Number("7") {
		t.Errorf("spec is %v", spec)
	}
	if p := w.plan(b); !p.Empty() || len(p.Conflicts) > 0 {
		t.Errorf("next plan: %v, conflicts %+v", actions(p), p.Conflicts)
	}
}
