package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/registry"
	"github.com/writ-dev/writ/cluster/store"
)

const image = "i@sha256:0000000000000000000000000000000000000000000000000000000000000000"

var user = registry.User{Name: "somebody", Groups: []string{"system:masters"}}

// world is a registry whose clock and UIDs the test knows.
type world struct {
	*registry.Registry
	store *store.Store
	mu    sync.Mutex
	now   time.Time
	uids  int
}

func newWorld(t testing.TB, edit func(*registry.Options)) *world {
	t.Helper()
	s := store.New(store.Options{})
	w := &world{store: s, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	o := registry.Options{Store: s, Proposer: store.Local(s),
		Now: func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now },
		NewUID: func() string {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.uids++
			return fmt.Sprintf("uid-%d", w.uids)
		},
		NewSuffix: func() string { return "abcde" },
	}
	if edit != nil {
		edit(&o)
	}
	r, err := registry.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.Registry = r
	if err := w.As(registry.System).Bootstrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func doc(t testing.TB, format string, args ...any) object.Object {
	t.Helper()
	o, err := object.Parse(fmt.Appendf(nil, format, args...))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func configMap(t testing.TB, name, value string) object.Object {
	return doc(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"default"},"data":{"v":%q}}`, name, value)
}

func pod(t testing.TB, name string) object.Object {
	return doc(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":"default"},"spec":{"containers":[{"name":"c","image":%q}]}}`, name, image)
}

func service(t testing.TB, name, spec string) object.Object {
	return doc(t, `{"apiVersion":"v1","kind":"Service","metadata":{"name":%q,"namespace":"default"},"spec":%s}`, name, spec)
}

func create(t testing.TB, c *registry.Client, o object.Object) object.Object {
	t.Helper()
	got, err := c.Create(t.Context(), o)
	if err != nil {
		t.Fatalf("create %s: %v", o.Key(), err)
	}
	return got
}

func edit(t testing.TB, o object.Object, f func(tree map[string]any)) object.Object {
	t.Helper()
	tree := o.Tree()
	f(tree)
	n, err := object.FromTree(tree)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func decode[T any](t testing.TB, o object.Object) *T {
	t.Helper()
	v, err := api.Decode[T](o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestStamps(t *testing.T) {
	w := newWorld(t, nil)
	c := w.As(user)
	o := create(t, c, doc(t, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"generateName":"d-","namespace":"default","uid":"mine","creationTimestamp":"1999-01-01T00:00:00Z","generation":7},
		"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":%q}]}}},"status":{"replicas":9}}`, image))
	m := o.Meta()
	want := object.Meta{Name: "d-abcde", GenerateName: "d-", Namespace: "default", UID: m.UID, ResourceVersion: fmt.Sprint(w.Revision()), Generation: 1, CreationTimestamp: "2026-01-01T00:00:00Z"}
	if diff := cmp.Diff(want, *m); diff != "" || m.UID == "mine" {
		t.Errorf("uid %s, %s", m.UID, diff)
	}
	if s, ok := o.Tree()["status"].(map[string]any); ok && len(s) > 0 {
		t.Errorf("a user's status was kept: %v", s)
	}
	// The same again writes nothing, in whatever spelling.
	before := w.Revision()
	same, err := c.Update(t.Context(), edit(t, o, func(tree map[string]any) {
		delete(tree["metadata"].(map[string]any), "resourceVersion")
		tree["spec"].(map[string]any)["paused"] = nil
	}))
	if err != nil || same.Meta().ResourceVersion != m.ResourceVersion || w.Revision() != before {
		t.Errorf("an unchanged object was written: %v, %s, revision %d to %d", err, same.Meta().ResourceVersion, before, w.Revision())
	}
	// Metadata does not bump the generation, the spec does.
	labelled, err := c.Update(t.Context(), edit(t, o, func(tree map[string]any) { tree["metadata"].(map[string]any)["labels"] = map[string]any{"x": "y"} }))
	if err != nil || labelled.Meta().Generation != 1 {
		t.Errorf("%v, generation %d", err, labelled.Meta().Generation)
	}
	scaled, err := c.Update(t.Context(), edit(t, labelled, func(tree map[string]any) { tree["spec"].(map[string]any)["replicas"] = json.Number("3") }))
	if err != nil || scaled.Meta().Generation != 2 {
		t.Errorf("%v, generation %d", err, scaled.Meta().Generation)
	}
	if _, err := c.Update(t.Context(), labelled); !apierrors.IsConflict(err) {
		t.Errorf("stale update: %v", err)
	}
}

func TestIdentityIsNotForged(t *testing.T) {
	w := newWorld(t, nil)
	owned := edit(t, pod(t, "p"), func(tree map[string]any) {
		tree["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "u", "controller": true}}
	})
	if _, err := w.As(user).Create(t.Context(), owned); !apierrors.IsInvalid(err) {
		t.Errorf("create by a user: %v", err)
	}
	o := create(t, w.As(registry.System), owned)
	if _, err := w.As(user).Update(t.Context(), edit(t, o, func(tree map[string]any) { tree["metadata"].(map[string]any)["labels"] = map[string]any{"a": "b"} })); err != nil {
		t.Errorf("keeping the owner: %v", err)
	}
	p := registry.Patch{Type: "application/merge-patch+json", Data: []byte(`{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"other","uid":"v","controller":true}]}}`)}
	if _, err := w.As(user).PatchWith(t.Context(), o.Key(), p, registry.WriteOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("patch by a user: %v", err)
	}
}

func TestNamespaces(t *testing.T) {
	w := newWorld(t, nil)
	c, sys := w.As(user), w.As(registry.System)
	inside := doc(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n"}}`)
	if _, err := c.Create(t.Context(), inside); !apierrors.IsNotFound(err) {
		t.Errorf("no namespace: %v", err)
	}
	ns := create(t, c, doc(t, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}}`))
	create(t, c, inside)
	if err := c.Delete(t.Context(), ns.Key(), ""); err != nil {
		t.Fatal(err)
	}
	ns, err := c.Get(t.Context(), ns.Key())
	if err != nil || decode[corev1.Namespace](t, ns).Status.Phase != corev1.NamespaceTerminating {
		t.Fatalf("terminating: %v", err)
	}
	if _, err := c.Create(t.Context(), doc(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","namespace":"n"}}`)); !apierrors.IsForbidden(err) || !apierrors.HasStatusCause(err, registry.NamespaceTerminating) {
		t.Errorf("terminating namespace: %v", err)
	}
	free := edit(t, ns, func(tree map[string]any) { tree["spec"] = map[string]any{} })
	if got, err := c.Update(t.Context(), free); err != nil || len(decode[corev1.Namespace](t, got).Spec.Finalizers) != 1 {
		t.Errorf("a user let go of a namespace: %v", err)
	}
	if _, err := sys.Update(t.Context(), free); err != nil {
		t.Error(err)
	}
	if _, err := c.Get(t.Context(), ns.Key()); !apierrors.IsNotFound(err) {
		t.Errorf("finalized: %v", err)
	}
}

func TestFinalizersAndPropagation(t *testing.T) {
	w := newWorld(t, nil)
	c := w.As(user)
	o := create(t, c, edit(t, configMap(t, "a", "1"), func(tree map[string]any) {
		tree["metadata"].(map[string]any)["finalizers"] = []any{"example.com/hold"}
	}))
	if err := c.Delete(t.Context(), o.Key(), ""); err != nil {
		t.Fatal(err)
	}
	o, err := c.Get(t.Context(), o.Key())
	if err != nil || o.Meta().DeletionTimestamp == "" {
		t.Fatalf("held: %v", err)
	}
	more := edit(t, o, func(tree map[string]any) {
		tree["metadata"].(map[string]any)["finalizers"] = []any{"example.com/hold", "example.com/more"}
	})
	if _, err := c.Update(t.Context(), more); !apierrors.IsInvalid(err) {
		t.Errorf("a new finalizer while going: %v", err)
	}
	if _, err := c.Update(t.Context(), edit(t, o, func(tree map[string]any) { delete(tree["metadata"].(map[string]any), "finalizers") })); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), o.Key()); !apierrors.IsNotFound(err) {
		t.Errorf("let go: %v", err)
	}

	owner := create(t, c, configMap(t, "owner", "1"))
	child := create(t, c, edit(t, configMap(t, "child", "1"), func(tree map[string]any) {
		tree["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.Meta().UID}}
	}))
	if _, err := c.DeleteWith(t.Context(), owner.Key(), registry.DeleteOptions{Propagation: "Orphan"}); err != nil {
		t.Fatal(err)
	}
	if child, err = c.Get(t.Context(), child.Key()); err != nil || len(child.Meta().OwnerReferences) != 0 {
		t.Errorf("orphan: %v, %v", err, child.Meta().OwnerReferences)
	}
	if _, err := c.DeleteWith(t.Context(), child.Key(), registry.DeleteOptions{Propagation: "Foreground"}); err != nil {
		t.Fatal(err)
	}
	if child, err = c.Get(t.Context(), child.Key()); err != nil || !cmp.Equal(child.Meta().Finalizers, []string{metav1.FinalizerDeleteDependents}) {
		t.Errorf("foreground: %v", err)
	}
}

func TestPodDeletion(t *testing.T) {
	w := newWorld(t, nil)
	c, sys, agent := w.As(user), w.As(registry.System), w.As(registry.User{Name: "system:node:n1", Groups: []string{"system:nodes"}})
	node := create(t, sys, doc(t, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}`))
	unbound := create(t, c, pod(t, "unbound"))
	if out, err := c.DeleteWith(t.Context(), unbound.Key(), registry.DeleteOptions{}); err != nil || !out.Removed {
		t.Errorf("unbound: %v, %+v", err, out)
	}
	bind := func(name string) object.Key {
		o := create(t, c, pod(t, name))
		if _, err := sys.Update(t.Context(), edit(t, o, func(tree map[string]any) { tree["spec"].(map[string]any)["nodeName"] = "n1" })); err != nil {
			t.Fatal(err)
		}
		return o.Key()
	}
	k := bind("a")
	out, err := c.DeleteWith(t.Context(), k, registry.DeleteOptions{})
	if err != nil || out.Removed || out.Object.Meta().DeletionTimestamp != "2026-01-01T00:00:30Z" {
		t.Fatalf("graceful: %v %+v", err, out)
	}
	if out, err = sys.DeleteWith(t.Context(), k, registry.DeleteOptions{}); err != nil || out.Removed {
		t.Errorf("deleted again by the system: %v %+v", err, out)
	}
	if err := agent.Delete(t.Context(), k, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), k); !apierrors.IsNotFound(err) {
		t.Errorf("deleted by its agent: %v", err)
	}
	k = bind("b")
	if err := sys.Delete(t.Context(), node.Key(), ""); err != nil {
		t.Fatal(err)
	}
	if out, err = c.DeleteWith(t.Context(), k, registry.DeleteOptions{}); err != nil || !out.Removed {
		t.Errorf("its node is gone: %v %+v", err, out)
	}
}

func TestEventsAreBounded(t *testing.T) {
	w := newWorld(t, func(o *registry.Options) { o.MaxEvents, o.EventTTL = 5, time.Hour })
	c := w.As(registry.System)
	event := func(i int) object.Object {
		return doc(t, `{"apiVersion":"v1","kind":"Event","metadata":{"name":"e%d","namespace":"default"},"involvedObject":{"kind":"Pod","name":"p","namespace":"default"},"reason":"R","type":"Normal"}`, i)
	}
	for i := range 20 {
		create(t, c, event(i))
	}
	l, err := c.List(t.Context(), api.EventKind, api.ListOptions{})
	if err != nil || len(l.Items) != 5 || l.Items[0].Name() != "e15" {
		t.Fatalf("%v, %d events", err, len(l.Items))
	}
	w.pass(2 * time.Hour)
	create(t, c, event(99))
	if l, err = c.List(t.Context(), api.EventKind, api.ListOptions{}); err != nil || len(l.Items) != 1 {
		t.Errorf("after their time: %v, %d events", err, len(l.Items))
	}
	w.pass(2 * time.Hour)
	if err := c.ExpireEvents(t.Context()); err != nil {
		t.Error(err)
	}
	if l, err = c.List(t.Context(), api.EventKind, api.ListOptions{}); err != nil || len(l.Items) != 0 {
		t.Errorf("after expiry: %v, %d events", err, len(l.Items))
	}
}

func TestWatchWithSelector(t *testing.T) {
	w := newWorld(t, nil)
	c := w.As(user)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	in := func(o object.Object, v string) object.Object {
		return edit(t, o, func(tree map[string]any) { tree["metadata"].(map[string]any)["labels"] = map[string]any{"l": v} })
	}
	a := create(t, c, in(configMap(t, "a", "1"), "no"))
	from := w.Revision()
	ev, err := c.Watch(ctx, api.ConfigMap, from, api.ListOptions{LabelSelector: "l=yes"})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"yes", "yes", "no", "no", "yes"} {
		a = edit(t, in(a, v), func(tree map[string]any) { tree["data"] = map[string]any{"v": fmt.Sprint(w.Revision())} })
		if a, err = c.Update(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Delete(ctx, a.Key(), ""); err != nil {
		t.Fatal(err)
	}
	var got []api.EventType
	for e := range ev {
		if e.Type != api.Bookmark {
			got = append(got, e.Type)
		}
		if len(got) == 5 {
			break
		}
	}
	if diff := cmp.Diff([]api.EventType{api.Added, api.Modified, api.Deleted, api.Added, api.Deleted}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPages(t *testing.T) {
	w := newWorld(t, nil)
	c := w.As(user)
	for i := range 5 {
		create(t, c, configMap(t, fmt.Sprintf("c%d", i), "1"))
	}
	var names []string
	p := registry.PageOptions{Limit: 2}
	for {
		page, err := c.ListPage(t.Context(), api.ConfigMap, api.ListOptions{}, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Items {
			names = append(names, o.Name())
		}
		if p.Continue = page.Continue; p.Continue == "" {
			break
		}
		// What changes meanwhile does not show.
		if err := c.Delete(t.Context(), api.ConfigMap.Key("default", "c4"), ""); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"c0", "c1", "c2", "c3", "c4"}, names); diff != "" {
		t.Error(diff)
	}
	page, err := c.ListPage(t.Context(), api.ConfigMap, api.ListOptions{}, registry.PageOptions{Limit: 1})
	if err != nil || page.Remaining != 3 {
		t.Fatalf("%v, %d remain", err, page.Remaining)
	}
	w.pass(time.Hour)
	if _, err := c.ListPage(t.Context(), api.ConfigMap, api.ListOptions{}, registry.PageOptions{Continue: page.Continue}); !apierrors.IsResourceExpired(err) {
		t.Errorf("an old token: %v", err)
	}
}
