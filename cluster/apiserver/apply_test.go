package apiserver_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
)

func TestKubectlServerSideApply(t *testing.T) {
	k := start(t).kubectl(t)
	out := k.run(t, shop, "apply", "--server-side", "-f", "-")
	contains(t, "apply", out, "namespace/shop serverside-applied", "deployment.apps/web serverside-applied", "dependency.writ.dev/web-to-web serverside-applied")
	version := func() string {
		return k.run(t, "", "get", "-n", "shop", "deploy,svc,cm,secret,sa,job,dep", "-o", "jsonpath={range .items[*]}{.kind} {.metadata.resourceVersion}{\"\\n\"}{end}")
	}
	before := version()
	k.run(t, shop, "apply", "--server-side", "-f", "-")
	if again := version(); again != before {
		t.Errorf("applied twice, not only once:\n%s%s", before, again)
	}
	contains(t, "managers", k.run(t, "", "get", "-n", "shop", "deploy", "web", "-o", "yaml", "--show-managed-fields"),
		"manager: kubectl", "operation: Apply", `k:{"name":"web"}:`, "f:replicas: {}")
	if diff, _, err := k.try(t, shop, "diff", "--server-side", "-f", "-"); err != nil || diff != "" {
		t.Errorf("diff of what was applied: %v\n%s", err, diff)
	}
	k.run(t, "", "scale", "-n", "shop", "deploy", "web", "--replicas=4")
	said := k.fails(t, shop, "apply", "--server-side", "-f", "-")
	contains(t, "conflict", said, `Apply failed with 1 conflict: conflict with "kubectl" with subresource "scale" using apps/v1`, ".spec.replicas")
	contains(t, "forced", k.run(t, shop, "apply", "--server-side", "--force-conflicts", "-f", "-"), "deployment.apps/web serverside-applied")
	if got := k.run(t, "", "get", "-n", "shop", "deploy", "web", "-o", "jsonpath={.spec.replicas}"); got != "2" {
		t.Errorf("%s replicas after a forced apply", got)
	}
	contains(t, "another manager", k.fails(t, strings.Replace(shop, "greeting: hello", "greeting: bye", 1), "apply", "--server-side", "--field-manager=other", "-f", "-"),
		`conflict with "kubectl"`, ".data.greeting")
	// What a manager no longer names goes, unless somebody else owns it.
	without := strings.Replace(shop, "data: {greeting: hello}", "data: {}", 1)
	k.run(t, "", "patch", "-n", "shop", "cm", "settings", "--type=merge", "-p", `{"data":{"mine":"1"}}`)
	k.run(t, without, "apply", "--server-side", "-f", "-")
	if got := k.run(t, "", "get", "-n", "shop", "cm", "settings", "-o", "jsonpath={.data}"); got != `{"mine":"1"}` {
		t.Errorf("data after it was no longer applied: %s", got)
	}
	dry := k.run(t, strings.Replace(without, "replicas: 2", "replicas: 7", 1), "apply", "--server-side", "--dry-run=server", "--force-conflicts", "-f", "-", "-o", "jsonpath={.items[?(@.kind=='Deployment')].spec.replicas}")
	if dry != "7" {
		t.Errorf("dry run: %q", dry)
	}
	contains(t, "unknown field", k.fails(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: shop}\ndatum: {}\n", "apply", "--server-side", "-f", "-"), ".datum: field not declared in schema")
	contains(t, "stays invalid", k.fails(t, "apiVersion: v1\nkind: Service\nmetadata: {name: x, namespace: shop}\nspec: {ports: [{port: 99999}]}\n", "apply", "--server-side", "-f", "-"), "spec.ports[0].port")
}

// TestFromClientSide moves objects from client-side to server-side apply, as
// kubectl does it.
func TestFromClientSide(t *testing.T) {
	k := start(t).kubectl(t)
	k.run(t, shop, "apply", "-f", "-")
	changed := strings.Replace(shop, "greeting: hello", "other: hello", 1)
	contains(t, "taken over", k.run(t, changed, "apply", "--server-side", "-f", "-"), "configmap/settings serverside-applied")
	if got := k.run(t, "", "get", "-n", "shop", "cm", "settings", "-o", "jsonpath={.data}"); got != `{"other":"hello"}` {
		t.Errorf("what was no longer applied is still there: %s", got)
	}
	if got := k.run(t, "", "get", "-n", "shop", "cm", "settings", "-o", "jsonpath={.metadata.managedFields[*].manager}", "--show-managed-fields"); got != "kubectl kubectl-last-applied" {
		t.Errorf("managers: %q", got)
	}
}

func TestClientGoApply(t *testing.T) {
	h := start(t)
	cs := clientset(t, h.rest(t, false))
	ctx := t.Context()
	cms := cs.CoreV1().ConfigMaps("default")
	want := applycorev1.ConfigMap("x", "default").WithData(map[string]string{"a": "1"})
	made, err := cms.Apply(ctx, want, metav1.ApplyOptions{FieldManager: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if len(made.ManagedFields) != 1 || made.ManagedFields[0].Manager != "one" || made.ManagedFields[0].Operation != metav1.ManagedFieldsOperationApply || made.ManagedFields[0].FieldsV1.GetRawString() != `{"f:data":{"f:a":{}}}` {
		t.Errorf("managed fields: %+v", made.ManagedFields)
	}
	_, err = cms.Apply(ctx, applycorev1.ConfigMap("x", "default").WithData(map[string]string{"a": "2"}), metav1.ApplyOptions{FieldManager: "two"})
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) {
		t.Fatalf("no conflict: %v", err)
	}
	if status = err.(apierrors.APIStatus); len(status.Status().Details.Causes) != 1 || status.Status().Details.Causes[0].Type != metav1.CauseTypeFieldManagerConflict || status.Status().Details.Causes[0].Field != ".data.a" {
		t.Errorf("conflict: %+v", status.Status())
	}
	// Agreeing is no conflict; then both own it, and one lets go.
	if _, err := cms.Apply(ctx, want, metav1.ApplyOptions{FieldManager: "two"}); err != nil {
		t.Fatal(err)
	}
	left, err := cms.Apply(ctx, applycorev1.ConfigMap("x", "default"), metav1.ApplyOptions{FieldManager: "one"})
	if err != nil || left.Data["a"] != "1" {
		t.Errorf("shared field after one let go: %v %v", err, left.Data)
	}
	left, err = cms.Apply(ctx, applycorev1.ConfigMap("x", "default"), metav1.ApplyOptions{FieldManager: "two"})
	if err != nil || len(left.Data) != 0 {
		t.Errorf("field that nobody owns: %v %v", err, left.Data)
	}
	if _, err := cms.Patch(ctx, "x", types.ApplyPatchType, []byte(`{"apiVersion":"v1","kind":"ConfigMap"}`), metav1.PatchOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "is required for apply patch") {
		t.Errorf("apply without a manager: %v", err)
	}
	for what, body := range map[string]string{
		"another kind":          `{"apiVersion":"v1","kind":"Secret"}`,
		"another name":          `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"y"}}`,
		"no kind":               `{"metadata":{"name":"x"}}`,
		"no object":             `[1]`,
		"managed fields":        `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"managedFields":[{"manager":"x"}]}}`,
		"metadata is no object": `{"apiVersion":"v1","kind":"ConfigMap","metadata":3}`,
		"not YAML":              "a: b: c",
	} {
		if _, err := cms.Patch(ctx, "x", types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: "one"}); !apierrors.IsBadRequest(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := cms.Apply(ctx, applycorev1.ConfigMap("gone", "default").WithResourceVersion("5"), metav1.ApplyOptions{FieldManager: "one"}); !apierrors.IsConflict(err) {
		t.Errorf("resourceVersion of an object that is not there: %v", err)
	}
	// Other writes are noted as well.
	up, err := cms.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "y"}, Data: map[string]string{"b": "2"}}, metav1.CreateOptions{FieldManager: "three"})
	if err != nil {
		t.Fatal(err)
	}
	up.Data["c"] = "3"
	up, err = cms.Update(ctx, up, metav1.UpdateOptions{})
	if err != nil || len(up.ManagedFields) != 2 || up.ManagedFields[0].Manager != "apiserver.test" || up.ManagedFields[1].Manager != "three" || up.ManagedFields[0].FieldsV1.GetRawString() != `{"f:data":{"f:c":{}}}` {
		t.Errorf("after an update: %v %+v", err, up.ManagedFields)
	}
}
