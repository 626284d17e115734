package access

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/cluster/api"
)

func TestCheck(t *testing.T) {
	tests := []struct {
		name  string
		edits []string
		want  []string
	}{
		{"fine", nil, nil},
		{"target does not exist yet", []string{`Service store: null`}, nil},
		{"DEP001", []string{`Deployment web: null`}, []string{
			".spec.consumer.name: the consumer Deployment d/web does not exist (DEP001); create the Deployment first, or in the same transaction"}},
		{"DEP001, misspelt", []string{`Dependency web-store: {spec: {consumer: {name: wbe}}}`}, []string{
			`.spec.consumer.name: the consumer Deployment d/wbe does not exist (DEP001); did you mean "web"?`}},
		{"DEP002", []string{`Dependency web-store: {spec: {target: {service: {ports: [rediss, 80, 6379]}}}}`}, []string{
			`.spec.target.service.ports[0]: Service d/store has no port rediss (DEP002); did you mean "redis"?`,
			`.spec.target.service.ports[1]: Service d/store has no port 80 (DEP002); it has 6379 (redis), 9000 (stats)`}},
		{"DEP005", []string{`Dependency web-store: {spec: {consumer: {name: store}, start: ready}}`}, []string{
			".spec.start: Deployment/store would wait for itself: Service d/store selects its own pods (DEP005); use start: none, or remove the Dependency: a workload may always use its own Services"}},
		{"DEP004", []string{`Dependency web-store: {spec: {start: ready}}`,
			`Service web: {apiVersion: v1, kind: Service, metadata: {name: web, namespace: d}, spec: {selector: {app: web}}}`,
			`Dependency store-web: {apiVersion: writ.dev/v1alpha1, kind: Dependency, metadata: {name: store-web, namespace: d}, spec: {consumer: {kind: Deployment, name: store}, start: ready, target: {service: {name: web}}}}`},
			[]string{".spec.start: nothing in this circle could ever start: Deployment/web → Service d/store → Deployment/store → Service d/web → Deployment/web (DEP004); use start: none in one of the Dependencies"}},
		{"a circle of use", []string{
			`Service web: {apiVersion: v1, kind: Service, metadata: {name: web, namespace: d}, spec: {selector: {app: web}}}`,
			`Dependency store-web: {apiVersion: writ.dev/v1alpha1, kind: Dependency, metadata: {name: store-web, namespace: d}, spec: {consumer: {kind: Deployment, name: store}, start: ready, target: {service: {name: web}}}}`},
			nil},
		{"a circle with another way in", []string{`Dependency web-store: {spec: {start: ready}}`,
			`Service web: {apiVersion: v1, kind: Service, metadata: {name: web, namespace: d}, spec: {selector: {app: web}}}`,
			`Dependency store-web: {apiVersion: writ.dev/v1alpha1, kind: Dependency, metadata: {name: store-web, namespace: d}, spec: {consumer: {kind: Deployment, name: store}, start: ready, target: {service: {name: web}}}}`,
			`Job seed: {apiVersion: batch/v1, kind: Job, metadata: {name: seed, namespace: d}, spec: {template: {metadata: {labels: {app: store}}}}}`},
			nil},
		{"a CronJob uses it", []string{`Dependency web-store: {spec: {consumer: {kind: CronJob, name: night}}}`,
			`CronJob night: {apiVersion: batch/v1, kind: CronJob, metadata: {name: night, namespace: d}}`}, nil},
		{"DEP001, a CronJob", []string{`Dependency web-store: {spec: {consumer: {kind: CronJob, name: night}}}`}, []string{
			".spec.consumer.name: the consumer CronJob d/night does not exist (DEP001); create the CronJob first, or in the same transaction"}},
		{"DEP005, a CronJob", []string{`Dependency web-store: {spec: {consumer: {kind: CronJob, name: night}, start: ready}}`,
			`CronJob night: {apiVersion: batch/v1, kind: CronJob, metadata: {name: night, namespace: d}, spec: {jobTemplate: {spec: {template: {metadata: {labels: {app: night}}}}}}}`,
			`Service store: {spec: {selector: {app: night}}}`}, []string{
			".spec.start: CronJob/night would wait for itself: Service d/store selects its own pods (DEP005); use start: none, or remove the Dependency: a workload may always use its own Services"}},
		{"self without waiting", []string{`Dependency web-store: {spec: {consumer: {name: store}}}`}, nil},
		{"waiting for another", []string{`Dependency web-store: {spec: {start: ready}}`}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := state(t, tt.edits...)
			d, ok := s.Get(api.DependencyKind.Key("d", "web-store"))
			if !ok {
				t.Fatal("no dependency")
			}
			var got []string
			for _, p := range Check(s, d) {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestAllow(t *testing.T) {
	p := Resolve(state(t), "")
	tests := []struct {
		from, to, protocol string
		want               Decision
	}{
		{"10.64.0.9:4000", "10.96.0.5:6379", "TCP", Decision{true, "d-E-1", "Dependency d/web-store lets Deployment/web use Service d/store"}},
		{"10.64.0.9:4000", "10.64.0.20:7000", "TCP", Decision{true, "d-E-1", "Dependency d/web-store lets Deployment/web use Service d/store"}},
		{"10.64.0.9:4000", "10.64.0.21:7000", "TCP", Decision{true, "d-E-1", "Dependency d/web-store lets Deployment/web use Service d/store"}},
		{"10.64.0.20:4000", "10.96.0.5:9000", "TCP", Decision{true, "s-D-store-S-store", "Deployment/store is behind Service d/store itself"}},
		{"10.64.0.9:4000", "10.96.0.5:9000", "TCP", Decision{Reason: "Deployment/web declares nothing at 10.96.0.5:9000/TCP"}},
		{"10.64.0.9:4000", "10.96.0.5:6379", "UDP", Decision{Reason: "Deployment/web declares nothing at 10.96.0.5:6379/UDP"}},
		{"10.64.0.20:6379", "10.64.0.9:4000", "TCP", Decision{Reason: "Deployment/store declares nothing at 10.64.0.9:4000/TCP"}},
		{"10.64.0.66:1", "10.96.0.5:6379", "TCP", Decision{Reason: "10.64.0.66 is no pod that declares anything"}},
	}
	for _, tt := range tests {
		got := p.Allow(netip.MustParseAddrPort(tt.from), netip.MustParseAddrPort(tt.to), tt.protocol)
		if got != tt.want {
			t.Errorf("%s → %s/%s: %+v, want %+v", tt.from, tt.to, tt.protocol, got, tt.want)
		}
	}
}

func TestExplain(t *testing.T) {
	web := api.WorkloadReference{Kind: "Deployment", Name: "web"}
	tests := []struct {
		name   string
		edits  []string
		who    api.WorkloadReference
		target api.ServiceTarget
		want   Decision
	}{
		{"declared", nil, web, api.ServiceTarget{Name: "store"}, Decision{true, "d-E-1", "Dependency d/web-store lets Deployment/web use Service d/store"}},
		{"declared port", nil, web, api.ServiceTarget{Name: "store", Ports: []api.PortName{"6379"}}, Decision{true, "d-E-1", "Dependency d/web-store lets Deployment/web use Service d/store"}},
		{"other port", nil, web, api.ServiceTarget{Name: "store", Ports: []api.PortName{"stats"}}, Decision{Reason: "Deployment/web declares Service d/store, but not its port stats"}},
		{"own", nil, api.WorkloadReference{Kind: "Deployment", Name: "store"}, api.ServiceTarget{Name: "store"}, Decision{true, "s-D-store-S-store", "Deployment/store is behind Service d/store itself"}},
		{"undeclared", nil, web, api.ServiceTarget{Namespace: "x", Name: "db"}, Decision{Reason: "Deployment/web does not declare Service x/db"}},
		{"not there", []string{`Service store: null`}, web, api.ServiceTarget{Name: "store"}, Decision{true, "d-E-1", "Dependency d/web-store lets Deployment/web use Service d/store, but Service d/store does not exist"}},
	}
	for _, tt := range tests {
		if got := Explain(state(t, tt.edits...), "d", tt.who, tt.target); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
