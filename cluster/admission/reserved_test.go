package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

func TestReserved(t *testing.T) {
	const controlled = `metadata: {ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u, controller: true}]}`
	const rs = `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: r, namespace: d}
spec:
  selector: {matchLabels: {app: w}}
  template: {metadata: {labels: {app: w}}, spec: {containers: [{name: c, image: i}]}}`
	tests := []struct {
		name, doc, old, new string
		create              bool
		want                []string
	}{
		{"plain", aPod, ``, ``, true, nil},
		{"label", aPod, ``, `metadata: {labels: {writ.dev/workload: web}}`, true, []string{`DEP012 .metadata.labels["writ.dev/workload"]`}},
		{"annotation of a subdomain", aPod, ``, `metadata: {annotations: {x.writ.dev/a: b}}`, true, []string{`DEP012 .metadata.annotations["x.writ.dev/a"]`}},
		{"someone else's", aPod, ``, `metadata: {annotations: {notwrit.dev/a: b, writ.dev: c}}`, true, nil},
		{"template label", aDeployment, ``, `spec: {template: {metadata: {labels: {app: w, writ.dev/x: z}}}}`, true, []string{`DEP012 .spec.template.metadata.labels["writ.dev/x"]`}},
		{"kept", aPod, `metadata: {labels: {writ.dev/a: b}}`, `metadata: {labels: {writ.dev/a: b}}`, false, nil},
		{"changed", aPod, `metadata: {labels: {writ.dev/a: b}}`, `metadata: {labels: {writ.dev/a: c}}`, false, []string{`DEP012 .metadata.labels["writ.dev/a"]`}},
		{"removed", aPod, `metadata: {labels: {writ.dev/a: b}}`, ``, false, []string{`DEP012 .metadata.labels["writ.dev/a"]`}},
		{"forged controller", aPod, ``, controlled, true, []string{"DEP012 .metadata.ownerReferences[0].controller"}},
		{"forged controller later", aPod, ``, controlled, false, []string{"DEP012 .metadata.ownerReferences[0].controller"}},
		{"forged controller of a ReplicaSet", rs, ``, controlled, true, []string{"DEP012 .metadata.ownerReferences[0].controller"}},
		{"controller kept", aPod, controlled, controlled, false, nil},
		{"owner that is no controller", aPod, ``, `metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: r, uid: u}]}`, true, nil},
		{"node at creation", aPod, ``, `spec: {nodeName: n1}`, true, []string{"DEP012 .spec.nodeName"}},
		{"node later", aPod, ``, `spec: {nodeName: n1}`, false, []string{"DEP012 .spec.nodeName"}},
		{"node kept", aPod, `spec: {nodeName: n1}`, `spec: {nodeName: n1}`, false, nil},
		{"address", aPod, `status: {podIP: 10.64.0.2}`, `status: {podIP: 10.64.0.3}`, false, []string{"DEP012 .status.podIP"}},
		{"start gate", aPod, ``, `status: {conditions: [{type: writ.dev/Granted, status: "True"}]}`, false, []string{"DEP012 .status.conditions[0]"}},
		{"start gate kept", aPod, `status: {conditions: [{type: writ.dev/Granted, status: "True"}]}`, `status: {conditions: [{type: writ.dev/Granted, status: "True"}]}`, false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			new, old := built(t, tt.doc, tt.new), object.Object{}
			if !tt.create {
				old = built(t, tt.doc, tt.old).object
			}
			if diff := cmp.Diff(tt.want, codes(Reserved(new.kind, new.object, old))); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestSystemKindsAreReserved(t *testing.T) {
	o, err := object.Parse([]byte(`{"apiVersion":"writ.dev/v1alpha1","kind":"Grant","metadata":{"name":"g"}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"only the cluster writes a Grant (DEP012)"}
	if diff := cmp.Diff(want, lines(Reserved(api.GrantKind, o, object.Object{}))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
