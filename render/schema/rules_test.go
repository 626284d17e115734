package schema_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/render/schema"
)

// check checks a document in YAML.
func check(t testing.TB, text string) schema.Result {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	o, err := object.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	k, ok := schema.Lookup(o.APIVersion(), o.Kind())
	if !ok {
		t.Fatalf("no kind %s %s", o.APIVersion(), o.Kind())
	}
	return schema.Check(k, o)
}

func TestGood(t *testing.T) {
	text, err := os.ReadFile("testdata/good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
		r := check(t, string(doc))
		for _, p := range append(r.Problems, r.Warnings...) {
			t.Errorf("%v (%s) in:\n%s", p, p.Code, doc)
		}
	}
}

// pod is a workload's template with something in its container and its spec.
func pod(container, spec string) string {
	return "{metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a" + container + "}]" + spec + "}}"
}

func deployment(container, spec string) string {
	return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {app: a}}, template: " + pod(container, spec) + "}}"
}

func object1(apiVersion, kind, rest string) string {
	return "{apiVersion: " + apiVersion + ", kind: " + kind + ", metadata: {name: a}" + rest + "}"
}

func TestBad(t *testing.T) {
	const c = ".spec.template.spec.containers[0]"
	const s = ".spec.template.spec"
	for _, x := range []struct {
		name, doc string
		// want is "CODE path: message; hint" of each problem; a warning begins
		// with "warning ".
		want []string
	}{
		{"unknown field", deployment(", imagePullPolcy: Never", ""), []string{`UnknownField ` + c + `.imagePullPolcy: containers has no field "imagePullPolcy"; did you mean "imagePullPolicy"?`}},
		{"unknown field at the top", object1("v1", "Service", ", sepc: {}, spec: {ports: [{port: 1}]}"), []string{`UnknownField .sepc: a Service has no field "sepc"; did you mean "spec"?`}},
		{"type", deployment("", ", hostNetwork: 'yes'"), []string{`FieldValueTypeInvalid ` + s + `.hostNetwork: must be true or false, not the string "yes"; write true, without quotes`}},
		{"type of a label", object1("v1", "Secret", ", type: 7"), []string{`FieldValueTypeInvalid .type: must be a string, not the number 7; quote it: "7"`}},
		{"environment not text", deployment(", env: [{name: A, value: 80}]", ""), []string{`FieldValueTypeInvalid ` + c + `.env[0].value: 80 is a number, and values are strings; quote it: "80"`}},
		{"int32", deployment(", ports: [{containerPort: 99999999999}]", ""), []string{`FieldValueInvalid ` + c + `.ports[0].containerPort: 99999999999 does not fit: the number must have at most 32 bits`}},
		{"port", deployment(", ports: [{containerPort: 0}]", ""), []string{`FieldValueInvalid ` + c + `.ports[0].containerPort: 0 is not a port number; use 1 to 65535`}},
		{"enumeration", deployment(", imagePullPolicy: always", ""), []string{`FieldValueNotSupported ` + c + `.imagePullPolicy: "always" is not one of Always, IfNotPresent, Never; did you mean "Always"?`}},
		{"quantity", deployment(", resources: {limits: {memory: 128MB}}", ""), []string{`FieldValueInvalid ` + c + `.resources.limits.memory: "128MB" is not a quantity; write 128M`}},
		{"requests beyond limits", deployment(", resources: {limits: {cpu: 1}, requests: {cpu: 1500m}}", ""), []string{`FieldValueInvalid ` + c + `.resources.requests.cpu: 1500m is more than the limit 1`}},
		{"resource name", deployment(", resources: {limits: {mem: 1}}", ""), []string{`FieldValueInvalid ` + c + `.resources.limits.mem: "mem" is not a resource of containers; use cpu, memory or ephemeral-storage, or a name with a prefix`}},
		{"required", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: " + pod("", "") + "}}", []string{`FieldValueRequired .spec.selector: is required`}},
		{"required spec", object1("batch/v1", "Job", ""), []string{`FieldValueRequired .spec: is required`}},
		{"container twice", deployment("}, {name: a, image: b", ""), []string{`FieldValueDuplicate .spec.template.spec.containers[1]: name "a" is in the list twice, first as containers[0]; remove one, or give it another name`}},
		{"container as init container", deployment("", ", initContainers: [{name: a, image: a}]"), []string{`FieldValueDuplicate ` + c + `.name: "a" is the name of .spec.template.spec.initContainers[0] too; give it another name`}},
		{"volume twice", deployment("", ", volumes: [{name: v}, {name: v}]"), []string{`FieldValueDuplicate ` + s + `.volumes[1]: name "v" is in the list twice, first as volumes[0]; remove one, or give it another name`}},
		{"mount twice", deployment(", volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /a}]", ", volumes: [{name: v}]"), []string{`FieldValueDuplicate ` + c + `.volumeMounts[1]: mountPath "/a" is in the list twice, first as volumeMounts[0]; remove one, or give it another mountPath`}},
		{"environment twice", deployment(", env: [{name: A, value: a}, {name: A, value: b}]", ""), []string{`warning Repeated ` + c + `.env[1]: name "A" is in the list twice, first as env[0]; remove one, or give it another name`}},
		{"port twice", deployment(", ports: [{containerPort: 1}, {containerPort: 1, protocol: TCP}]", ""), []string{`warning Repeated ` + c + `.ports[1]: containerPort 1 and protocol "TCP" is in the list twice, first as ports[0]; remove one, or give it another containerPort`}},
		{"port name twice", deployment(", ports: [{containerPort: 1, name: x}, {containerPort: 2, name: x}]", ""), []string{`FieldValueDuplicate ` + c + `.ports[1].name: "x" is the name of another port too; give it another name`}},
		{"no such volume", deployment(", volumeMounts: [{name: dta, mountPath: /a}]", ", volumes: [{name: data}]"), []string{`FieldValueNotFound ` + c + `.volumeMounts[0].name: the pod has no volume named "dta"; did you mean "data"?`}},
		{"two sources", deployment("", ", volumes: [{name: v, emptyDir: {}, secret: {secretName: a}}]"), []string{`FieldValueInvalid ` + s + `.volumes[0]: must have only one of emptyDir or secret; keep one`}},
		{"file mode", deployment("", ", volumes: [{name: v, secret: {secretName: a, defaultMode: 644}}]"), []string{`FieldValueInvalid ` + s + `.volumes[0].secret.defaultMode: 644 is not a file mode; write 0644, or 420`}},
		{"no such port", deployment(", ports: [{name: http, containerPort: 80}], livenessProbe: {httpGet: {port: htp}}", ""), []string{`FieldValueNotFound ` + c + `.livenessProbe.httpGet.port: the container has no port named "htp"; did you mean "http"?`}},
		{"two probes", deployment(", livenessProbe: {httpGet: {port: 1}, exec: {command: [a]}}", ""), []string{`FieldValueInvalid ` + c + `.livenessProbe: must have only one of exec or httpGet; keep one`}},
		{"no probe", deployment(", livenessProbe: {periodSeconds: 1}", ""), []string{`FieldValueRequired ` + c + `.livenessProbe: must have one of exec, grpc, httpGet or tcpSocket`}},
		{"init container with a probe", deployment("", ", initContainers: [{name: i, image: i, livenessProbe: {exec: {command: [a]}}}]"), []string{`FieldValueForbidden ` + s + `.initContainers[0].livenessProbe: an init container runs to its end and has no livenessProbe; remove it, or make it a sidecar with restartPolicy: Always`}},
		{"value and source", deployment(", env: [{name: A, value: a, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]", ""), []string{`FieldValueInvalid ` + c + `.env[0]: has both value and valueFrom; keep one`}},
		{"field of the pod", deployment(", env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.nmae}}}]", ""), []string{`FieldValueNotSupported ` + c + `.env[0].valueFrom.fieldRef.fieldPath: "metadata.nmae" is not a field of a pod that env can take; did you mean "metadata.name"?`}},
		{"root but not root", deployment(", securityContext: {runAsUser: 0, runAsNonRoot: true}", ""), []string{`FieldValueInvalid ` + c + `.securityContext.runAsUser: is 0, root, but runAsNonRoot is true: the container could not start`}},
		{"toleration", deployment("", ", tolerations: [{effect: NoSchedule}]"), []string{`FieldValueInvalid ` + s + `.tolerations[0].operator: must be Exists when there is no key; use Exists, or name a key`}},
		{"restart policy", deployment("", ", restartPolicy: Never"), []string{`FieldValueNotSupported ` + s + `.restartPolicy: "Never" is not allowed here; use Always`}},
		{"selector", strings.Replace(deployment("", ""), "matchLabels: {app: a}", "matchLabels: {app: b}", 1), []string{`FieldValueInvalid .spec.template.metadata.labels: the selector "app=b" does not match the template's labels; give the template the labels that .spec.selector selects`}},
		{"selector expression", strings.Replace(deployment("", ""), "matchLabels: {app: a}", "matchExpressions: [{key: app, operator: In}]", 1), []string{`FieldValueRequired .spec.selector.matchExpressions[0].values: is required with operator In`}},
		{"nothing replaced", strings.Replace(deployment("", ""), "selector:", "strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0%}}, selector:", 1), []string{`FieldValueInvalid .spec.strategy.rollingUpdate: maxUnavailable and maxSurge are both 0: no pod could ever be replaced`}},
		{"percentage", strings.Replace(deployment("", ""), "selector:", "strategy: {rollingUpdate: {maxSurge: a lot}}, selector:", 1), []string{`FieldValueInvalid .spec.strategy.rollingUpdate.maxSurge: "a lot" is not a number or percentage; write a number, or a percentage such as 25%`}},

		{"removed", object1("extensions/v1beta1", "Ingress", ""), []string{`RemovedAPI .apiVersion: extensions/v1beta1 Ingress is not served since Kubernetes 1.22; use networking.k8s.io/v1`}},
		{"deprecated", object1("v1", "Endpoints", ""), []string{`warning DeprecatedAPI .apiVersion: v1 Endpoints is deprecated since Kubernetes 1.33; use discovery.k8s.io/v1 EndpointSlice`}},
		{"name", "{apiVersion: v1, kind: ConfigMap, metadata: {name: A_b}}", []string{`FieldValueInvalid .metadata.name: "A_b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`}},
		{"label", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {a: '-'}}}", []string{`FieldValueInvalid .metadata.labels.a: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`}},
		{"namespace", "{apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: b}}", []string{`FieldValueForbidden .metadata.namespace: a Namespace lives in no namespace; remove it`}},
		{"metadata", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, lables: {a: b}}}", []string{`UnknownField .metadata.lables: metadata has no field "lables"; did you mean "labels"?`}},

		{"service without ports", object1("v1", "Service", ", spec: {selector: {a: b}}"), []string{`FieldValueRequired .spec.ports: must have a port; name the port that clients use`}},
		{"ports without names", object1("v1", "Service", ", spec: {ports: [{port: 1}, {port: 2, name: b}]}"), []string{`FieldValueRequired .spec.ports[0].name: is required; name every port of a Service that has several`}},
		{"service port twice", object1("v1", "Service", ", spec: {ports: [{port: 1, name: a}, {port: 1, name: b}]}"), []string{`FieldValueDuplicate .spec.ports[1]: port 1 and protocol "TCP" is in the list twice, first as ports[0]; remove one, or give it another port`}},
		{"node port", object1("v1", "Service", ", spec: {ports: [{port: 1, nodePort: 30000}]}"), []string{`FieldValueForbidden .spec.ports[0].nodePort: has no meaning with type ClusterIP; use type: NodePort, or remove it`}},
		{"service name", "{apiVersion: v1, kind: Service, metadata: {name: 1st}, spec: {ports: [{port: 1}]}}", []string{`FieldValueInvalid .metadata.name: "1st": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`}},
		{"cron", object1("batch/v1", "CronJob", ", spec: {schedule: '61 * * *', jobTemplate: {spec: {template: "+pod("", ", restartPolicy: Never")+"}}}"), []string{`FieldValueInvalid .spec.schedule: "61 * * *" has 4 fields and must have 5; write five fields, minute hour day month weekday, such as "30 4 * * 1-5"`}},
		{"cron number", object1("batch/v1", "CronJob", ", spec: {schedule: '61 * * * *', jobTemplate: {spec: {template: "+pod("", ", restartPolicy: Never")+"}}}"), []string{`FieldValueInvalid .spec.schedule: minute: "61" is not 0 to 59; write five fields, minute hour day month weekday, such as "30 4 * * 1-5"`}},
		{"job restarts", object1("batch/v1", "Job", ", spec: {template: "+pod("", ", restartPolicy: Always")+"}"), []string{`FieldValueNotSupported .spec.template.spec.restartPolicy: "Always" is not allowed here; use OnFailure or Never`}},
		{"claim", object1("v1", "PersistentVolumeClaim", ", spec: {resources: {}}"), []string{`FieldValueRequired .spec.accessModes: must have an access mode; use [ReadWriteOnce]`, `FieldValueRequired .spec.resources.requests.storage: is required; say how large, such as 10Gi`}},
		{"ingress", object1("networking.k8s.io/v1", "Ingress", ", spec: {rules: [{host: 10.0.0.1, http: {paths: [{path: a, pathType: Exact, backend: {service: {name: a, port: {}}}}]}}]}"), []string{
			`FieldValueInvalid .spec.rules[0].host: must not be an IP address; use a DNS name`,
			`FieldValueRequired .spec.rules[0].http.paths[0].backend.service.port: is required; add name or number`,
			`FieldValueInvalid .spec.rules[0].http.paths[0].path: must begin with /; write /a`}},
		{"old ingress", object1("networking.k8s.io/v1", "Ingress", ", spec: {rules: [{http: {paths: [{path: /, backend: {serviceName: a, servicePort: 1}}]}}]}"), []string{
			`UnknownField .spec.rules[0].http.paths[0].backend.serviceName: backend has no field "serviceName"; it has: resource, service`,
			`UnknownField .spec.rules[0].http.paths[0].backend.servicePort: backend has no field "servicePort"; it has: resource, service`,
			`FieldValueRequired .spec.rules[0].http.paths[0].pathType: is required; use Exact, ImplementationSpecific or Prefix`,
			`FieldValueRequired .spec.rules[0].http.paths[0].backend: must have one of resource or service`}},
		{"network policy", object1("networking.k8s.io/v1", "NetworkPolicy", ", spec: {podSelector: {}, ingress: [{from: [{}], ports: [{port: 9, endPort: 8}]}]}"), []string{
			`FieldValueInvalid .spec.ingress[0].ports[0].endPort: must be at least the port 9, but is 8`,
			`FieldValueRequired .spec.ingress[0].from[0]: names nobody; add ipBlock, podSelector or namespaceSelector`}},
		{"budget", object1("policy/v1", "PodDisruptionBudget", ", spec: {minAvailable: 1, maxUnavailable: 1}"), []string{`FieldValueInvalid .spec: has both minAvailable and maxUnavailable; keep one`}},
		{"autoscaler", object1("autoscaling/v2", "HorizontalPodAutoscaler", ", spec: {minReplicas: 3, maxReplicas: 2, scaleTargetRef: {kind: Deployment, name: a}, metrics: [{type: Resource, pods: {metric: {name: a}, target: {type: Value}}}]}"), []string{
			`FieldValueInvalid .spec.maxReplicas: must be at least minReplicas 3, but is 2`, `FieldValueRequired .spec.metrics[0].resource: is required with type Resource`}},
		{"role", object1("rbac.authorization.k8s.io/v1", "Role", ", rules: [{apiGroups: [''], resources: [pods]}]"), []string{`FieldValueRequired .rules[0].verbs: is required`}},
		{"binding", object1("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", ", roleRef: {kind: Role, name: a, apiGroup: rbac.authorization.k8s.io}, subjects: [{kind: ServiceAccount, name: a}]"), []string{
			`FieldValueNotSupported .roleRef.kind: a ClusterRoleBinding cannot give a Role; use ClusterRole`, `FieldValueRequired .subjects[0].namespace: a ServiceAccount needs it`}},
		{"secret", object1("v1", "Secret", ", type: kubernetes.io/tls, data: {tls.crt: '?'}"), []string{`FieldValueInvalid .data["tls.crt"]: must be base64; encode it, or put the plain text in stringData`}},
		{"secret of a type", object1("v1", "Secret", ", type: kubernetes.io/tls, data: {tls.crt: YQ==}"), []string{`FieldValueRequired .data["tls.key"]: a Secret of type kubernetes.io/tls needs it`}},
		{"config map", object1("v1", "ConfigMap", ", data: {a: 1, b: true}"), []string{`FieldValueTypeInvalid .data.a: 1 is a number, and values are strings; quote it: "1"`, `FieldValueTypeInvalid .data.b: true is a boolean, and values are strings; quote it: "true"`}},
		{"webhook", object1("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", ", webhooks: [{name: a, clientConfig: {url: 'http://a'}, sideEffects: Some, admissionReviewVersions: [v1]}]"), []string{
			`FieldValueInvalid .webhooks[0].name: must be a domain name with three parts, but is "a"; write a name such as check.example.com`,
			`FieldValueInvalid .webhooks[0].clientConfig.url: "http://a" is not an https URL; begin it with https://`,
			`FieldValueNotSupported .webhooks[0].sideEffects: "Some" is not allowed; use None or NoneOnDryRun`}},
		{"expression", object1("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", ", spec: {validations: [{expression: 'object.spec.'}]}"), []string{`FieldValueInvalid .spec.validations[0].expression: line 1, column 13 of the expression: syntax error: no viable alternative at input '.'`}},
		{"status is only looked at for names", object1("apps/v1", "Deployment", ", spec: {selector: {matchLabels: {app: a}}, template: "+pod("", "")+"}, status: {conditions: [{}], replicaz: 1}"), []string{`UnknownField .status.replicaz: status has no field "replicaz"; did you mean "replicas"?`}},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := check(t, x.doc)
			var got []string
			for _, p := range r.Problems {
				got = append(got, p.Code+" "+strings.TrimSuffix(p.String(), ""))
			}
			for _, p := range r.Warnings {
				got = append(got, "warning "+p.Code+" "+p.String())
			}
			if g, w := strings.Join(got, "\n"), strings.Join(x.want, "\n"); g != w {
				t.Errorf("got:\n%s\nwant:\n%s", g, w)
			}
		})
	}
}
