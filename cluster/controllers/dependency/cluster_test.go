package dependency

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/registry"
	"github.com/writ-dev/writ/cluster/store"
)

// cluster is a real registry over a real store, without consensus.
type cluster struct {
	t testing.TB
	*registry.Client
	proposer store.Proposer
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	s := store.New(store.Options{})
	proposer := store.Local(s)
	r, err := registry.New(registry.Options{Store: s, Proposer: proposer})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, Client: r.As(registry.System), proposer: proposer}
	if err := c.Bootstrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.make(`{apiVersion: v1, kind: Namespace, metadata: {name: d}}`)
	c.make(`{apiVersion: v1, kind: Namespace, metadata: {name: x}}`)
	c.make(`{apiVersion: v1, kind: Node, metadata: {name: node}}`)
	return c
}

// run starts the controller, until the test ends.
func (c *cluster) run() {
	c.t.Helper()
	ctl, err := New(controller.Env{Client: c.Client})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ctl.Run(ctx) }()
	c.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			c.t.Error(err)
		}
	})
}

// make creates the object that doc describes.
func (c *cluster) make(doc string) object.Object {
	c.t.Helper()
	b, err := yaml.YAMLToJSONStrict([]byte(doc))
	if err != nil {
		c.t.Fatal(err)
	}
	o, err := object.Parse(b)
	if err != nil {
		c.t.Fatal(err)
	}
	if o, err = c.Create(c.t.Context(), o); err != nil {
		c.t.Fatal(err)
	}
	return o
}

// deployment creates a Deployment and its ReplicaSet NAME-1, and returns the
// ReplicaSet's UID.
func (c *cluster) deployment(namespace, name string) string {
	c.t.Helper()
	spec := `spec: {replicas: 0, selector: {matchLabels: {app: ` + name + `}}, template: {metadata: {labels: {app: ` + name + `}}, spec: {containers: [{name: c, image: i}]}}}`
	d := c.make(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: ` + name + `, namespace: ` + namespace + `}, ` + spec + `}`)
	rs := c.make(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: ` + name + `-1, namespace: ` + namespace + `, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: ` + name + `, uid: ` + d.Meta().UID + `, controller: true}]}, ` + spec + `}`)
	return rs.Meta().UID
}

// pod creates a pod of the ReplicaSet NAME-1 and binds it; empty rs means a
// pod of its own.
func (c *cluster) pod(namespace, name, of, rs string) object.Object {
	c.t.Helper()
	owner := ""
	if rs != "" {
		owner = `, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: ` + of + `-1, uid: ` + rs + `, controller: true}]`
	}
	c.make(`{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `, namespace: ` + namespace + `, labels: {app: ` + of + `}` + owner + `}, spec: {containers: [{name: c, image: i}]}}`)
	if _, err := c.Bind(c.t.Context(), namespace, name, "", "node", registry.WriteOptions{}); err != nil {
		c.t.Fatal(err)
	}
	return c.get(api.Pod.Key(namespace, name))
}

func (c *cluster) get(k object.Key) object.Object {
	c.t.Helper()
	o, err := c.Get(c.t.Context(), k)
	if err != nil {
		c.t.Fatal(err)
	}
	return o
}

func decode[T any](t testing.TB, o object.Object) *T {
	t.Helper()
	v, err := api.Decode[T](o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// service creates the Service name and an EndpointSlice of the pods with
// their readiness.
func (c *cluster) service(namespace, name string) object.Object {
	c.t.Helper()
	return c.make(`{apiVersion: v1, kind: Service, metadata: {name: ` + name + `, namespace: ` + namespace + `}, spec: {selector: {app: ` + name + `}, ports: [{name: redis, port: 6379}]}}`)
}

// endpoints writes the EndpointSlice of a Service: its pods, ready or not.
func (c *cluster) endpoints(namespace, name string, ready bool, pods ...object.Object) {
	c.t.Helper()
	doc := `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: ` + name + `, namespace: ` + namespace + `, labels: {kubernetes.io/service-name: ` + name + `}}, addressType: IPv4, ports: [{name: redis, port: 7000}], endpoints: [`
	for _, p := range pods {
		is := "false"
		if ready {
			is = "true"
		}
		doc += `{addresses: [` + decode[corev1.Pod](c.t, p).Status.PodIP + `], conditions: {ready: ` + is + `}, targetRef: {kind: Pod, uid: ` + p.Meta().UID + `}},`
	}
	doc += `]}`
	if _, err := c.Get(c.t.Context(), api.EndpointSlice.Key(namespace, name)); err == nil {
		b, err := yaml.YAMLToJSONStrict([]byte(doc))
		if err != nil {
			c.t.Fatal(err)
		}
		o, err := object.Parse(b)
		if err != nil {
			c.t.Fatal(err)
		}
		if _, err := c.Update(c.t.Context(), o); err != nil {
			c.t.Fatal(err)
		}
		return
	}
	c.make(doc)
}

// phase writes a pod's phase as a node agent does.
func (c *cluster) phase(k object.Key, phase corev1.PodPhase) {
	c.t.Helper()
	c.setStatus(k, func(p *corev1.Pod) { p.Status.Phase = phase })
}

func (c *cluster) setStatus(k object.Key, edit func(*corev1.Pod)) {
	c.t.Helper()
	p := decode[corev1.Pod](c.t, c.get(k)).DeepCopy()
	edit(p)
	p.ResourceVersion = ""
	o, err := api.Encode(api.Pod, p)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.UpdateStatus(c.t.Context(), o); err != nil {
		c.t.Fatal(err)
	}
}

// remove deletes an object for good.
func (c *cluster) remove(k object.Key) {
	c.t.Helper()
	zero := int64(0)
	if _, err := c.DeleteWith(c.t.Context(), k, registry.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		c.t.Fatal(err)
	}
}

// until polls for ok, for at most some seconds.
func (c *cluster) until(what string, ok func() bool) {
	c.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			c.t.Fatalf("not in time: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// grants returns the Grants that stand for dependencies, by their name.
func (c *cluster) grants() map[string]*api.Grant {
	c.t.Helper()
	l, err := c.List(c.t.Context(), api.GrantKind, api.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	out := map[string]*api.Grant{}
	for _, o := range l.Items {
		if g := decode[api.Grant](c.t, o); g.Spec.Dependency != "" {
			out[g.Spec.Dependency] = g
		}
	}
	return out
}

func (c *cluster) isGranted(k object.Key) bool {
	c.t.Helper()
	return granted(decode[corev1.Pod](c.t, c.get(k)))
}
