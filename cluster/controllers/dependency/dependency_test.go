package dependency

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/access"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/store"
)

const webStore = `{apiVersion: writ.dev/v1alpha1, kind: Dependency, metadata: {name: web-store, namespace: d}, spec: {consumer: {kind: Deployment, name: web}, target: {service: {name: store, ports: [redis]}}}}`

func TestPodWithoutDependenciesMayStart(t *testing.T) {
	c := newCluster(t)
	c.run()
	p := c.pod("d", "p", "p", "")
	c.until("granted", func() bool { return c.isGranted(p.Key()) })
	if g := c.grants(); len(g) != 0 {
		t.Errorf("grants %v, want none", g)
	}
}

func TestGrantAndGateInOneTransaction(t *testing.T) {
	c := newCluster(t)
	rs := c.deployment("d", "web")
	c.make(webStore)
	c.run()
	p := c.pod("d", "web-1-a", "web", rs)
	c.until("granted", func() bool { return c.isGranted(p.Key()) })
	p = c.get(p.Key())
	g := c.grants()["d/web-store"]
	if g == nil || len(g.Spec.From) != 1 || g.Spec.From[0].PodUID != p.Meta().UID {
		t.Fatalf("grant %+v does not name the pod", g)
	}
	if g.ResourceVersion != p.Meta().ResourceVersion {
		t.Errorf("grant written at %s, condition at %s", g.ResourceVersion, p.Meta().ResourceVersion)
	}
}

func TestGrantFollowsEndpoints(t *testing.T) {
	c := newCluster(t)
	c.run()
	web := c.deployment("d", "web")
	c.pod("d", "web-1-a", "web", web)
	c.make(webStore)
	c.until("a grant without endpoints", func() bool { g := c.grants()["d/web-store"]; return g != nil && len(g.Spec.From) == 1 })
	status := func() string {
		return decode[api.Dependency](t, c.get(api.DependencyKind.Key("d", "web-store"))).Status.Phase
	}
	c.until("pending", func() bool { return status() == access.Pending })

	store := c.deployment("d", "store")
	s := c.service("d", "store")
	a := c.pod("d", "store-1-a", "store", store)
	c.endpoints("d", "store", true, a)
	c.until("an endpoint", func() bool {
		g := c.grants()["d/web-store"]
		return len(g.Spec.Ports) == 1 && len(g.Spec.Ports[0].Endpoints) == 1 && g.Spec.ClusterIP == decode[corev1.Service](t, s).Spec.ClusterIP
	})
	c.until("ready", func() bool { return status() == access.Ready })

	c.endpoints("d", "store", false, a)
	c.until("no ready endpoint", func() bool {
		p := c.grants()["d/web-store"].Spec.Ports[0]
		return len(p.Endpoints) == 0 && len(p.NotReady) == 1
	})
	c.phase(a.Key(), corev1.PodFailed)
	c.until("no endpoint", func() bool { return len(c.grants()["d/web-store"].Spec.Ports[0].NotReady) == 0 })
}

func TestStartReadyWaits(t *testing.T) {
	c := newCluster(t)
	c.run()
	web, store := c.deployment("d", "web"), c.deployment("d", "store")
	c.service("d", "store")
	c.make(`{apiVersion: writ.dev/v1alpha1, kind: Dependency, metadata: {name: web-store, namespace: d}, spec: {consumer: {kind: Deployment, name: web}, start: ready, target: {service: {name: store}}}}`)
	p := c.pod("d", "web-1-a", "web", web)
	const want = "start=ready on d/store: 0/0 endpoints of Service d/store ready"
	c.until("a reason to wait", func() bool {
		return slices.ContainsFunc(decode[corev1.Pod](t, c.get(p.Key())).Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == api.ConditionGranted && c.Status == corev1.ConditionFalse && c.Message == want
		})
	})
	a := c.pod("d", "store-1-a", "store", store)
	c.until("the store itself starts", func() bool { return c.isGranted(a.Key()) })
	if c.isGranted(p.Key()) {
		t.Error("web started before store was ready")
	}
	c.endpoints("d", "store", true, a)
	c.until("granted", func() bool { return c.isGranted(p.Key()) })
	c.endpoints("d", "store", false, a)
	c.until("not ready", func() bool {
		return decode[api.Dependency](t, c.get(api.DependencyKind.Key("d", "web-store"))).Status.Phase == access.Pending
	})
	if !c.isGranted(p.Key()) {
		t.Error("a started pod lost its grant condition")
	}
}

func TestDeletionRevokes(t *testing.T) {
	c := newCluster(t)
	c.run()
	web := c.deployment("d", "web")
	d := c.make(webStore)
	p := c.pod("d", "web-1-a", "web", web)
	c.until("a grant", func() bool { g := c.grants()["d/web-store"]; return g != nil && len(g.Spec.From) == 1 })
	first := c.grants()["d/web-store"].Name

	c.phase(p.Key(), corev1.PodSucceeded)
	c.until("an ended pod holds nothing", func() bool { return len(c.grants()["d/web-store"].Spec.From) == 0 })
	c.remove(d.Key())
	c.until("no grant", func() bool { return len(c.grants()) == 0 })
	c.make(webStore)
	c.until("a new grant", func() bool { return len(c.grants()) == 1 })
	if again := c.grants()["d/web-store"].Name; again == first {
		t.Error("a Dependency made again revived the old Grant")
	}
}

func TestTargetsInOtherNamespaces(t *testing.T) {
	c := newCluster(t)
	store := c.deployment("d", "store")
	c.service("d", "store")
	a := c.pod("d", "store-1-a", "store", store)
	c.run()
	c.pod("x", "tool", "tool", "")
	c.make(`{apiVersion: writ.dev/v1alpha1, kind: Dependency, metadata: {name: e, namespace: x}, spec: {consumer: {kind: Pod, name: tool}, target: {service: {namespace: d, name: store}}}}`)
	c.until("a grant", func() bool { return c.grants()["x/e"] != nil })
	c.endpoints("d", "store", true, a)
	c.until("an endpoint", func() bool { return len(c.grants()["x/e"].Spec.Ports[0].Endpoints) == 1 })
	c.phase(a.Key(), corev1.PodFailed)
	c.until("no endpoint", func() bool { return len(c.grants()["x/e"].Spec.Ports[0].Endpoints) == 0 })
}

func TestOwnServices(t *testing.T) {
	c := newCluster(t)
	c.run()
	store := c.deployment("d", "store")
	s := c.service("d", "store")
	a := c.pod("d", "store-1-a", "store", store)
	c.endpoints("d", "store", true, a)
	list := func() []*api.Grant {
		l, err := c.List(t.Context(), api.GrantKind, api.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var out []*api.Grant
		for _, o := range l.Items {
			out = append(out, decode[api.Grant](t, o))
		}
		return out
	}
	c.until("a grant of its own", func() bool {
		g := list()
		return len(g) == 1 && g[0].Spec.Consumer == "Deployment/store" && g[0].Spec.ServiceName == "store" && len(g[0].Spec.From) == 1
	})
	c.remove(s.Key())
	c.until("none", func() bool { return len(list()) == 0 })
}

// TestStaleGrantsGoAtStart: what happened while no controller ran.
func TestStaleGrantsGoAtStart(t *testing.T) {
	c := newCluster(t)
	c.make(`{apiVersion: writ.dev/v1alpha1, kind: Grant, metadata: {name: d-gone}, spec: {dependency: gone/e, dependencyUID: u, consumerNamespace: gone, consumer: Deployment/web, serviceNamespace: d, serviceName: store, from: [{ip: 10.64.0.2, podUID: p}]}}`)
	c.run()
	c.until("no grant", func() bool { return len(c.grants()) == 0 })
}

// TestBadPodHoldsUpNobody puts a pod into the store that admission would
// refuse, so that its condition cannot be written.
func TestBadPodHoldsUpNobody(t *testing.T) {
	c := newCluster(t)
	web := c.deployment("d", "web")
	d := c.make(webStore)
	bad := c.pod("d", "bad", "bad", "")
	tree := bad.Tree()
	delete(tree["metadata"].(map[string]any), "resourceVersion")
	twice := map[string]any{"type": "A", "status": "True"}
	tree["status"].(map[string]any)["conditions"] = []any{twice, twice}
	b, err := object.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.proposer.Propose(t.Context(), store.Command{Mutations: []store.Mutation{{Key: bad.Key(), Object: b}}}); err != nil {
		t.Fatal(err)
	}
	c.run()
	p := c.pod("d", "web-1-a", "web", web)
	c.until("granted", func() bool { return c.isGranted(p.Key()) })
	c.remove(d.Key())
	c.until("revoked", func() bool { return len(c.grants()) == 0 })
	if c.isGranted(bad.Key()) {
		t.Error("the bad pod was written: this test tests nothing")
	}
}

func TestReconcileTwiceIsOnce(t *testing.T) {
	c := newCluster(t)
	web, store := c.deployment("d", "web"), c.deployment("d", "store")
	c.service("d", "store")
	c.make(webStore)
	a := c.pod("d", "store-1-a", "store", store)
	c.endpoints("d", "store", true, a)
	c.pod("d", "web-1-a", "web", web)
	r := &reconciler{client: c.Client, now: time.Now}
	if err := r.once(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	revision := func() uint64 {
		l, err := c.List(t.Context(), api.GrantKind, api.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return l.Revision
	}
	before := revision()
	if err := r.once(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	if after := revision(); after != before {
		t.Errorf("the second run wrote: revision %d, then %d", before, after)
	}
}

// TestValidEdgeIsNeverMissing watches the Grant while pods come and go and a
// node agent writes status all the time: in every state of the Grant, the pod
// and the endpoint that stay are there.
func TestValidEdgeIsNeverMissing(t *testing.T) {
	c := newCluster(t)
	web, store := c.deployment("d", "web"), c.deployment("d", "store")
	c.service("d", "store")
	c.make(webStore)
	a := c.pod("d", "store-1-a", "store", store)
	c.endpoints("d", "store", true, a)
	stays := c.pod("d", "web-1-stays", "web", web)
	c.run()
	c.until("the edge", func() bool {
		g := c.grants()["d/web-store"]
		return g != nil && len(g.Spec.From) == 1 && len(g.Spec.Ports) == 1 && len(g.Spec.Ports[0].Endpoints) == 1
	})
	ctx, cancel := context.WithCancel(t.Context())
	events, err := c.Watch(ctx, api.GrantKind, 0, api.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	states := make(chan int)
	go func() {
		n := 0
		for e := range events {
			if e.Type == api.Bookmark {
				continue
			}
			g, err := api.Decode[api.Grant](e.Object)
			if err != nil || g.Spec.Dependency == "" {
				continue
			}
			n++
			from := slices.ContainsFunc(g.Spec.From, func(f api.GrantSource) bool { return f.PodUID == stays.Meta().UID })
			to := slices.ContainsFunc(g.Spec.Ports[0].Endpoints, func(e api.GrantEndpoint) bool { return e.PodUID == a.Meta().UID })
			if e.Type == api.Deleted || !from || !to {
				t.Errorf("edge missing: %s %+v", e.Type, g.Spec)
			}
		}
		states <- n
	}()
	for i := range 20 {
		p := c.pod("d", fmt.Sprintf("web-1-%d", i), "web", web)
		c.setStatus(stays.Key(), func(p *corev1.Pod) { p.Status.Message = fmt.Sprint(i) })
		c.until("granted", func() bool { return c.isGranted(p.Key()) })
		b := c.pod("d", fmt.Sprintf("store-1-%d", i), "store", store)
		c.endpoints("d", "store", true, a, b)
		c.remove(p.Key())
	}
	c.until("only what stays", func() bool { return len(c.grants()["d/web-store"].Spec.From) == 1 })
	cancel()
	if n := <-states; n < 20 {
		t.Errorf("saw only %d states of the grant", n)
	}
}

// BenchmarkCreateToGranted is how long a pod takes from its creation, bound at
// once, to its condition, with 50 other pods in the namespace.
func BenchmarkCreateToGranted(b *testing.B) {
	c := newCluster(b)
	web, store := c.deployment("d", "web"), c.deployment("d", "store")
	c.service("d", "store")
	c.make(webStore)
	a := c.pod("d", "store-1-a", "store", store)
	c.endpoints("d", "store", true, a)
	c.run()
	for i := range 50 {
		c.pod("d", fmt.Sprintf("web-1-%d", i), "web", web)
	}
	events, err := c.Watch(b.Context(), api.Pod, 0, api.ListOptions{Namespace: "d"})
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n++
		name := fmt.Sprintf("bench-%d", n)
		c.pod("d", name, "web", web)
		for e := range events {
			if e.Type != api.Bookmark && e.Object.Name() == name && granted(decode[corev1.Pod](b, e.Object)) {
				break
			}
		}
		b.StopTimer()
		c.remove(api.Pod.Key("d", name))
		b.StartTimer()
	}
}
