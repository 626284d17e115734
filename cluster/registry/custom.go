package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/writ-dev/writ/cluster/admission"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/custom"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/ownership"
	"github.com/writ-dev/writ/cluster/store"
)

// ruleTime bounds the evaluation of the rules of one object.
const ruleTime = 2 * time.Second

// customs keeps the kinds compiled of the last definitions that were asked for.
type customs struct {
	last atomic.Pointer[compiledKinds]
	mu   sync.Mutex // held while compiling
}

type compiledKinds struct {
	mark store.Mark
	set  *custom.Set
}

func (c *customs) of(s store.Snapshot) *custom.Set {
	mark := s.Mark(api.Definition.Group, api.Definition.Kind)
	if k := c.last.Load(); k != nil && k.mark == mark {
		return k.set
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.last.Load(); k != nil && k.mark == mark {
		return k.set
	}
	k := &compiledKinds{mark: mark, set: custom.Compile(s.List(api.Definition.Group, api.Definition.Kind, ""))}
	c.last.Store(k)
	return k.set
}

// Customs returns the kinds that are defined now. The set is the same as long
// as the definitions are.
func (r *Registry) Customs() *custom.Set { return r.customs.of(r.o.Store.View()) }

// Lookup finds a served kind: one of api.Kinds, api.Definition, or one that is
// defined.
func (r *Registry) Lookup(group, kind string) (api.Kind, bool) {
	return lookup(group, kind, r.Customs)
}

// ByResource finds a served kind by its plural.
func (r *Registry) ByResource(group, resource string) (api.Kind, bool) {
	if k, ok := api.ByResource(group, resource); ok {
		return k, true
	}
	if group == api.Definition.Group && resource == api.Definition.Resource {
		return api.Definition, true
	}
	if c, ok := r.Customs().ByResource(group, resource); ok {
		return c.Kind, true
	}
	return api.Kind{}, false
}

func lookup(group, kind string, set func() *custom.Set) (api.Kind, bool) {
	if k, ok := api.Lookup(group, kind); ok {
		return k, true
	}
	if isDefinition(group, kind) {
		return api.Definition, true
	}
	if c, ok := set().Lookup(group, kind); ok {
		return c.Kind, true
	}
	return api.Kind{}, false
}

func isDefinition(group, kind string) bool {
	return group == api.Definition.Group && kind == api.Definition.Kind
}

// customs are the kinds as the next operation sees them.
func (t *tx) customs() *custom.Set {
	for _, k := range t.order {
		if isDefinition(k.Group, k.Kind) {
			return custom.Compile(t.each(k.Group, k.Kind, ""))
		}
	}
	return t.r.customs.of(t.snap)
}

func (t *tx) lookup(group, kind string) (api.Kind, bool) { return lookup(group, kind, t.customs) }

// custom returns what is known of a custom kind.
func (t *tx) custom(k api.Kind) (*custom.Kind, error) {
	c, ok := t.customs().Lookup(k.Group, k.Kind)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("no kind %q is served in %q", k.Kind, k.APIVersion()))
	}
	return c, nil
}

// fields returns the fields of a kind.
func (t *tx) fields(k api.Kind) (*ownership.Fields, error) {
	if k.Custom {
		c, err := t.custom(k)
		if err != nil {
			return nil, err
		}
		return c.Fields, nil
	}
	f, err := ownership.Of(k)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return f, nil
}

// metadataOnly is a kind of which nothing but the metadata is looked at.
func metadataOnly(k api.Kind) api.Kind {
	k.New = func() runtime.Object { return new(metav1.PartialObjectMetadata) }
	return k
}

// shapeCustom is shape for a kind without a Go type: only the metadata has one.
func (t *tx) shapeCustom(k api.Kind, o object.Object, validation string) (map[string]any, error) {
	c, err := t.custom(k)
	if err != nil {
		return nil, err
	}
	tree := o.Tree()
	head, err := object.FromTree(map[string]any{"apiVersion": k.APIVersion(), "kind": k.Kind, "metadata": tree["metadata"]})
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	problems := admission.Strict(metadataOnly(k), head)
	for _, p := range c.Schema.Validate(k.Kind, tree) {
		if p.Code == api.CodeUnknownField {
			problems = append(problems, p)
		}
	}
	if err := t.strict(problems, validation); err != nil {
		return nil, err
	}
	meta, err := typedMetadata(metadataOnly(k), head)
	if err != nil {
		return nil, err
	}
	tree = c.Schema.Pruned(tree).(map[string]any)
	tree["apiVersion"], tree["kind"], tree["metadata"] = k.APIVersion(), k.Kind, meta
	if t.u.Manager == "" {
		delete(meta, "managedFields")
	}
	delete(meta, "selfLink")
	return tree, nil
}

// admitCustom fills in defaults and validates by the schema and its rules. old
// is zero on create.
func (t *tx) admitCustom(k api.Kind, tree map[string]any, old object.Object) (object.Object, error) {
	c, err := t.custom(k)
	if err != nil {
		return object.Object{}, err
	}
	tree = c.Schema.WithDefaults(tree).(map[string]any)
	o, err := object.FromTree(tree)
	if err != nil {
		return o, apierrors.NewBadRequest(err.Error())
	}
	var ps []admission.Problem
	if !t.u.system() {
		ps = admission.Reserved(k, o, old)
	}
	ps = append(ps, admission.Validate(k, o, old)...)
	for _, p := range c.Schema.Validate(k.Kind, tree) {
		if !strings.HasPrefix(p.Path, ".metadata.") {
			ps = append(ps, p)
		}
	}
	if len(ps) == 0 {
		if ps, err = t.rules(c, tree, old); err != nil {
			return o, err
		}
	}
	if len(ps) > 0 {
		return o, invalid(k, keyName(o), ps)
	}
	if c.Warning != "" {
		t.warnings = append(t.warnings, c.Warning)
	}
	return canonical(o)
}

// rules evaluates the CEL rules of the schema. Of the metadata they see the
// name.
func (t *tx) rules(c *custom.Kind, tree map[string]any, old object.Object) ([]admission.Problem, error) {
	ctx, cancel := context.WithTimeout(context.Background(), ruleTime)
	defer cancel()
	var was any
	if !old.IsZero() {
		was = old.Tree()
	}
	ps, err := c.Schema.EvaluateChange(ctx, tree, was, nil)
	if err != nil {
		return nil, apierrors.NewTimeoutError("the rules of the definition took too long", 0)
	}
	return ps, nil
}

// checkStatus validates the status of an object of a custom kind.
func (t *tx) checkStatus(k api.Kind, next, live object.Object) (object.Object, error) {
	c, err := t.custom(k)
	if err != nil {
		return next, err
	}
	tree := c.Schema.WithDefaults(next.Tree()).(map[string]any)
	var ps []admission.Problem
	if s := c.Schema.Property("status"); s != nil {
		for _, p := range s.Validate(k.Kind, tree["status"]) {
			p.Path = ".status" + p.Path
			ps = append(ps, p)
		}
	}
	if len(ps) == 0 {
		if ps, err = t.rules(c, tree, live); err != nil {
			return next, err
		}
	}
	if len(ps) > 0 {
		return next, invalid(k, live.Name(), ps)
	}
	return object.FromTree(tree)
}

// objectsOf are the objects of a custom kind as the next operation sees them.
func (t *tx) objectsOf(k api.Kind, namespace string) []object.Object {
	return slices.Collect(t.each(k.Group, k.Kind, namespace))
}

// clear deletes the objects of custom kinds that cannot stay: all of a kind, or
// all in a namespace. It says whether any must wait for its finalizers.
func (t *tx) clear(kinds []*custom.Kind, namespace string) (left bool, err error) {
	var list []object.Object
	for _, c := range kinds {
		if namespace == "" || c.Namespaced {
			list = append(list, t.objectsOf(c.Kind, namespace)...)
		}
	}
	if len(list) > maxOperations {
		return false, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("%d objects would go with it, and a transaction holds at most %d: delete them first", len(list), maxOperations))
	}
	for _, o := range list {
		out, err := t.delete(o.Key(), DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return false, err
		}
		left = left || err == nil && !out.removed
	}
	return left, nil
}

// leave lets go what has only waited for an object of a custom kind: what
// depends on it, its definition, its namespace.
func (t *tx) leave(k api.Kind, o object.Object) {
	for _, d := range t.dependents(o) {
		if len(d.Meta().OwnerReferences) > 1 {
			t.disown(d, o.Meta().UID)
		} else if _, err := t.delete(d.Key(), DeleteOptions{}); err != nil {
			t.r.o.Logger.Warn("delete what depends on a custom object", "key", d.Key().String(), "error", err.Error())
		}
	}
	c, err := t.custom(k)
	if err != nil {
		return
	}
	if def, ok := t.get(api.Definition.Key("", c.Definition)); ok && def.Meta().DeletionTimestamp != "" && len(t.objectsOf(k, "")) == 0 {
		tree := def.Tree()
		m := metadata(tree)
		delete(m, "resourceVersion")
		list, _ := m["finalizers"].([]any)
		m["finalizers"] = slices.DeleteFunc(list, func(f any) bool { return f == cleanup })
		if next, err := object.FromTree(tree); err == nil {
			t.settle(api.Definition, next)
		}
	}
	if ns, ok := t.get(api.Namespace.Key("", o.Namespace())); ok && t.goes(api.Namespace, ns) {
		t.remove(api.Namespace, ns)
	}
}

// cleanup holds a definition until its objects are gone.
const cleanup = "customresourcecleanup.apiextensions.k8s.io"

// inhabited says whether objects of custom kinds are left in a namespace.
func (t *tx) inhabited(namespace string) bool {
	for _, c := range t.customs().Kinds() {
		if c.Namespaced && len(t.objectsOf(c.Kind, namespace)) > 0 {
			return true
		}
	}
	return false
}
