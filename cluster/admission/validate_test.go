package admission

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// The least valid object of the kinds most tested.
const (
	aPod = `
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: d}
spec:
  containers: [{name: c, image: i}]`
	aDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: w, namespace: d}
spec:
  selector: {matchLabels: {app: w}}
  template:
    metadata: {labels: {app: w}}
    spec:
      containers: [{name: c, image: i}]`
	aJob = `
apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: d}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}`
	aService = `
apiVersion: v1
kind: Service
metadata: {name: s, namespace: d}
spec: {selector: {app: w}, ports: [{port: 80}]}`
	aDependency = `
apiVersion: writ.dev/v1alpha1
kind: Dependency
metadata: {name: e, namespace: d}
spec:
  consumer: {kind: Deployment, name: w}
  target: {service: {name: s}}`
	aConfigMap = `
apiVersion: v1
kind: ConfigMap
metadata: {name: m, namespace: d}
data: {a: "1"}`
	aSecret = `
apiVersion: v1
kind: Secret
metadata: {name: t, namespace: d}
data: {a: MQ==}`
)

// built parses doc, lays change over it (maps merge, all else replaces) and
// gives it its defaults.
func built(t *testing.T, doc, change string) sample {
	t.Helper()
	var base, over map[string]any
	if err := yaml.Unmarshal([]byte(doc), &base); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(change), &over); err != nil {
		t.Fatal(err)
	}
	merge(base, over)
	b, err := yaml.Marshal(base)
	if err != nil {
		t.Fatal(err)
	}
	s := fromYAML(t, string(b))
	if ps := Strict(s.kind, s.object); len(ps) != 0 {
		t.Fatalf("strict: %v", ps)
	}
	if s.object, err = Default(s.kind, s.object); err != nil {
		t.Fatal(err)
	}
	return s
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

// codes formats problems as "CODE path".
func codes(ps []Problem) []string {
	var out []string
	for _, p := range ps {
		out = append(out, p.Code+" "+p.Path)
	}
	return out
}

// container makes a change of the first container.
func container(yaml string) string {
	return `spec: {containers: [{name: c, image: i, ` + yaml + `}]}`
}

const (
	required    = api.CodeRequired
	invalid     = api.CodeInvalid
	duplicate   = api.CodeDuplicate
	notFound    = api.CodeNotFound
	immutable   = api.CodeImmutable
	unsupported = api.CodeUnsupported
)

func TestValidate(t *testing.T) {
	tests := []struct {
		name, doc, change string
		want              []string
	}{
		{"pod", aPod, ``, nil},
		{"deployment", aDeployment, ``, nil},
		{"job", aJob, ``, nil},
		{"service", aService, ``, nil},
		{"dependency", aDependency, ``, nil},

		{"name", aPod, `metadata: {name: Big_Name}`, []string{invalid + " .metadata.name"}},
		{"no name", aPod, `metadata: {name: ""}`, []string{required + " .metadata.name"}},
		{"service name is a DNS label", aService, `metadata: {name: 1.s}`, []string{invalid + " .metadata.name"}},
		{"label key", aPod, `metadata: {labels: {"a b": x}}`, []string{invalid + ` .metadata.labels["a b"]`}},
		{"label value", aPod, `metadata: {labels: {a: "x y"}}`, []string{invalid + " .metadata.labels.a"}},
		{"two controllers", aPod, `metadata: {ownerReferences: [{apiVersion: v1, kind: A, name: a, uid: "1", controller: true}, {apiVersion: v1, kind: A, name: b, uid: "2", controller: true}]}`,
			[]string{invalid + " .metadata.ownerReferences[1].controller"}},

		{"no containers", aPod, `spec: {containers: []}`, []string{required + " .spec.containers"}},
		{"no image", aPod, `spec: {containers: [{name: c}]}`, []string{required + " .spec.containers[0].image"}},
		{"registry upper case", aPod, `spec: {containers: [{name: c, image: "Reg.io/app:V1"}]}`, nil},
		{"image not lower case", aPod, `spec: {containers: [{name: c, image: "App"}]}`, []string{invalid + " .spec.containers[0].image"}},
		{"image with space", aPod, `spec: {containers: [{name: c, image: "app "}]}`, []string{invalid + " .spec.containers[0].image"}},
		{"container names", aPod, `spec: {initContainers: [{name: c, image: i}]}`, []string{duplicate + " .spec.containers[0].name"}},
		{"port range", aPod, container(`ports: [{containerPort: 70000}]`), []string{invalid + " .spec.containers[0].ports[0].containerPort"}},
		{"port twice", aPod, container(`ports: [{containerPort: 80, name: a}, {containerPort: 80, name: b}]`), []string{duplicate + " .spec.containers[0].ports[1]"}},
		{"port by protocol", aPod, container(`ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}]`), nil},
		{"port name twice", aPod, container(`ports: [{containerPort: 80, name: a}, {containerPort: 81, name: a}]`), []string{duplicate + " .spec.containers[0].ports[1].name"}},
		{"env name", aPod, container(`env: [{name: "A=B", value: x}]`), []string{invalid + " .spec.containers[0].env[0].name"}},
		{"env twice", aPod, container(`env: [{name: A, value: x}, {name: A, value: z}]`), []string{duplicate + " .spec.containers[0].env[1].name"}},
		{"env value and source", aPod, container(`env: [{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]`), []string{invalid + " .spec.containers[0].env[0]"}},
		{"env field", aPod, container(`env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.nam}}}]`), []string{unsupported + " .spec.containers[0].env[0].valueFrom.fieldRef.fieldPath"}},
		{"env key", aPod, container(`env: [{name: A, valueFrom: {secretKeyRef: {name: s}}}]`), []string{required + " .spec.containers[0].env[0].valueFrom.secretKeyRef.key"}},
		{"envFrom nothing", aPod, container(`envFrom: [{prefix: A_}]`), []string{invalid + " .spec.containers[0].envFrom[0]"}},
		{"negative request", aPod, container(`resources: {requests: {cpu: "-1"}}`), []string{invalid + " .spec.containers[0].resources.requests.cpu"}},
		{"request over limit", aPod, container(`resources: {requests: {memory: 2Gi}, limits: {memory: 1Gi}}`), []string{invalid + " .spec.containers[0].resources.requests.memory"}},
		{"probe of nothing", aPod, container(`livenessProbe: {periodSeconds: 1}`), []string{invalid + " .spec.containers[0].livenessProbe"}},
		{"probe of two", aPod, container(`livenessProbe: {exec: {command: [a]}, tcpSocket: {port: 1}}`), []string{invalid + " .spec.containers[0].livenessProbe"}},
		{"probe port unknown", aPod, container(`ports: [{name: http, containerPort: 80}], readinessProbe: {httpGet: {port: htp}}`), []string{notFound + " .spec.containers[0].readinessProbe.httpGet.port"}},
		{"probe numbers", aPod, container(`readinessProbe: {tcpSocket: {port: 1}, periodSeconds: -1}`), []string{invalid + " .spec.containers[0].readinessProbe.periodSeconds"}},
		{"liveness threshold", aPod, container(`livenessProbe: {tcpSocket: {port: 1}, successThreshold: 2}`), []string{invalid + " .spec.containers[0].livenessProbe.successThreshold"}},
		{"probe host, DEP015", aPod, container(`livenessProbe: {httpGet: {port: 80, host: 169.254.169.254}}, readinessProbe: {tcpSocket: {port: 80, host: x}}`),
			[]string{"DEP015 .spec.containers[0].livenessProbe.httpGet.host", "DEP015 .spec.containers[0].readinessProbe.tcpSocket.host"}},
		{"mount of no volume", aPod, container(`volumeMounts: [{name: v, mountPath: /v}]`), []string{notFound + " .spec.containers[0].volumeMounts[0].name"}},
		{"mount path", aPod, `spec: {containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /v}, {name: v, mountPath: /v/}, {name: v, mountPath: rel}]}], volumes: [{name: v}]}`,
			[]string{duplicate + " .spec.containers[0].volumeMounts[1].mountPath", invalid + " .spec.containers[0].volumeMounts[2].mountPath"}},
		{"part of an emptyDir", aPod, `spec: {containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /v, subPath: a}]}], volumes: [{name: v}]}`,
			[]string{unsupported + " .spec.containers[0].volumeMounts[0].subPath"}},
		{"usual capability", aPod, container(`securityContext: {capabilities: {drop: [ALL], add: [NET_BIND_SERVICE, CAP_CHOWN]}}`), nil},
		{"probe's grace period", aPod, container(`readinessProbe: {tcpSocket: {port: 1}, terminationGracePeriodSeconds: 1}, livenessProbe: {tcpSocket: {port: 1}, terminationGracePeriodSeconds: 1}`),
			[]string{invalid + " .spec.containers[0].readinessProbe.terminationGracePeriodSeconds"}},
		{"volume twice", aPod, `spec: {volumes: [{name: v}, {name: v}]}`, []string{duplicate + " .spec.volumes[1].name"}},
		{"volume path leads out", aPod, `spec: {volumes: [{name: v, secret: {secretName: s, items: [{key: k, path: a/../../b}]}}]}`, []string{invalid + " .spec.volumes[0].secret.items[0].path"}},
		{"decimal mode", aPod, `spec: {volumes: [{name: v, configMap: {name: m, defaultMode: 755}}]}`, []string{invalid + " .spec.volumes[0].configMap.defaultMode"}},
		{"root but not root", aPod, container(`securityContext: {runAsNonRoot: true, runAsUser: 0}`), []string{invalid + " .spec.containers[0].securityContext.runAsUser"}},

		{"selector", aDeployment, `spec: {selector: {matchLabels: {app: x}}}`, []string{invalid + " .spec.template.metadata.labels"}},
		{"selector empty", aDeployment, `spec: {selector: {matchLabels: null}}`, []string{required + " .spec.selector"}},
		{"replicas", aDeployment, `spec: {replicas: -1}`, []string{invalid + " .spec.replicas"}},
		{"no progress", aDeployment, `spec: {strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0%}}}`, []string{invalid + " .spec.strategy.rollingUpdate"}},
		{"percent", aDeployment, `spec: {strategy: {rollingUpdate: {maxSurge: lots}}}`, []string{invalid + " .spec.strategy.rollingUpdate.maxSurge"}},
		{"recreate rolling", aDeployment, `spec: {strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}}`, []string{invalid + " .spec.strategy.rollingUpdate"}},
		{"deployment restart policy", aDeployment, `spec: {template: {spec: {restartPolicy: Never}}}`, []string{unsupported + " .spec.template.spec.restartPolicy"}},
		{"job restart policy", aJob, `spec: {template: {spec: {restartPolicy: Always}}}`, []string{unsupported + " .spec.template.spec.restartPolicy"}},

		{"service without ports", aService, `spec: {ports: []}`, []string{required + " .spec.ports"}},
		{"headless without ports", aService, `spec: {ports: [], clusterIP: None}`, nil},
		{"service ports unnamed", aService, `spec: {ports: [{port: 80}, {port: 81, name: b}]}`, []string{required + " .spec.ports[0].name"}},
		{"service ports twice", aService, `spec: {ports: [{port: 80, name: a}, {port: 80, name: b}]}`, []string{duplicate + " .spec.ports[1]"}},
		{"node port without NodePort", aService, `spec: {ports: [{port: 80, nodePort: 30000}]}`, []string{invalid + " .spec.ports[0].nodePort"}},
		{"node port range", aService, `spec: {type: NodePort, ports: [{port: 80, nodePort: 80}]}`, []string{invalid + " .spec.ports[0].nodePort"}},
		{"clusterIP", aService, `spec: {clusterIP: 10.96.0.999}`, []string{invalid + " .spec.clusterIPs[0]", invalid + " .spec.clusterIP"}},

		{"config map keys", aConfigMap, `data: {"a/b": x}`, []string{invalid + ` .data["a/b"]`}},
		{"key twice", aConfigMap, `binaryData: {a: MQ==}`, []string{duplicate + " .binaryData.a"}},
		{"tls secret", aSecret, `type: kubernetes.io/tls`, []string{required + ` .data["tls.crt"]`, required + ` .data["tls.key"]`}},

		{"consumer kind, DEP001", aDependency, `spec: {consumer: {kind: Service}}`, []string{"DEP001 .spec.consumer.kind"}},
		{"no consumer", aDependency, `spec: {consumer: {kind: "", name: ""}}`, []string{required + " .spec.consumer.kind", required + " .spec.consumer.name"}},
		{"no target", aDependency, `spec: {target: {service: null}}`, []string{required + " .spec.target.service"}},
		{"start", aDependency, `spec: {start: redy}`, []string{unsupported + " .spec.start"}},
		{"mode", aDependency, `spec: {mode: observe}`, []string{unsupported + " .spec.mode"}},
		{"ports twice", aDependency, `spec: {target: {service: {ports: [80, "80"]}}}`, []string{duplicate + " .spec.target.service.ports[1]"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := built(t, tt.doc, tt.change)
			got := Validate(s.kind, s.object, object.Object{})
			if diff := cmp.Diff(tt.want, codes(got)); diff != "" {
				t.Errorf("-want +got\n%s\n%s", diff, strings.Join(lines(got), "\n"))
			}
		})
	}
}

func TestImmutable(t *testing.T) {
	tests := []struct {
		name, doc, old, new string
		want                []string
	}{
		{"deployment selector", aDeployment, ``, `spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}}}`, []string{immutable + " .spec.selector.matchLabels.app"}},
		{"deployment template", aDeployment, ``, `spec: {template: {spec: {containers: [{name: c, image: j}]}}}`, nil},
		{"job template", aJob, ``, `spec: {template: {spec: {containers: [{name: c, image: j}]}}}`, []string{immutable + " .spec.template.spec.containers[0].image"}},
		{"job parallelism", aJob, ``, `spec: {parallelism: 3, completions: 1}`, nil},
		{"clusterIP", aService, `spec: {clusterIP: 10.96.0.1}`, `spec: {clusterIP: 10.96.0.2}`, []string{immutable + " .spec.clusterIP"}},
		{"clusterIP left out", aService, `spec: {clusterIP: 10.96.0.1}`, ``, nil},
		{"pod spec", aPod, ``, container(`env: [{name: A, value: x}]`), []string{immutable + " .spec.containers[0].env"}},
		{"pod quantity by value", aPod, container(`resources: {requests: {cpu: 1000m}}`), container(`resources: {requests: {cpu: 1}}`), nil},
		{"pod binding", aPod, ``, `spec: {nodeName: n1}`, nil},
		{"pod rebinding", aPod, `spec: {nodeName: n1}`, `spec: {nodeName: m1}`, []string{immutable + " .spec.nodeName"}},
		{"pod labels", aPod, ``, `metadata: {labels: {a: b}}`, nil},
		{"secret type", aSecret, ``, `type: other`, []string{immutable + " .type"}},
		{"config map", aConfigMap, ``, `data: {a: "2"}`, nil},
		{"immutable config map", aConfigMap, `immutable: true`, `{immutable: false, data: {a: "2"}}`, []string{immutable + " .immutable", immutable + " .data.a"}},
		{"name", aConfigMap, ``, `metadata: {name: other}`, []string{immutable + " .metadata.name"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			old, new := built(t, tt.doc, tt.old), built(t, tt.doc, tt.new)
			got := Validate(old.kind, new.object, old.object)
			if diff := cmp.Diff(tt.want, codes(got)); diff != "" {
				t.Errorf("-want +got\n%s\n%s", diff, strings.Join(lines(got), "\n"))
			}
		})
	}
}

func TestValidateStatus(t *testing.T) {
	old := built(t, aPod, `status: {phase: Succeeded, podIP: 10.64.0.2}`)
	tests := []struct {
		name, status string
		want         []string
	}{
		{"same", `{phase: Succeeded, podIP: 10.64.0.2}`, nil},
		{"revived", `{phase: Running}`, []string{immutable + " .status.phase"}},
		{"readdressed", `{phase: Succeeded, podIP: 10.64.0.3}`, []string{immutable + " .status.podIP"}},
		{"condition twice", `{phase: Succeeded, conditions: [{type: A, status: "True"}, {type: A, status: "True"}]}`, []string{duplicate + " .status.conditions[1].type"}},
	}
	for _, tt := range tests {
		new := built(t, aPod, `status: `+tt.status)
		if diff := cmp.Diff(tt.want, codes(ValidateStatus(api.Pod, new.object, old.object))); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}
