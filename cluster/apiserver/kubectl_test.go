package apiserver_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/registry"
)

const shop = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop, labels: {tier: front}}
data: {greeting: hello}
---
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: shop}
data: {password: czNjcmV0}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web, namespace: shop}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: web
      containers:
      - name: web
        image: registry.example/web@sha256:0000000000000000000000000000000000000000000000000000000000000000
        ports: [{name: http, containerPort: 8080}]
        env: [{name: GREETING, value: hello}]
        resources: {requests: {cpu: 100m, memory: 64Mi}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: shop}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: once, image: "registry.example/once@sha256:0000000000000000000000000000000000000000000000000000000000000000"}]
---
apiVersion: writ.dev/v1alpha1
kind: Dependency
metadata: {name: web-to-web, namespace: shop}
spec:
  consumer: {kind: Deployment, name: web}
  target: {service: {name: web, ports: [http]}}
`

func contains(t *testing.T, what, got string, wants ...string) {
	t.Helper()
	for _, w := range wants {
		if !strings.Contains(got, w) {
			t.Errorf("%s: %q is not in:\n%s", what, w, got)
		}
	}
}

func TestKubectlApply(t *testing.T) {
	k := start(t).kubectl(t)
	out := k.run(t, shop, "apply", "-f", "-")
	contains(t, "apply", out, "namespace/shop created", "configmap/settings created", "deployment.apps/web created", "dependency.writ.dev/web-to-web created")
	again := k.run(t, shop, "apply", "-f", "-")
	if n := strings.Count(again, " unchanged"); n != 8 {
		t.Errorf("applied twice: %d of 8 unchanged:\n%s", n, again)
	}
	changed := strings.Replace(shop, "value: hello", "value: bye", 1)
	contains(t, "diff", func() string { out, _, _ := k.try(t, changed, "diff", "--server-side=false", "-f", "-"); return out }(), "-          value: hello", "+          value: bye")
	contains(t, "dry run", k.run(t, changed, "apply", "--dry-run=server", "-f", "-"), "deployment.apps/web configured (server dry run)")
	if got := k.run(t, "", "get", "-n", "shop", "deploy", "web", "-o", "jsonpath={.spec.template.spec.containers[0].env[0].value} {.metadata.generation}"); got != "hello 1" {
		t.Errorf("after a dry run: %q", got)
	}
	contains(t, "change", k.run(t, changed, "apply", "-f", "-"), "deployment.apps/web configured", "service/web unchanged")
	if got := k.run(t, "", "get", "-n", "shop", "deploy", "web", "-o", "jsonpath={.spec.template.spec.containers[0].env[0].value} {.metadata.generation}"); got != "bye 2" {
		t.Errorf("after a change: %q", got)
	}
	k.run(t, shop, "delete", "-f", "-", "--ignore-not-found", "--wait=false")
}

func TestKubectlGet(t *testing.T) {
	k := start(t).kubectl(t)
	k.run(t, shop, "apply", "-f", "-")
	contains(t, "get all", k.run(t, "", "get", "all,cm,secret,sa,dep", "-n", "shop"),
		"service/web   ClusterIP   10.96.", "deployment.apps/web   0/2", "job.batch/once", "configmap/settings   1", "secret/key   Opaque   1", "serviceaccount/web", "Deployment/web   shop/web   http")
	contains(t, "wide", k.run(t, "", "get", "deploy", "-n", "shop", "-o", "wide"), "CONTAINERS", "registry.example/web@sha256:", "app=web")
	contains(t, "yaml", k.run(t, "", "get", "cm", "settings", "-n", "shop", "-o", "yaml"), "apiVersion: v1", "greeting: hello", "uid:")
	if got := k.run(t, "", "get", "cm,secret", "-n", "shop", "-o", "name"); got != "configmap/settings\nsecret/key\n" {
		t.Errorf("names: %q", got)
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal([]byte(k.run(t, "", "get", "cm", "-A", "-l", "tier=front", "-o", "json")), &list); err != nil || len(list.Items) != 1 {
		t.Errorf("json by label: %v, %d items", err, len(list.Items))
	}
	contains(t, "by field", k.run(t, "", "get", "cm", "-A", "--field-selector", "metadata.name=settings"), "settings")
	contains(t, "bad field", k.fails(t, "", "get", "cm", "-A", "--field-selector", "data.x=1"), "field label not supported: data.x")
	contains(t, "chunks", k.run(t, "", "get", "ns", "--chunk-size=1"), "default", "kube-system", "shop")
	contains(t, "missing", k.fails(t, "", "get", "cm", "nope"), `Error from server (NotFound): configmaps "nope" not found`)
	contains(t, "api-resources", k.run(t, "", "api-resources"), "deployments", "deploy", "apps/v1", "dependencies", "writ.dev/v1alpha1")
	contains(t, "version", k.run(t, "", "version"), "Server Version: v1.33.0+writ-test")
	contains(t, "describe", k.run(t, "", "describe", "deploy", "web", "-n", "shop"), "Replicas:", "2 desired", "GREETING:", "hello")
	contains(t, "describe our own kind", k.run(t, "", "describe", "dep", "-n", "shop"), "Kind:         Dependency", "Consumer:", "Name:  web")
	contains(t, "explain", k.run(t, "", "explain", "deploy.spec.template.spec.containers.image"), "Container image name", "FIELD: image <string>")
	contains(t, "explain our own kind", k.run(t, "", "explain", "dependency.spec"), "consumer", "target")
	contains(t, "can-i", k.run(t, "", "auth", "can-i", "create", "pods"), "yes")
	contains(t, "whoami", k.run(t, "", "auth", "whoami"), "writ-admin", "system:masters")
}

func TestKubectlWrite(t *testing.T) {
	k := start(t).kubectl(t)
	k.run(t, shop, "apply", "-f", "-")
	ns := []string{"-n", "shop"}
	run := func(args ...string) string { return k.run(t, "", append(args, ns...)...) }
	field := func(kind, path string) string { return run("get", kind, "-o", "jsonpath="+path) }

	run("label", "cm", "settings", "team=a")
	run("annotate", "cm", "settings", "note=x")
	if got := field("cm/settings", "{.metadata.labels.team}{.metadata.annotations.note}"); got != "ax" {
		t.Errorf("label and annotation: %q", got)
	}
	contains(t, "scale", run("scale", "deploy", "web", "--replicas=5"), "scaled")
	if got := field("deploy/web", "{.spec.replicas}"); got != "5" {
		t.Errorf("scaled to %s", got)
	}
	run("patch", "deploy", "web", "-p", `{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"MORE","value":"1"}]}]}}}}`)
	if got := field("deploy/web", "{.spec.template.spec.containers[0].env[*].name}"); !strings.Contains(got, "MORE") || !strings.Contains(got, "GREETING") {
		t.Errorf("strategic merge: %q", got)
	}
	run("patch", "cm", "settings", "--type=merge", "-p", `{"data":{"greeting":null,"b":"2"}}`)
	run("patch", "cm", "settings", "--type=json", "-p", `[{"op":"add","path":"/data/c","value":"3"}]`)
	if got := field("cm/settings", "{.data}"); got != `{"b":"2","c":"3"}` {
		t.Errorf("merge and JSON patch: %s", got)
	}
	contains(t, "failed test", k.fails(t, "", append(ns, "patch", "cm", "settings", "--type=json", "-p", `[{"op":"test","path":"/data/c","value":"9"}]`)...), "apply JSON patch")
	contains(t, "set image", run("set", "image", "deploy/web", "web=registry.example/web@sha256:1111111111111111111111111111111111111111111111111111111111111111"), "image updated")
	contains(t, "unknown field", k.fails(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndatum: {}\n", "create", "-f", "-"), "strict decoding error", `unknown field "datum"`)
	contains(t, "invalid", k.fails(t, "apiVersion: v1\nkind: Service\nmetadata: {name: Bad_Name}\nspec: {ports: [{port: 99999}]}\n", "create", "-f", "-"), "is invalid", "spec.ports[0].port", "metadata.name")
	contains(t, "create", run("create", "configmap", "made", "--from-literal=a=b"), "configmap/made created")
	contains(t, "exists", k.fails(t, "", append(ns, "create", "configmap", "made")...), `configmaps "made" already exists`)
	contains(t, "no namespace", k.fails(t, "", "create", "configmap", "made", "-n", "nowhere"), `namespaces "nowhere" not found`)
	contains(t, "create namespace", k.run(t, "", "create", "namespace", "other"), "namespace/other created")
	contains(t, "delete", run("delete", "cm", "made"), `configmap "made" deleted`)
	contains(t, "delete all", run("delete", "cm", "--all"), `configmap "settings" deleted`)
	contains(t, "forbidden", k.fails(t, "", "delete", "ns", "default"), "Forbidden")
	edited := strings.Replace(run("get", "svc", "web", "-o", "yaml"), "port: 80", "port: 81", 1)
	contains(t, "replace", k.run(t, edited, "replace", "-f", "-"), "service/web replaced")
	contains(t, "stale", k.fails(t, edited, "replace", "-f", "-"), "the object has been modified")
}

func TestKubectlWatchAndWait(t *testing.T) {
	h := start(t)
	k := h.kubectl(t)
	k.run(t, shop, "apply", "-f", "-")
	sys := h.registry.As(registry.System)
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	failed := make(chan error, 1)
	go func() { failed <- becomeAvailable(ctx, sys) }()
	contains(t, "wait", k.run(t, "", "wait", "-n", "shop", "--for=condition=Available", "deploy/web", "--timeout=30s"), "condition met")
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	contains(t, "rollout status", k.run(t, "", "rollout", "status", "-n", "shop", "deploy/web", "--timeout=10s"), "successfully rolled out")

	go func() {
		_, err := sys.List(ctx, api.ConfigMap, api.ListOptions{})
		for i := 0; err == nil && i < 20; i++ {
			if o, gerr := sys.Get(ctx, api.ConfigMap.Key("shop", "settings")); gerr == nil {
				cm, derr := api.Decode[corev1.ConfigMap](o)
				if derr != nil {
					err = derr
					break
				}
				cm = cm.DeepCopy()
				cm.Data["turn"] = strings.Repeat("x", i+1)
				if o, err = api.Encode(api.ConfigMap, cm); err == nil {
					_, err = sys.Update(ctx, o)
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
		failed <- err
	}()
	out, _, _ := k.try(t, "", "get", "cm", "settings", "-n", "shop", "-w", "--request-timeout=3s")
	if n := strings.Count(out, "settings"); n < 3 {
		t.Errorf("watch showed %d states:\n%s", n, out)
	}
	contains(t, "watched table", out, "NAME       DATA   AGE", "settings   2")
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}

// becomeAvailable writes the status that the controllers would, a little later.
func becomeAvailable(ctx context.Context, c *registry.Client) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(700 * time.Millisecond):
	}
	o, err := c.Get(ctx, api.Deployment.Key("shop", "web"))
	if err != nil {
		return err
	}
	d, err := api.Decode[appsv1.Deployment](o)
	if err != nil {
		return err
	}
	d = d.DeepCopy()
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2,
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}}}
	if o, err = api.Encode(api.Deployment, d); err != nil {
		return err
	}
	_, err = c.UpdateStatus(ctx, o)
	return err
}
