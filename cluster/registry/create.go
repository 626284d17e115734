package registry

import (
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// namespaceFinalizer in a Namespace's spec.finalizers keeps it until its
// content is gone.
const namespaceFinalizer = "kubernetes"

// NamespaceTerminating is the cause of creations refused for it.
const NamespaceTerminating = metav1.CauseType("NamespaceTerminating")

// create stages a new object.
func (t *tx) create(o object.Object, validation string) (outcome, error) {
	k, err := t.identify(o)
	if err != nil {
		return outcome{}, err
	}
	if o.Meta().ResourceVersion != "" {
		return outcome{}, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	tree, err := t.shape(k, o, validation)
	if err != nil {
		return outcome{}, err
	}
	return t.createShaped(k, tree, t.manage(""))
}

// createShaped stages a new object of the right form. manage says whose its
// fields are.
func (t *tx) createShaped(k api.Kind, tree map[string]any, manage managing) (outcome, error) {
	t.stamp(k, tree)
	namespace, _ := metadata(tree)["namespace"].(string)
	if err := t.namespaceOpen(k, namespace, treeName(tree)); err != nil {
		return outcome{}, err
	}
	if k.Custom {
		if err := t.defined(k, treeName(tree)); err != nil {
			return outcome{}, err
		}
	}
	if err := t.name(k, tree); err != nil {
		return outcome{}, err
	}
	next, err := t.admit(k, tree, object.Object{})
	if err != nil {
		return outcome{}, err
	}
	if _, taken := t.get(next.Key()); taken {
		return outcome{}, apierrors.NewAlreadyExists(resourceOf(k), next.Name())
	}
	if next, err = t.allocate(k, next, object.Object{}); err != nil {
		return outcome{}, err
	}
	if next, err = manage(k, object.Object{}, tree, next); err != nil {
		return outcome{}, err
	}
	if k.Kind == api.EventKind.Kind && k.Group == "" {
		t.trimEvents(next.Namespace(), t.r.o.MaxEvents-1)
	}
	t.stage(next.Key(), next)
	return outcome{key: next.Key(), object: next, created: true}, nil
}

// stamp sets what the server owns in a new object.
func (t *tx) stamp(k api.Kind, tree map[string]any) {
	m := metadata(tree)
	for _, f := range []string{"resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"} {
		delete(m, f)
	}
	m["uid"] = t.r.o.NewUID()
	m["creationTimestamp"] = t.now.Format(time.RFC3339)
	if (k.Status || k.Custom) && k.GVK() != api.Namespace.GVK() {
		m["generation"] = json.Number("1")
	}
	// An agent registers its node together with what it found.
	if k.Status && k.GVK() != api.Node.GVK() {
		delete(tree, "status")
	}
	switch k.GVK().GroupKind() {
	case api.Pod.GVK().GroupKind():
		tree["status"] = map[string]any{"phase": "Pending"}
	case api.Namespace.GVK().GroupKind():
		child(tree, "spec")["finalizers"] = []any{namespaceFinalizer}
		tree["status"] = map[string]any{"phase": "Active"}
	}
}

// namespaceOpen refuses objects in namespaces that are not there or are going.
func (t *tx) namespaceOpen(k api.Kind, namespace, name string) error {
	if !k.Namespaced {
		return nil
	}
	key := api.Namespace.Key("", namespace)
	ns, ok := t.get(key)
	if !ok {
		return notFound(api.Namespace, namespace)
	}
	if rev := t.revision(key); rev != 0 {
		t.relied[key] = rev
	}
	if ns.Meta().DeletionTimestamp == "" {
		return nil
	}
	e := apierrors.NewForbidden(resourceOf(k), name, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", namespace))
	e.ErrStatus.Details.Causes = append(e.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: NamespaceTerminating, Message: fmt.Sprintf("namespace %s is being terminated", namespace), Field: "metadata.namespace"})
	return e
}

// name makes a name from generateName.
func (t *tx) name(k api.Kind, tree map[string]any) error {
	m := metadata(tree)
	name, _ := m["name"].(string)
	prefix, _ := m["generateName"].(string)
	namespace, _ := m["namespace"].(string)
	if name == "" && prefix != "" {
		// Names are at most 63 long so that they fit everywhere; the prefix gives way.
		prefix = prefix[:min(len(prefix), 58)]
		for range 8 {
			name = prefix + t.r.o.NewSuffix()
			if _, taken := t.get(k.Key(namespace, name)); !taken {
				break
			}
		}
		m["name"] = name
	}
	if name == "" {
		return invalid(k, "", problem(api.CodeRequired, ".metadata.name", "name or generateName is required"))
	}
	if k.Kind == api.Namespace.Kind && k.Group == "" {
		child(m, "labels")["kubernetes.io/metadata.name"] = name
	}
	return nil
}

// trimEvents removes events of a namespace that are too old, and the longest
// unchanged ones until at most keep remain. It does a bounded part of the work
// at a time.
func (t *tx) trimEvents(namespace string, keep int) {
	const most = 64
	count, removed := 0, 0
	var oldest object.Object
	for o := range t.each("", api.EventKind.Kind, namespace) {
		if removed < most && t.expired(o) {
			t.stage(o.Key(), object.Object{})
			removed++
			continue
		}
		count++
		if rev := revisionOf(o); rev != 0 && (oldest.IsZero() || rev < revisionOf(oldest)) {
			oldest = o
		}
	}
	if count > keep && !oldest.IsZero() {
		t.stage(oldest.Key(), object.Object{})
	}
}

// expired says whether an event was last seen longer than the TTL ago.
func (t *tx) expired(o object.Object) bool {
	e, err := eventTimes(o)
	if err != nil {
		return true
	}
	return t.now.Sub(e) > t.r.o.EventTTL
}
