package apply_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/writ-dev/writ/apply"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/render"
)

func (w *world) history() []apply.Revision {
	w.t.Helper()
	h, err := apply.History(w.t.Context(), w.user, "default", "app")
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// rollback brings a revision back, and returns the plan for it.
func (w *world) rollback(number int64) (*apply.Plan, error) {
	w.t.Helper()
	r, err := apply.Find(w.history(), number)
	if err != nil {
		return nil, err
	}
	b, err := r.Bundle()
	if err != nil {
		return nil, err
	}
	p, err := apply.Compute(w.t.Context(), w.user, b, apply.Options{Release: "app", By: "alice", Rollback: r.Spec.Revision})
	if err != nil {
		return nil, err
	}
	_, err = apply.Apply(w.t.Context(), w.user, p, apply.CommitOptions{Bundle: b})
	return p, err
}

func TestHistoryAndRollback(t *testing.T) {
	w := newWorld(t)
	secret := func(v string) string {
		return `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"password":"` + v + `"}}`
	}
	w.apply(bundle(t, configMap("a", "k", "1"), configMap("b", "k", "1"), deployment("web", "web:1", ""), secret("first")))
	w.apply(bundle(t, configMap("a", "k", "2"), secret("second"), deployment("web", "web:1", ""), dependency("d", "web", "store", "6379")))
	h := w.history()
	if len(h) != 2 || h[0].Spec.Revision != 2 || h[0].Spec.AppliedBy != "alice" || h[0].Spec.AppliedAt.IsZero() {
		t.Fatalf("history is %+v", h)
	}
	if got, want := fmt.Sprintf("%+v", h[0].Spec.Summary), "{Created:1 Changed:2 Replaced:0 Deleted:1 Orphaned:0 Opened:1 Closed:0}"; got != want {
		t.Errorf("summary is %s, want %s", got, want)
	}
	p, err := w.rollback(0)
	if err != nil {
		t.Fatal(err)
	}
	if got := actions(p); got["ConfigMap/a"] != apply.Update || got["ConfigMap/b"] != apply.Create || got["Dependency/d"] != apply.Delete || got["Secret/s"] != apply.Unchanged {
		t.Errorf("rollback is %v", got)
	}
	if live := string(w.get(api.Secret.Key("default", "s")).JSON()); !strings.Contains(live, "c2Vjb25k") {
		t.Errorf("the secret is %s", live)
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "keeps the values that it has now") {
		t.Errorf("warnings are %q", p.Warnings)
	}
	if h := w.history(); len(h) != 3 || h[0].Spec.Rollback != 1 || h[0].Spec.Digest != h[2].Spec.Digest {
		t.Errorf("history after the rollback: %+v", h[0].Spec)
	}
	// A Secret that is gone has no values to come back with.
	w.apply(bundle(t, configMap("a", "k", "3")))
	if _, err := w.rollback(1); err == nil || !strings.Contains(err.Error(), "does not keep the values of Secrets") {
		t.Errorf("error is %v", err)
	}
	if _, err := w.rollback(99); err == nil || !strings.Contains(err.Error(), "revision 99 is not remembered") {
		t.Errorf("error is %v", err)
	}
}

// TestRetention: a release remembers a bounded number of applications.
func TestRetention(t *testing.T) {
	w := newWorld(t)
	for i := range 6 {
		b := bundle(t, configMap("a", "k", fmt.Sprint(i)))
		if _, err := apply.Apply(t.Context(), w.user, w.plan(b), apply.CommitOptions{Bundle: b, KeepRevisions: 3}); err != nil {
			t.Fatal(err)
		}
		h := w.history()
		if len(h) != min(i+1, 3) || h[0].Spec.Revision != int64(i+1) {
			t.Fatalf("after %d applications, %d are remembered, up to %d", i+1, len(h), h[0].Spec.Revision)
		}
	}
	if err := apply.Forget(t.Context(), w.user, "default", "app"); err != nil {
		t.Fatal(err)
	}
	if len(w.history()) != 0 {
		t.Error("something is still remembered")
	}
	w.get(api.ConfigMap.Key("default", "a"))
	// A release of that name starts anew, and takes nothing for its own.
	if _, err := apply.Compute(t.Context(), w.user, bundle(t, configMap("a", "k", "1")), apply.Options{Release: "app"}); err == nil {
		t.Error("an object without a release is taken for one's own")
	}
	if p := w.plan(render.FromObjects(nil)); len(p.Objects) != 0 {
		t.Errorf("plan: %v", actions(p))
	}
}
