package registry

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/custom"
	"github.com/writ-dev/writ/cluster/object"
)

// defaultGrace is a pod's grace period when its spec has none, in seconds.
const defaultGrace = 30

// protected namespaces always exist.
var protected = []string{"default", "kube-system", "kube-node-lease"}

// DeleteOptions refine a deletion.
type DeleteOptions struct {
	// UID and ResourceVersion, where set, are preconditions.
	UID, ResourceVersion string
	// GracePeriodSeconds replaces a pod's own; 0 removes it at once.
	GracePeriodSeconds *int64
	// Propagation is Background (default), Foreground or Orphan.
	Propagation string
	DryRun      bool
}

// delete stages an object's removal, or the start of it.
func (t *tx) delete(key object.Key, o DeleteOptions) (outcome, error) {
	k, ok := t.lookup(key.Group, key.Kind)
	if !ok {
		return outcome{}, apierrors.NewBadRequest(fmt.Sprintf("kind %q is not served", key.Kind))
	}
	live, ok := t.get(key)
	if !ok {
		return outcome{}, notFound(k, key.Name)
	}
	if err := t.check(k, live, preconditions{uid: o.UID, resourceVersion: o.ResourceVersion}); err != nil {
		return outcome{}, err
	}
	if err := t.mayDelete(k, live); err != nil {
		return outcome{}, err
	}
	tree := live.Tree()
	m := metadata(tree)
	delete(m, "resourceVersion")
	switch p := metav1.DeletionPropagation(o.Propagation); p {
	case "", metav1.DeletePropagationBackground:
	case metav1.DeletePropagationForeground:
		// Of a custom kind all goes at once anyway.
		if live.Meta().DeletionTimestamp == "" && !k.Custom {
			m["finalizers"] = withString(live.Meta().Finalizers, metav1.FinalizerDeleteDependents)
		}
	case metav1.DeletePropagationOrphan:
		t.orphan(live)
	default:
		return outcome{}, invalid(k, live.Name(), problem(api.CodeInvalid, ".propagationPolicy", "must be Background, Foreground or Orphan, not %q", p))
	}
	left, err := t.evacuate(k, live)
	if err != nil {
		return outcome{}, err
	}
	if left && isDefinition(k.Group, k.Kind) {
		m["finalizers"] = withString(live.Meta().Finalizers, cleanup)
	}
	t.terminate(k, live, tree, o.GracePeriodSeconds)
	next, err := object.FromTree(tree)
	if err != nil {
		return outcome{}, apierrors.NewInternalError(err)
	}
	return t.settle(k, next), nil
}

// evacuate deletes the objects of custom kinds that go with a definition or a
// namespace.
func (t *tx) evacuate(k api.Kind, live object.Object) (left bool, err error) {
	switch {
	case isDefinition(k.Group, k.Kind):
		for _, c := range t.customs().Kinds() {
			if c.Definition == live.Name() {
				return t.clear([]*custom.Kind{c}, "")
			}
		}
	case k.GVK() == api.Namespace.GVK():
		return t.clear(t.customs().Kinds(), live.Name())
	}
	return false, nil
}

func (t *tx) mayDelete(k api.Kind, live object.Object) error {
	if k.System && !t.u.system() {
		return apierrors.NewForbidden(resourceOf(k), live.Name(), fmt.Errorf("only the cluster itself writes %s", k.Resource))
	}
	if k.Kind == api.Namespace.Kind && k.Group == "" && slices.Contains(protected, live.Name()) {
		return apierrors.NewForbidden(resourceOf(k), live.Name(), fmt.Errorf("this namespace may not be deleted"))
	}
	return nil
}

// terminate marks the tree as going. A pod on a node gets time to stop: the
// node's agent deletes it for good, with grace 0, when it has.
func (t *tx) terminate(k api.Kind, live object.Object, tree map[string]any, grace *int64) {
	m := metadata(tree)
	seconds := int64(0)
	if k.Kind == api.Pod.Kind && k.Group == "" {
		seconds = t.podGrace(live, tree, grace)
	}
	if was := live.Meta().DeletionTimestamp; was != "" {
		old, err := m["deletionGracePeriodSeconds"].(json.Number).Int64()
		if err == nil && old <= seconds {
			return // Only ever sooner.
		}
	} else if live.Meta().Generation > 0 {
		m["generation"] = json.Number(strconv.FormatInt(live.Meta().Generation+1, 10))
	}
	m["deletionTimestamp"] = t.now.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339)
	m["deletionGracePeriodSeconds"] = json.Number(strconv.FormatInt(seconds, 10))
	if k.Kind == api.Namespace.Kind && k.Group == "" {
		child(tree, "status")["phase"] = "Terminating"
	}
}

// podGrace returns how long the pod may take to stop, in seconds. What no
// node runs, or what has ended, goes at once.
func (t *tx) podGrace(live object.Object, tree map[string]any, asked *int64) int64 {
	spec := child(tree, "spec")
	node, _ := spec["nodeName"].(string)
	phase, _ := child(tree, "status")["phase"].(string)
	if node == "" || phase == "Succeeded" || phase == "Failed" {
		return 0
	}
	if _, ok := t.get(api.Node.Key("", node)); !ok {
		return 0
	}
	// The agent's own deletion says that the containers are gone.
	if asked == nil && live.Meta().DeletionTimestamp != "" && t.u.Name == "system:node:"+node {
		return 0
	}
	if asked != nil {
		return max(0, *asked)
	}
	if n, ok := spec["terminationGracePeriodSeconds"].(json.Number); ok {
		if s, err := n.Int64(); err == nil && s >= 0 {
			return s
		}
	}
	return defaultGrace
}

// orphan frees the dependents of an object, wherever they are, in the same
// transaction, so that nothing collects them afterwards.
func (t *tx) orphan(owner object.Object) {
	for _, o := range t.dependents(owner) {
		t.disown(o, owner.Meta().UID)
	}
}

// dependents are the objects that name an owner.
func (t *tx) dependents(owner object.Object) []object.Object {
	kinds := slices.Clone(api.Kinds)
	for _, c := range t.customs().Kinds() {
		kinds = append(kinds, c.Kind)
	}
	uid := owner.Meta().UID
	var out []object.Object
	for _, k := range kinds {
		for o := range t.each(k.Group, k.Kind, owner.Namespace()) {
			if slices.ContainsFunc(o.Meta().OwnerReferences, func(r object.OwnerReference) bool { return r.UID == uid }) {
				out = append(out, o)
			}
		}
	}
	return out
}

// disown removes an owner reference.
func (t *tx) disown(o object.Object, uid string) {
	tree := o.Tree()
	m := metadata(tree)
	delete(m, "resourceVersion")
	refs, _ := m["ownerReferences"].([]any)
	refs = slices.DeleteFunc(refs, func(r any) bool {
		ref, _ := r.(map[string]any)
		return ref["uid"] == uid
	})
	if m["ownerReferences"] = refs; len(refs) == 0 {
		delete(m, "ownerReferences")
	}
	if next, err := object.FromTree(tree); err == nil {
		t.stage(o.Key(), next)
	}
}

// remove stages the removal of an object and gives back its addresses.
func (t *tx) remove(k api.Kind, o object.Object) {
	t.stage(o.Key(), object.Object{})
	if k.Custom {
		t.leave(k, o)
		return
	}
	t.release(k, o)
}

func withString(list []string, s string) []any {
	out := make([]any, 0, len(list)+1)
	for _, e := range list {
		out = append(out, e)
	}
	if !slices.Contains(list, s) {
		out = append(out, s)
	}
	return out
}
