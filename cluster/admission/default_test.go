package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestDefault compares with what kube-apiserver 1.34 stores.
func TestDefault(t *testing.T) {
	tests := []struct {
		name, doc, want string
	}{
		{"deployment", aDeployment, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: w, namespace: d}
spec:
  progressDeadlineSeconds: 600
  replicas: 1
  revisionHistoryLimit: 10
  selector: {matchLabels: {app: w}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
  template:
    metadata: {labels: {app: w}}
    spec:
      containers:
      - name: c
        image: i
        imagePullPolicy: Always
        resources: {}
        terminationMessagePath: /dev/termination-log
        terminationMessagePolicy: File
      dnsPolicy: ClusterFirst
      restartPolicy: Always
      schedulerName: default-scheduler
      securityContext: {}
      terminationGracePeriodSeconds: 30`},
		{"pod", `
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: d}
spec:
  containers:
  - name: c
    image: i:1
    ports: [{containerPort: 80}]
    resources: {limits: {cpu: 1}, requests: {memory: 1Mi}}
    readinessProbe: {httpGet: {port: 80}}
    env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
  volumes: [{name: a}, {name: b, configMap: {name: m}}]`, `
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: d}
spec:
  containers:
  - name: c
    image: i:1
    imagePullPolicy: IfNotPresent
    ports: [{containerPort: 80, protocol: TCP}]
    resources: {limits: {cpu: 1}, requests: {cpu: 1, memory: 1Mi}}
    readinessProbe: {httpGet: {port: 80, path: /, scheme: HTTP}, failureThreshold: 3, periodSeconds: 10, successThreshold: 1, timeoutSeconds: 1}
    env: [{name: A, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}}]
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
  dnsPolicy: ClusterFirst
  enableServiceLinks: true
  restartPolicy: Always
  schedulerName: default-scheduler
  securityContext: {}
  serviceAccountName: default
  terminationGracePeriodSeconds: 30
  volumes: [{name: a, emptyDir: {}}, {name: b, configMap: {name: m, defaultMode: 420}}]`},
		{"node port service", `
apiVersion: v1
kind: Service
metadata: {name: s, namespace: d}
spec: {type: NodePort, ports: [{port: 80}, {name: b, port: 81, targetPort: web, protocol: UDP}]}`, `
apiVersion: v1
kind: Service
metadata: {name: s, namespace: d}
spec:
  type: NodePort
  externalTrafficPolicy: Cluster
  internalTrafficPolicy: Cluster
  ipFamilies: [IPv4]
  ipFamilyPolicy: SingleStack
  sessionAffinity: None
  ports: [{port: 80, targetPort: 80, protocol: TCP}, {name: b, port: 81, targetPort: web, protocol: UDP}]`},
		{"secret", `
apiVersion: v1
kind: Secret
metadata: {name: s}
data: {a: b2xk, b: a2VlcA==}
stringData: {a: new}`, `
apiVersion: v1
kind: Secret
metadata: {name: s}
type: Opaque
data: {a: bmV3, b: a2VlcA==}`},
		{"nulls", `
apiVersion: v1
kind: ConfigMap
metadata: {name: m, labels: null, annotations: {a: null}}
data: {a: null, b: x}`, `
apiVersion: v1
kind: ConfigMap
metadata: {name: m, annotations: {}}
data: {b: x}`},
		{"dependency", aDependency, `
apiVersion: writ.dev/v1alpha1
kind: Dependency
metadata: {name: e, namespace: d}
spec:
  consumer: {kind: Deployment, name: w}
  mode: enforce
  start: none
  target: {service: {name: s, namespace: d}}`},
		{"zero is kept where it differs from absent", `
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec: {parallelism: 0, backoffLimit: 0}`, `
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec: {parallelism: 0, backoffLimit: 0, completionMode: NonIndexed, podReplacementPolicy: TerminatingOrFailed, suspend: false}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := fromYAML(t, tt.doc)
			got, err := Default(s.kind, s.object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain(t, []byte(tt.want)), plain(t, got.JSON())); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func plain(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWarnings(t *testing.T) {
	s := built(t, aPod, `spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 1}}, securityContext: {capabilities: {drop: [ALL]}}}], volumes: [{name: v}], automountServiceAccountToken: true}`)
	want := []string{
		".spec.containers[0].resources.limits: not enforced by the sandbox runtime yet",
		".spec.containers[0].securityContext.capabilities.drop: not enforced for root by the sandbox runtime yet; run as another user",
		`.spec.volumes[0]: no container mounts "v"`,
		".spec.automountServiceAccountToken: no token is mounted yet",
	}
	if diff := cmp.Diff(want, Warnings(s.kind, s.object)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
