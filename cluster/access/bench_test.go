package access

import (
	"fmt"
	"testing"

	"github.com/writ-dev/writ/cluster/object"
)

// BenchmarkResolve resolves one namespace of 1000 pods in 20 workloads that
// each use one of the others.
func BenchmarkResolve(b *testing.B) {
	const workloads, replicas = 20, 50
	var list []object.Object
	add := func(format string, args ...any) {
		o, err := object.FromTree(parse(b, fmt.Sprintf(format, args...)))
		if err != nil {
			b.Fatal(err)
		}
		list = append(list, o)
	}
	for w := range workloads {
		add(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: w%[1]d, namespace: d, uid: D-%[1]d}}`, w)
		add(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: w%[1]d-1, namespace: d, uid: R-%[1]d, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: w%[1]d, uid: D-%[1]d, controller: true}]}}`, w)
		add(`{apiVersion: v1, kind: Service, metadata: {name: w%[1]d, namespace: d, uid: S-%[1]d}, spec: {clusterIP: 10.96.0.%[1]d, ports: [{port: 80}]}}`, w)
		add(`{apiVersion: writ.dev/v1alpha1, kind: Dependency, metadata: {name: w%[1]d, namespace: d, uid: E-%[1]d}, spec: {consumer: {kind: Deployment, name: w%[1]d}, target: {service: {name: w%[2]d}}}}`, w, (w+1)%workloads)
		ends := ""
		for p := range replicas {
			ip := fmt.Sprintf("10.64.%d.%d", w, p+2)
			add(`{apiVersion: v1, kind: Pod, metadata: {name: w%[1]d-1-%[2]d, namespace: d, uid: P-%[1]d-%[2]d, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: w%[1]d-1, uid: R-%[1]d, controller: true}]}, spec: {nodeName: node}, status: {podIP: %[3]s}}`, w, p, ip)
			ends += fmt.Sprintf(`{addresses: [%s], targetRef: {kind: Pod, uid: P-%d-%d}},`, ip, w, p)
		}
		add(`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: w%[1]d, namespace: d, labels: {kubernetes.io/service-name: w%[1]d}}, addressType: IPv4, ports: [{port: 8080}], endpoints: [%[2]s]}`, w, ends)
	}
	s := NewObjects(list)
	if n := len(Resolve(s, "d").Edges); n != 2*workloads {
		b.Fatalf("%d edges", n)
	}
	for b.Loop() {
		Resolve(s, "d")
	}
}
