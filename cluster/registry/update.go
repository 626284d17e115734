package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/admission"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// preconditions of a change; the zero value has none.
type preconditions struct {
	uid, resourceVersion string
}

func (t *tx) check(k api.Kind, live object.Object, p preconditions) error {
	if p.uid != "" && p.uid != live.Meta().UID {
		return conflict(k, live.Name(), fmt.Sprintf("Precondition failed: UID in precondition: %s, UID in object meta: %s", p.uid, live.Meta().UID))
	}
	if p.resourceVersion == "" || p.resourceVersion == "0" {
		return nil
	}
	want, err := strconv.ParseUint(p.resourceVersion, 10, 64)
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("resourceVersion %q is not a number", p.resourceVersion))
	}
	if want != t.revision(live.Key()) {
		return conflict(k, live.Name(), stale)
	}
	return nil
}

// existing finds the object that a change is about.
func (t *tx) existing(o object.Object, p preconditions) (api.Kind, object.Object, error) {
	k, err := t.identify(o)
	if err != nil {
		return k, o, err
	}
	live, ok := t.get(o.Key())
	if !ok {
		return k, live, notFound(k, o.Name())
	}
	for _, p := range []preconditions{p, {uid: o.Meta().UID, resourceVersion: o.Meta().ResourceVersion}} {
		if err := t.check(k, live, p); err != nil {
			return k, live, err
		}
	}
	return k, live, nil
}

// update stages everything of o but its status.
func (t *tx) update(o object.Object, p preconditions, validation string) (outcome, error) {
	return t.updateManaged(o, p, validation, t.manage(""))
}

func (t *tx) updateManaged(o object.Object, p preconditions, validation string, manage managing) (outcome, error) {
	k, live, err := t.existing(o, p)
	if err != nil {
		return outcome{}, err
	}
	tree, err := t.shape(k, o, validation)
	if err != nil {
		return outcome{}, err
	}
	was := live.Tree()
	t.carry(k, tree, was)
	if err := t.finalizers(k, tree, live); err != nil {
		return outcome{}, err
	}
	next, err := t.admit(k, tree, live)
	if err != nil {
		return outcome{}, err
	}
	if next, err = t.allocate(k, next, live); err != nil {
		return outcome{}, err
	}
	if next, err = manage(k, live, tree, next); err != nil {
		return outcome{}, err
	}
	if tree = next.Tree(); t.newGeneration(k, tree, was) && live.Meta().Generation > 0 {
		metadata(tree)["generation"] = json.Number(strconv.FormatInt(live.Meta().Generation+1, 10))
		if next, err = object.FromTree(tree); err != nil {
			return outcome{}, apierrors.NewInternalError(err)
		}
	}
	return t.settle(k, next), nil
}

// newGeneration says whether an update changes what an author has written.
func (t *tx) newGeneration(k api.Kind, tree, was map[string]any) bool {
	if !k.Custom {
		return k.Status && !reflect.DeepEqual(tree["spec"], was["spec"])
	}
	authored := func(m map[string]any) map[string]any {
		m = maps.Clone(m)
		delete(m, "metadata")
		if k.Status {
			delete(m, "status")
		}
		return m
	}
	return !reflect.DeepEqual(authored(tree), authored(was))
}

// carry copies what an update cannot change from the live object.
func (t *tx) carry(k api.Kind, tree, was map[string]any) {
	m, old := metadata(tree), metadata(was)
	delete(m, "resourceVersion")
	for _, f := range []string{"uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "generateName"} {
		copyField(m, old, f)
	}
	if _, ok := m["managedFields"]; !ok {
		copyField(m, old, "managedFields")
	}
	if k.Status {
		copyField(tree, was, "status")
	}
	switch k.GVK().GroupKind() {
	case api.Namespace.GVK().GroupKind():
		child(m, "labels")["kubernetes.io/metadata.name"] = old["name"]
		if !t.u.system() {
			copyField(child(tree, "spec"), child(was, "spec"), "finalizers")
		}
	case api.Service.GVK().GroupKind():
		carryService(child(tree, "spec"), child(was, "spec"))
	case api.Node.GVK().GroupKind():
		spec, oldSpec := child(tree, "spec"), child(was, "spec")
		if spec["podCIDR"] == nil {
			copyField(spec, oldSpec, "podCIDR")
			copyField(spec, oldSpec, "podCIDRs")
		}
	}
}

func copyField(to, from map[string]any, name string) {
	if v, ok := from[name]; ok {
		to[name] = v
	} else {
		delete(to, name)
	}
}

// finalizers refuses new finalizers on an object that is going.
func (t *tx) finalizers(k api.Kind, tree map[string]any, live object.Object) error {
	if live.Meta().DeletionTimestamp == "" {
		return nil
	}
	names, _ := metadata(tree)["finalizers"].([]any)
	for _, f := range names {
		if name, _ := f.(string); !slices.Contains(live.Meta().Finalizers, name) {
			return invalid(k, live.Name(), problem(api.CodeImmutable, ".metadata.finalizers", "no new finalizers can be added if the object is being deleted, found new finalizer %q", name))
		}
	}
	return nil
}

// settle stages next, or its removal when it was only waiting for this.
func (t *tx) settle(k api.Kind, next object.Object) outcome {
	if t.goes(k, next) {
		t.remove(k, next)
		return outcome{key: next.Key(), object: next, removed: true}
	}
	t.stage(next.Key(), next)
	return outcome{key: next.Key(), object: next}
}

// goes says whether nothing holds a terminating object any more.
func (t *tx) goes(k api.Kind, o object.Object) bool {
	if o.Meta().DeletionTimestamp == "" || len(o.Meta().Finalizers) > 0 {
		return false
	}
	tree := o.Tree()
	switch k.GVK().GroupKind() {
	case api.Namespace.GVK().GroupKind():
		f, _ := child(tree, "spec")["finalizers"].([]any)
		return len(f) == 0 && !t.inhabited(o.Name())
	case api.Pod.GVK().GroupKind():
		grace, ok := metadata(tree)["deletionGracePeriodSeconds"].(json.Number)
		return !ok || grace == "0"
	}
	return true
}

// updateStatus stages only the status of o.
func (t *tx) updateStatus(o object.Object, p preconditions, validation string) (outcome, error) {
	return t.updateStatusManaged(o, p, validation, t.manage(SubStatus))
}

func (t *tx) updateStatusManaged(o object.Object, p preconditions, validation string, manage managing) (outcome, error) {
	k, live, err := t.existing(o, p)
	if err != nil {
		return outcome{}, err
	}
	if !k.Status {
		return outcome{}, apierrors.NewMethodNotSupported(resourceOf(k), "update status of")
	}
	tree, err := t.shape(k, o, validation)
	if err != nil {
		return outcome{}, err
	}
	was := live.Tree()
	old := child(was, "status")
	copyField(was, tree, "status")
	if k.Kind == api.Pod.Kind && k.Group == "" {
		// A pod's address comes with its node and stays.
		status := child(was, "status")
		copyField(status, old, "podIP")
		copyField(status, old, "podIPs")
	}
	next, err := object.FromTree(was)
	if err != nil {
		return outcome{}, apierrors.NewBadRequest(err.Error())
	}
	if !t.u.system() {
		if ps := admission.Reserved(k, next, live); len(ps) > 0 {
			return outcome{}, invalid(k, live.Name(), ps)
		}
	}
	if ps := admission.ValidateStatus(k, next, live); len(ps) > 0 {
		return outcome{}, invalid(k, live.Name(), ps)
	}
	if k.Custom {
		if next, err = t.checkStatus(k, next, live); err != nil {
			return outcome{}, err
		}
	}
	if next, err = canonical(next); err != nil {
		return outcome{}, err
	}
	if next, err = manage(k, live, tree, next); err != nil {
		return outcome{}, err
	}
	t.stage(next.Key(), next)
	return outcome{key: next.Key(), object: next}, nil
}
