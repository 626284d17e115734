package node_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/controllers/node"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/registry"
	"github.com/writ-dev/writ/cluster/store"
)

const image = "i@sha256:0000000000000000000000000000000000000000000000000000000000000000"

// world is a registry with the controller on it, in a bubble of its own time.
type world struct {
	t      *testing.T
	system *registry.Client
}

// inWorld runs f with the controller running.
func inWorld(t *testing.T, f func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		s := store.New(store.Options{})
		r, err := registry.New(registry.Options{Store: s, Proposer: store.Local(s)})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, system: r.As(registry.System)}
		if err := w.system.Bootstrap(t.Context()); err != nil {
			t.Fatal(err)
		}
		c, err := node.New(node.Options{Env: controller.Env{Client: w.system}, EvictAfter: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		f(w)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func (w *world) create(format string, args ...any) {
	w.t.Helper()
	o, err := object.Parse(fmt.Appendf(nil, format, args...))
	if err == nil {
		_, err = w.system.Create(w.t.Context(), o)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) edit(k object.Key, write func(context.Context, object.Object) (object.Object, error), edit func(tree map[string]any)) {
	w.t.Helper()
	o, err := w.system.Get(w.t.Context(), k)
	if err != nil {
		w.t.Fatal(err)
	}
	tree := o.Tree()
	edit(tree)
	if o, err = object.FromTree(tree); err == nil {
		_, err = write(w.t.Context(), o)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// node makes a node with a lease of ten seconds and a ready pod.
func (w *world) node(name string) {
	w.t.Helper()
	w.create(`{"apiVersion":"v1","kind":"Node","metadata":{"name":%q},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, name)
	w.create(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":%q,"namespace":"kube-node-lease"},"spec":{"leaseDurationSeconds":10,"holderIdentity":%q}}`, name, name)
	w.renew(name)
	w.create(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"on-%s","namespace":"default"},"spec":{"containers":[{"name":"c","image":%q}]}}`, name, image)
	if _, err := w.system.Bind(w.t.Context(), "default", "on-"+name, "", name, registry.WriteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.edit(api.Pod.Key("default", "on-"+name), w.system.UpdateStatus, func(tree map[string]any) {
		status := tree["status"].(map[string]any)
		status["phase"] = "Running"
		status["conditions"] = []any{map[string]any{"type": "Ready", "status": "True"}}
	})
}

func (w *world) renew(name string) {
	w.t.Helper()
	w.edit(api.Lease.Key("kube-node-lease", name), w.system.Update, func(tree map[string]any) {
		// The node's clock is far off; only that it moves counts.
		tree["spec"].(map[string]any)["renewTime"] = time.Now().Add(-1000 * time.Hour).UTC().Format("2006-01-02T15:04:05.000000Z07:00")
	})
}

// pass lets time pass while the named nodes renew their leases.
func (w *world) pass(d time.Duration, alive ...string) {
	w.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(2 * time.Second)
		for _, name := range alive {
			w.renew(name)
		}
	}
	synctest.Wait()
}

func (w *world) ready(name string) corev1.ConditionStatus {
	w.t.Helper()
	o, err := w.system.Get(w.t.Context(), api.Node.Key("", name))
	if err != nil {
		w.t.Fatal(err)
	}
	n, err := api.Decode[corev1.Node](o)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}

// pod returns whether the node's pod is there, and whether it is ready.
func (w *world) pod(node string) (there, ready bool) {
	w.t.Helper()
	o, err := w.system.Get(w.t.Context(), api.Pod.Key("default", "on-"+node))
	if apierrors.IsNotFound(err) {
		return false, false
	}
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := api.Decode[corev1.Pod](o)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range p.Status.Conditions {
		ready = ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	return true, ready
}

func (w *world) expect(when, name string, nodeReady corev1.ConditionStatus, podThere, podReady bool) {
	w.t.Helper()
	there, ready := w.pod(name)
	if got := w.ready(name); got != nodeReady || there != podThere || ready != podReady {
		w.t.Errorf("%s: node %s is Ready=%s, its pod is there %v and ready %v; want %s, %v, %v", when, name, got, there, ready, nodeReady, podThere, podReady)
	}
}

func TestSilence(t *testing.T) {
	inWorld(t, func(w *world) {
		w.node("alive")
		w.node("silent")
		w.pass(8*time.Second, "alive")
		w.expect("before the lease ends", "silent", corev1.ConditionTrue, true, true)
		w.pass(4*time.Second, "alive")
		w.expect("after the lease", "silent", corev1.ConditionUnknown, true, false)
		w.pass(50*time.Second, "alive")
		w.expect("before eviction", "silent", corev1.ConditionUnknown, true, false)
		w.pass(10*time.Second, "alive")
		w.expect("after eviction", "silent", corev1.ConditionUnknown, false, false)
		w.expect("all the time", "alive", corev1.ConditionTrue, true, true)
	})
}

// TestBackInTime: a node that is heard of again keeps its pods, and another
// silence is measured anew.
func TestBackInTime(t *testing.T) {
	inWorld(t, func(w *world) {
		w.node("n")
		w.pass(40 * time.Second)
		w.expect("silent", "n", corev1.ConditionUnknown, true, false)
		w.renew("n")
		w.pass(8 * time.Second)
		w.pass(50 * time.Second)
		w.expect("silent for 58 s again", "n", corev1.ConditionUnknown, true, false)
		w.pass(20 * time.Second)
		w.expect("for 78 s", "n", corev1.ConditionUnknown, false, false)
	})
}

func TestNodeIsDeleted(t *testing.T) {
	inWorld(t, func(w *world) {
		w.node("n")
		if err := w.system.Delete(w.t.Context(), api.Node.Key("", "n"), ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if there, _ := w.pod("n"); there {
			t.Error("a pod outlives its node")
		}
	})
}
