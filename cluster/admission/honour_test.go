package admission

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

func TestUnhonoured(t *testing.T) {
	in := func(container string) string {
		return `spec: {template: {spec: {containers: [{name: c, image: i, ` + container + `}]}}}`
	}
	spec := func(pod string) string { return `spec: {template: {spec: {` + pod + `}}}` }
	const c = ".spec.template.spec.containers[0]"
	tests := []struct {
		name, doc, change string
		want              []string
	}{
		{"hostNetwork", aDeployment, spec(`hostNetwork: true`), []string{".spec.template.spec.hostNetwork: a pod on the host's network would bypass its declared dependencies (DEP010); remove it; publish ports with a Service of type NodePort"}},
		{"hostPID and hostIPC", aDeployment, spec(`hostPID: true, hostIPC: true`), []string{
			".spec.template.spec.hostIPC: a pod in the host's IPC namespace could talk past its declared dependencies (DEP010); remove it",
			".spec.template.spec.hostPID: a pod that sees the host's processes could enter their networks (DEP010); remove it"}},
		{"hostPort", aDeployment, in(`ports: [{containerPort: 80, hostPort: 80}]`), []string{c + ".ports[0].hostPort: a host port would be reachable by what did not declare it (DEP010); remove it; publish ports with a Service of type NodePort"}},
		{"privileged", aDeployment, in(`securityContext: {privileged: true}`), []string{c + ".securityContext.privileged: a privileged container could switch enforcement off (DEP010); remove it"}},
		{"capabilities", aDeployment, in(`securityContext: {capabilities: {add: [NET_RAW, CAP_SYS_ADMIN, SYS_TIME]}}`), []string{
			c + ".securityContext.capabilities.add[0]: with NET_RAW a container could get around its declared dependencies (DEP010); remove it",
			c + ".securityContext.capabilities.add[1]: with CAP_SYS_ADMIN a container could get around its declared dependencies (DEP010); remove it",
			c + ".securityContext.capabilities.add[2]: not supported by Writ yet: capability SYS_TIME; remove it"}},
		{"affinity", aDeployment, spec(`affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: x}]}}`), []string{".spec.template.spec.affinity: not supported by Writ yet: affinity; remove it"}},
		{"scheduler", aDeployment, spec(`schedulerName: mine`), []string{".spec.template.spec.schedulerName: not supported by Writ yet: schedulerName mine; use default-scheduler, or remove it"}},
		{"dnsPolicy", aDeployment, spec(`dnsPolicy: Default`), []string{".spec.template.spec.dnsPolicy: not supported by Writ yet: dnsPolicy Default; use ClusterFirst, or remove it"}},
		{"hostPath", aDeployment, spec(`volumes: [{name: v, hostPath: {path: /}}]`), []string{".spec.template.spec.volumes[0].hostPath: not supported by Writ: a host path could be shared behind the back of declared dependencies; use emptyDir, configMap or secret"}},
		{"gRPC probe", aDeployment, in(`startupProbe: {grpc: {port: 1}}`), []string{c + ".startupProbe.grpc: not supported by Writ yet: gRPC probes; use httpGet, tcpSocket or exec"}},
		{"lifecycle", aDeployment, in(`lifecycle: {preStop: {exec: {command: [sleep, "5"]}}}`), []string{c + ".lifecycle: not supported by Writ yet: lifecycle hooks; remove it; handle SIGTERM in the program"}},
		{"sidecar", aPod, `spec: {initContainers: [{name: x, image: i, restartPolicy: Always}]}`, []string{".spec.initContainers[0].restartPolicy: not supported by Writ yet: sidecar containers; move it to containers"}},
		{"allowPrivilegeEscalation", aPod, container(`securityContext: {allowPrivilegeEscalation: true}`), []string{".spec.containers[0].securityContext.allowPrivilegeEscalation: not supported by Writ: containers never gain privileges; use false, or remove it"}},
		{"SCTP", aPod, container(`ports: [{containerPort: 1, protocol: SCTP}]`), []string{".spec.containers[0].ports[0].protocol: not supported by Writ yet: protocol SCTP; use TCP or UDP, or remove it"}},
		{"LoadBalancer", aService, `spec: {type: LoadBalancer}`, []string{".spec.type: not supported by Writ yet: type LoadBalancer; use NodePort: it is published on 127.0.0.1 of the host"}},
		{"ExternalName", aService, `spec: {type: ExternalName, externalName: x.org}`, []string{
			".spec.externalName: not supported by Writ: an external name would reach outside without a declaration; remove the Service",
			".spec.type: not supported by Writ: type ExternalName would reach outside without a declaration; remove the Service"}},
		{"externalIPs", aService, `spec: {externalIPs: [1.2.3.4]}`, []string{".spec.externalIPs: not supported by Writ: external IPs could take over other addresses; use type NodePort"}},
		{"sessionAffinity", aService, `spec: {sessionAffinity: ClientIP}`, []string{".spec.sessionAffinity: not supported by Writ yet: sessionAffinity ClientIP; use None, or remove it"}},
		{"indexed job", aJob, `spec: {completionMode: Indexed, completions: 2}`, []string{".spec.completionMode: not supported by Writ yet: completionMode Indexed; use NonIndexed, or remove it"}},
		{"what means nothing", aDeployment, spec(`hostNetwork: false, hostPID: false, shareProcessNamespace: false, affinity: {}, tolerations: [], priorityClassName: "", imagePullSecrets: []`), nil},
		{"what is on anyway", aDeployment, spec(`enableServiceLinks: true, hostUsers: true, schedulerName: default-scheduler, dnsPolicy: ClusterFirst`), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := built(t, tt.doc, tt.change)
			if diff := cmp.Diff(tt.want, lines(Validate(s.kind, s.object, object.Object{}))); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestHonouredFieldsExist finds misspelt lines in the lists: each must be a
// field of the kind's Go type.
func TestHonouredFieldsExist(t *testing.T) {
	var walk func(at string, a *allow, s *schema)
	walk = func(at string, a *allow, s *schema) {
		for name, f := range a.fields {
			switch {
			case s.shape == dict:
				walk(at+"."+name, f, s.elem)
			case s.shape != record || s.fields[name] == nil:
				t.Errorf("%s has no field %q", at, name)
			default:
				walk(at+"."+name, f, s.fields[name])
			}
		}
		if a.elem != nil {
			if s.shape != list {
				t.Errorf("%s is no list", at)
				return
			}
			walk(at+"[]", a.elem, s.elem)
		}
		if a.all && s.shape != record && s.shape != dict {
			t.Errorf("%s has nothing beneath", at)
		}
	}
	for kind, a := range honoured() {
		i := slices.IndexFunc(api.Kinds, func(k api.Kind) bool { return k.Kind == kind })
		if i < 0 {
			t.Errorf("%s is not served", kind)
			continue
		}
		if a.fields["status"] != nil && schemaOf(reflect.TypeOf(api.Kinds[i].New())).fields["status"] == nil {
			delete(a.fields, "status")
		}
		walk(kind, a, schemaOf(reflect.TypeOf(api.Kinds[i].New())))
	}
}
