package access

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/writ-dev/writ/cluster/object"
)

// world is a cluster written down: web (Deployment, two pods) declares store
// (Deployment, two pods, one not ready, behind a Service of the same name).
const world = `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: d, uid: D-web}, spec: {template: {metadata: {labels: {app: web}}}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, namespace: d, uid: R-web, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: D-web, controller: true}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-1-a, namespace: d, uid: P-web-a, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: R-web, controller: true}]}, spec: {nodeName: node}, status: {podIP: 10.64.0.10, phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-1-b, namespace: d, uid: P-web-b, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: R-web, controller: true}]}, spec: {nodeName: node}, status: {podIP: 10.64.0.9, phase: Pending}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: store, namespace: d, uid: D-store}, spec: {template: {metadata: {labels: {app: store}}}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: store-1, namespace: d, uid: R-store, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: store, uid: D-store, controller: true}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: store-1-a, namespace: d, uid: P-store-a, labels: {app: store}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: store-1, uid: R-store, controller: true}]}, spec: {nodeName: node}, status: {podIP: 10.64.0.20, phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: store-1-b, namespace: d, uid: P-store-b, labels: {app: store}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: store-1, uid: R-store, controller: true}]}, spec: {nodeName: node}, status: {podIP: 10.64.0.21, phase: Running}}
---
{apiVersion: v1, kind: Service, metadata: {name: store, namespace: d, uid: S-store}, spec: {clusterIP: 10.96.0.5, selector: {app: store}, ports: [{name: redis, port: 6379, protocol: TCP, targetPort: db}, {name: stats, port: 9000, protocol: TCP}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: store-x, namespace: d, labels: {kubernetes.io/service-name: store}}, addressType: IPv4, ports: [{name: redis, port: 7000, protocol: TCP}, {name: stats, port: 9000, protocol: TCP}], endpoints: [{addresses: [10.64.0.20], conditions: {ready: true}, targetRef: {kind: Pod, uid: P-store-a}}, {addresses: [10.64.0.21], conditions: {ready: false}, targetRef: {kind: Pod, uid: P-store-b}}]}
---
{apiVersion: writ.dev/v1alpha1, kind: Dependency, metadata: {name: web-store, namespace: d, uid: E-1}, spec: {consumer: {kind: Deployment, name: web}, target: {service: {namespace: d, name: store, ports: [redis]}}, start: none, mode: enforce}}
`

// state parses world with edits: each is "KIND NAME: YAML", laid over that
// object (maps merge, all else replaces), "KIND NAME: null" removes it; a name
// not in world is added.
func state(t testing.TB, edits ...string) *Objects {
	t.Helper()
	var docs []map[string]any
	for doc := range strings.SplitSeq(world, "---\n") {
		docs = append(docs, parse(t, doc))
	}
	for _, e := range edits {
		id, change, ok := strings.Cut(e, ": ")
		if !ok {
			t.Fatalf("edit %q", e)
		}
		var over map[string]any
		if change != "null" {
			over = parse(t, change)
		}
		found := false
		for i, d := range docs {
			if d != nil && id == fmt.Sprint(d["kind"], " ", d["metadata"].(map[string]any)["name"]) {
				found = true
				if over == nil {
					docs[i] = nil
				} else {
					merge(d, over)
				}
			}
		}
		if !found {
			docs = append(docs, over)
		}
	}
	var list []object.Object
	for _, d := range docs {
		if d == nil {
			continue
		}
		o, err := object.FromTree(d)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, o)
	}
	return NewObjects(list)
}

func parse(t testing.TB, doc string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := yaml.UnmarshalStrict([]byte(doc), &m); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	return m
}

func merge(base, over map[string]any) {
	for key, v := range over {
		b, isMap := base[key].(map[string]any)
		if o, ok := v.(map[string]any); ok && isMap {
			merge(b, o)
		} else {
			base[key] = v
		}
	}
}

// show writes a policy down, one line an edge:
// GRANT CONSUMER[from] SERVICE(clusterIP) PORT→[ready|not ready] PHASE REASON.
func show(p Policy) []string {
	var out []string
	for _, e := range p.Edges {
		g := e.Spec
		var from []string
		for _, f := range g.From {
			from = append(from, f.IP)
		}
		line := fmt.Sprintf("%s %s%v %s/%s(%s)", e.Grant, g.Consumer, from, g.ServiceNamespace, g.ServiceName, g.ClusterIP)
		for _, p := range g.Ports {
			line += fmt.Sprintf(" %d→[", p.Port)
			for _, end := range p.Endpoints {
				line += fmt.Sprintf(" %s:%d", end.IP, end.Port)
			}
			line += " |"
			for _, end := range p.NotReady {
				line += fmt.Sprintf(" %s:%d", end.IP, end.Port)
			}
			line += " ]"
		}
		if !e.Dependency.IsZero() {
			line += " " + e.Phase + " " + e.Reason
		}
		out = append(out, line)
	}
	return out
}
