package registry_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/diff"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/registry"
)

func owned(t testing.TB, o object.Object) map[string]string {
	t.Helper()
	out := map[string]string{}
	for path, owner := range diff.OwnersOf(o) {
		out[path] = owner.Manager
	}
	return out
}

// TestManagedFields follows one object through the hands of several programs.
func TestManagedFields(t *testing.T) {
	w := newWorld(t, nil)
	writ := w.As(registry.User{Name: "alice", Groups: user.Groups, Manager: "writ"})
	edit := w.As(registry.User{Name: "bob", Groups: user.Groups, Manager: "kubectl-edit"})
	o := doc(t, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default","labels":{"app":"web"}},
		"spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
		"spec":{"containers":[{"name":"main","image":%q,"ports":[{"containerPort":80}]}]}}}}`, image)
	o = create(t, writ, o)
	container := ".spec.template.spec.containers[name=main]"
	want := map[string]string{
		".metadata.labels.app": "writ", ".spec.replicas": "writ", ".spec.selector": "writ", ".metadata.labels": "writ", ".spec.template.metadata.labels": "writ",
		".spec.template.metadata.labels.app": "writ", container: "writ", container + ".name": "writ", container + ".image": "writ",
		container + ".resources": "writ", container + ".ports": "writ",
		container + ".ports[containerPort=80,protocol=TCP]": "writ", container + ".ports[containerPort=80,protocol=TCP].containerPort": "writ",
	}
	if d := cmp.Diff(want, owned(t, o)); d != "" {
		t.Fatalf("after the creation (-want +got):\n%s", d)
	}
	// Defaults are nobody's, although the server has set them.
	if _, ok := diff.OwnersOf(o).Of(".spec.strategy"); ok {
		t.Error("a default has an owner")
	}

	w.pass(time.Minute)
	tree := o.Tree()
	tree["spec"].(map[string]any)["replicas"] = 5
	tree["metadata"].(map[string]any)["annotations"] = map[string]any{"note": "mine"}
	changed, err := object.FromTree(tree)
	if err != nil {
		t.Fatal(err)
	}
	if o, err = edit.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	want[".spec.replicas"], want[".metadata.annotations"], want[".metadata.annotations.note"] = "kubectl-edit", "kubectl-edit", "kubectl-edit"
	if d := cmp.Diff(want, owned(t, o)); d != "" {
		t.Fatalf("after an edit (-want +got):\n%s", d)
	}
	if at := diff.OwnersOf(o)[".spec.replicas"].Time; !at.Equal(w.now) {
		t.Errorf("edited at %s, want %s", at, w.now)
	}

	// The same again is no write, whoever does it.
	w.pass(time.Minute)
	same, err := writ.Update(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if same.Meta().ResourceVersion != o.Meta().ResourceVersion {
		t.Error("an update that changes nothing wrote something")
	}

	// A controller's mark has an owner, and what is removed has none.
	tree = o.Tree()
	tree["metadata"].(map[string]any)["annotations"] = map[string]any{"deployment.kubernetes.io/revision": "1"}
	if changed, err = object.FromTree(tree); err != nil {
		t.Fatal(err)
	}
	if o, err = w.As(registry.System).Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	delete(want, ".metadata.annotations.note")
	want[`.metadata.annotations["deployment.kubernetes.io/revision"]`] = api.ManagerSystem
	if d := cmp.Diff(want, owned(t, o)); d != "" {
		t.Fatalf("after a controller's write (-want +got):\n%s", d)
	}
	// The form is that of Kubernetes.
	var head struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(o.JSON(), &head); err != nil {
		t.Fatal(err)
	}
	text := head.Metadata.ManagedFields[0].FieldsV1.GetRawString()
	if !strings.Contains(text, `"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}`) {
		t.Errorf("fields are %s", text)
	}

	// What only the control plane writes carries nothing.
	pod := create(t, w.As(registry.System), pod(t, "p"))
	if len(owned(t, pod)) > 0 {
		t.Error("a pod of the control plane has managedFields")
	}
}

// TestManyManagers keeps managedFields bounded.
func TestManyManagers(t *testing.T) {
	w := newWorld(t, nil)
	o := create(t, w.As(registry.User{Name: "a", Groups: user.Groups, Manager: "m"}), configMap(t, "c", "v"))
	for i := range 20 {
		w.pass(time.Second)
		tree := o.Tree()
		tree["data"].(map[string]any)[string(rune('a'+i))] = "x"
		next, err := object.FromTree(tree)
		if err != nil {
			t.Fatal(err)
		}
		if o, err = w.As(registry.User{Name: "a", Groups: user.Groups, Manager: "m" + string(rune('a'+i))}).Update(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
	managers := map[string]bool{}
	for _, m := range owned(t, o) {
		managers[m] = true
	}
	if len(managers) != 10 || !managers["ancient-changes"] || !managers["mt"] {
		t.Errorf("managers: %v", managers)
	}
	if got := len(owned(t, o)); got != 22 {
		t.Errorf("%d fields have owners, want 22", got)
	}
	if _, err := w.As(user).Get(t.Context(), api.ConfigMap.Key("default", "c")); err != nil {
		t.Fatal(err)
	}
}
