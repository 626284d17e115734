package registry_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/registry"
)

func deployment(t testing.TB, name string) object.Object {
	return doc(t, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q,"namespace":"default"},"spec":{"selector":{"matchLabels":{"app":%q}},
		"template":{"metadata":{"labels":{"app":%q}},"spec":{"containers":[{"name":"c","image":%q}]}}}}`, name, name, name, image)
}

func dependency(t testing.TB, name, consumer, service, port string) object.Object {
	return doc(t, `{"apiVersion":"writ.dev/v1alpha1","kind":"Dependency","metadata":{"name":%q,"namespace":"default"},
		"spec":{"consumer":{"kind":"Deployment","name":%q},"target":{"service":{"name":%q,"ports":[%q]}}}}`, name, consumer, service, port)
}

// TestDependencyRules: the rules that see other objects judge a transaction as
// a whole, whatever the order of its operations.
func TestDependencyRules(t *testing.T) {
	w := newWorld(t, nil)
	c := w.As(user)
	create(t, c, service(t, "store", `{"selector":{"app":"store"},"ports":[{"name":"redis","port":6379}]}`))

	refused := func(err error, path string) {
		t.Helper()
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), path) {
			t.Errorf("error is %v, want Invalid at %s", err, path)
		}
	}
	_, err := c.Create(t.Context(), dependency(t, "d", "web", "store", "6379"))
	refused(err, "spec.consumer.name")

	op := func(o object.Object) api.Operation { return api.Operation{Action: api.ActionCreate, Object: o} }
	if _, err := c.Transact(t.Context(), api.Transaction{Operations: []api.Operation{
		op(dependency(t, "web-store", "web", "store", "redis")),
		op(dependency(t, "web-later", "web", "later", "80")), // a target may come later
		op(deployment(t, "web")),
	}}); err != nil {
		t.Fatal(err)
	}
	_, err = c.Transact(t.Context(), api.Transaction{Operations: []api.Operation{
		op(configMap(t, "with-it", "1")),
		op(dependency(t, "bad", "web", "store", "6380")),
	}})
	if err == nil || !strings.Contains(err.Error(), "has no port 6380") {
		t.Errorf("error is %v, want one about port 6380", err)
	}
	if _, err := c.Get(t.Context(), api.ConfigMap.Key("default", "with-it")); !apierrors.IsNotFound(err) {
		t.Errorf("half of a refused transaction was written: %v", err)
	}

	// A consumer may go first; what does not change is not judged again.
	if err := c.Delete(t.Context(), api.Deployment.Key("default", "web"), ""); err != nil {
		t.Fatal(err)
	}
	live, err := c.Get(t.Context(), api.DependencyKind.Key("default", "web-store"))
	if err != nil {
		t.Fatal(err)
	}
	tree := live.Tree()
	tree["metadata"].(map[string]any)["labels"] = map[string]any{"team": "a"}
	labelled, err := object.FromTree(tree)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Update(t.Context(), labelled); err != nil {
		t.Errorf("a label of a Dependency without its consumer: %v", err)
	}
}

// TestStatusIsNotForged: a status update writes nothing that only the cluster
// may write.
func TestStatusIsNotForged(t *testing.T) {
	w := newWorld(t, nil)
	c := w.As(user)
	create(t, c, pod(t, "p"))
	status := doc(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"},
		"status":{"phase":"Pending","conditions":[{"type":"writ.dev/Granted","status":"True"}]}}`)
	tree := status.Tree()
	live, err := c.Get(t.Context(), api.Pod.Key("default", "p"))
	if err != nil {
		t.Fatal(err)
	}
	tree["spec"] = live.Tree()["spec"]
	if status, err = object.FromTree(tree); err != nil {
		t.Fatal(err)
	}
	if _, err := c.UpdateStatus(t.Context(), status); !apierrors.IsInvalid(err) {
		t.Errorf("a user granted a pod its access: %v", err)
	}
	if _, err := w.As(registry.System).UpdateStatus(t.Context(), status); err != nil {
		t.Errorf("the cluster itself: %v", err)
	}
}
