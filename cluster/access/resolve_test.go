package access

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	webStore = "d-E-1 Deployment/web[10.64.0.9 10.64.0.10] d/store(10.96.0.5) 6379→[ 10.64.0.20:7000 | 10.64.0.21:7000 ] Ready EndpointsReady"
	storeOwn = "s-D-store-S-store Deployment/store[10.64.0.20 10.64.0.21] d/store(10.96.0.5) 6379→[ 10.64.0.20:7000 | 10.64.0.21:7000 ] 9000→[ 10.64.0.20:9000 | 10.64.0.21:9000 ]"
)

func TestResolve(t *testing.T) {
	tests := []struct {
		name  string
		edits []string
		want  []string
	}{
		{"as written", nil, []string{webStore, storeOwn}},
		{"all ports", []string{`Dependency web-store: {spec: {target: {service: {ports: []}}}}`}, []string{
			"d-E-1 Deployment/web[10.64.0.9 10.64.0.10] d/store(10.96.0.5) 6379→[ 10.64.0.20:7000 | 10.64.0.21:7000 ] 9000→[ 10.64.0.20:9000 | 10.64.0.21:9000 ] Ready EndpointsReady", storeOwn}},
		{"port by number", []string{`Dependency web-store: {spec: {target: {service: {ports: [6379]}}}}`}, []string{webStore, storeOwn}},
		{"port that is not there", []string{`Dependency web-store: {spec: {target: {service: {ports: [redis, nope]}}}}`}, []string{
			"d-E-1 Deployment/web[10.64.0.9 10.64.0.10] d/store(10.96.0.5) 6379→[ 10.64.0.20:7000 | 10.64.0.21:7000 ] Degraded PortMissing", storeOwn}},
		{"headless", []string{`Service store: {spec: {clusterIP: None}}`}, []string{
			"d-E-1 Deployment/web[10.64.0.9 10.64.0.10] d/store(None) 6379→[ 10.64.0.20:7000 | 10.64.0.21:7000 ] Ready EndpointsReady",
			"s-D-store-S-store Deployment/store[10.64.0.20 10.64.0.21] d/store(None) 6379→[ 10.64.0.20:7000 | 10.64.0.21:7000 ] 9000→[ 10.64.0.20:9000 | 10.64.0.21:9000 ]"}},
		{"no service yet", []string{`Service store: null`}, []string{"d-E-1 Deployment/web[10.64.0.9 10.64.0.10] d/store() Pending ServiceMissing"}},
		{"nothing ready", []string{`Pod store-1-a: null`}, []string{
			"d-E-1 Deployment/web[10.64.0.9 10.64.0.10] d/store(10.96.0.5) 6379→[ | 10.64.0.21:7000 ] Pending NoReadyEndpoints",
			"s-D-store-S-store Deployment/store[10.64.0.21] d/store(10.96.0.5) 6379→[ | 10.64.0.21:7000 ] 9000→[ | 10.64.0.21:9000 ]"}},
		{"no consumer", []string{`Deployment web: null`}, []string{
			"d-E-1 Deployment/web[] d/store(10.96.0.5) 6379→[ 10.64.0.20:7000 | 10.64.0.21:7000 ] Degraded ConsumerMissing", storeOwn}},
		{"no dependency", []string{`Dependency web-store: null`}, []string{storeOwn}},

		// Who holds an address.
		{"consumer ended", []string{`Pod web-1-a: {status: {phase: Succeeded}}`, `Pod web-1-b: {status: {phase: Failed}}`}, []string{
			"d-E-1 Deployment/web[] d/store(10.96.0.5) 6379→[ 10.64.0.20:7000 | 10.64.0.21:7000 ] Ready EndpointsReady", storeOwn}},
		{"consumer not bound", []string{`Pod web-1-a: {spec: {nodeName: ""}}`, `Pod web-1-b: {status: {podIP: ""}}`}, []string{
			"d-E-1 Deployment/web[] d/store(10.96.0.5) 6379→[ 10.64.0.20:7000 | 10.64.0.21:7000 ] Ready EndpointsReady", storeOwn}},
		{"consumer terminating keeps access", []string{`Pod web-1-a: {metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}}`}, []string{webStore, storeOwn}},
		{"ended backend", []string{`Pod store-1-b: {status: {phase: Failed}}`}, []string{
			"d-E-1 Deployment/web[10.64.0.9 10.64.0.10] d/store(10.96.0.5) 6379→[ 10.64.0.20:7000 | ] Ready EndpointsReady",
			"s-D-store-S-store Deployment/store[10.64.0.20] d/store(10.96.0.5) 6379→[ 10.64.0.20:7000 | ] 9000→[ 10.64.0.20:9000 | ]"}},
		{"slice with a stale address", []string{`Pod store-1-a: {status: {podIP: 10.64.0.30}}`}, []string{
			"d-E-1 Deployment/web[10.64.0.9 10.64.0.10] d/store(10.96.0.5) 6379→[ | 10.64.0.21:7000 ] Pending NoReadyEndpoints",
			"s-D-store-S-store Deployment/store[10.64.0.21 10.64.0.30] d/store(10.96.0.5) 6379→[ | 10.64.0.21:7000 ] 9000→[ | 10.64.0.21:9000 ]"}},
		{"slice without a pod", []string{`EndpointSlice evil: {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: evil, namespace: d, labels: {kubernetes.io/service-name: store}}, addressType: IPv4, ports: [{name: redis, port: 7000}], endpoints: [{addresses: [10.64.0.99]}, {addresses: [10.64.0.99], targetRef: {kind: Pod, uid: P-store-a}}]}`},
			[]string{webStore, storeOwn}},

		// Who acts for whom.
		{"labels do not count", []string{`Pod evil: {apiVersion: v1, kind: Pod, metadata: {name: evil, namespace: d, uid: P-evil, labels: {app: web}}, spec: {nodeName: node}, status: {podIP: 10.64.0.66}}`},
			[]string{webStore, storeOwn}},
		{"owner of another UID", []string{`ReplicaSet web-1: {metadata: {uid: R-new}}`}, []string{
			"d-E-1 Deployment/web[] d/store(10.96.0.5) 6379→[ 10.64.0.20:7000 | 10.64.0.21:7000 ] Ready EndpointsReady", storeOwn}},
		{"deployment made again", []string{`Deployment web: {metadata: {uid: D-new}}`}, []string{
			"d-E-1 Deployment/web[] d/store(10.96.0.5) 6379→[ 10.64.0.20:7000 | 10.64.0.21:7000 ] Ready EndpointsReady", storeOwn}},
		{"labels that join a Service give no access to its other pods", []string{
			`Pod evil: {apiVersion: v1, kind: Pod, metadata: {name: evil, namespace: d, uid: P-evil, labels: {app: store}}, spec: {nodeName: node}, status: {podIP: 10.64.0.66}}`,
			`EndpointSlice store-y: {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: store-y, namespace: d, labels: {kubernetes.io/service-name: store}}, addressType: IPv4, ports: [{name: redis, port: 7000}], endpoints: [{addresses: [10.64.0.66], targetRef: {kind: Pod, uid: P-evil}}]}`},
			[]string{
				"d-E-1 Deployment/web[10.64.0.9 10.64.0.10] d/store(10.96.0.5) 6379→[ 10.64.0.20:7000 10.64.0.66:7000 | 10.64.0.21:7000 ] Ready EndpointsReady",
				storeOwn,
				"s-P-evil-S-store Pod/evil[10.64.0.66] d/store(10.96.0.5) 6379→[ 10.64.0.66:7000 | ] 9000→[ | ]"}},
		{"a pod as consumer, across namespaces", []string{
			`Pod tool: {apiVersion: v1, kind: Pod, metadata: {name: tool, namespace: x, uid: P-tool}, spec: {nodeName: node}, status: {podIP: 10.64.0.7}}`,
			`Dependency tool: {apiVersion: writ.dev/v1alpha1, kind: Dependency, metadata: {name: tool, namespace: x, uid: E-2}, spec: {consumer: {kind: Pod, name: tool}, target: {service: {namespace: d, name: store, ports: ["6379"]}}}}`},
			[]string{webStore,
				"d-E-2 Pod/tool[10.64.0.7] d/store(10.96.0.5) 6379→[ 10.64.0.20:7000 | 10.64.0.21:7000 ] Ready EndpointsReady",
				storeOwn}},
		{"a job as consumer", []string{
			`Job j: {apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: d, uid: J-1}}`,
			`Pod j-a: {apiVersion: v1, kind: Pod, metadata: {name: j-a, namespace: d, uid: P-j, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: J-1, controller: true}]}, spec: {nodeName: node}, status: {podIP: 10.64.0.8}}`,
			`Dependency web-store: {spec: {consumer: {kind: Job, name: j}}}`},
			[]string{"d-E-1 Job/j[10.64.0.8] d/store(10.96.0.5) 6379→[ 10.64.0.20:7000 | 10.64.0.21:7000 ] Ready EndpointsReady", storeOwn}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := state(t, tt.edits...)
			if diff := cmp.Diff(tt.want, show(Resolve(s, ""))); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestResolveOneNamespace(t *testing.T) {
	s := state(t, `Dependency tool: {apiVersion: writ.dev/v1alpha1, kind: Dependency, metadata: {name: tool, namespace: x, uid: E-2}, spec: {consumer: {kind: Pod, name: tool}, target: {service: {namespace: d, name: store}}}}`)
	if diff := cmp.Diff([]string{webStore, storeOwn}, show(Resolve(s, "d"))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if n := len(Resolve(s, "x").Edges); n != 1 {
		t.Errorf("%d edges in x, want 1", n)
	}
}

func TestResolveIsDeterministic(t *testing.T) {
	first := Resolve(state(t), "")
	for range 20 {
		if diff := cmp.Diff(show(first), show(Resolve(state(t), ""))); diff != "" {
			t.Fatalf("-first +again\n%s", diff)
		}
	}
}
