// Package gc deletes objects whose owners are gone, and holds back owners that
// are deleted in the foreground until their dependents are gone.
//
// An owner reference counts by UID. Before anything is deleted, its owners are
// looked up live; an index of who depends on whom, kept from the watches, only
// says where to look, so a stale index costs time and nothing else. Every
// object is looked at once when the controller starts, so owners that
// vanished while no controller ran leave nothing behind.
//
// It never deletes an object that has an owner of a kind that is not served,
// or whose owner lives in another namespace: such a reference is void but the
// object is somebody's. Orphaning is done by the registry, in the transaction
// that deletes the owner.
package gc

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/object"
)

const (
	component = "garbage-collector"
	// maxBatch bounds the objects deleted by one transaction.
	maxBatch = 250
)

type reconciler struct {
	controller.Env
	graph *graph
}

// New makes the controller.
func New(env controller.Env) (*controller.Controller, error) {
	env = env.WithDefaults()
	r := &reconciler{env, newGraph()}
	o := controller.Options{Name: component, Env: env, Reconciler: r, Workers: 4}
	for _, k := range api.Kinds {
		o.Watches = append(o.Watches, controller.Watch{Kind: k, Map: r.concerned})
	}
	return controller.New(o)
}

// concerned keeps the index and names what a change concerns: the object
// itself when it has owners or waits for dependents, the dependents of one that
// is gone, and the owners that it names no more.
func (r *reconciler) concerned(_ context.Context, c controller.Change) []object.Key {
	keys := r.graph.update(c)
	if o := c.New; !o.IsZero() && (len(o.Meta().OwnerReferences) > 0 || waiting(o)) {
		keys = append(keys, o.Key())
	}
	if c.Old.IsZero() {
		return keys
	}
	for _, ref := range c.Old.Meta().OwnerReferences {
		same := func(r object.OwnerReference) bool { return r.UID == ref.UID }
		if !c.New.IsZero() && slices.ContainsFunc(c.New.Meta().OwnerReferences, same) {
			continue
		}
		if k, ok := ownerKey(c.Old, ref); ok {
			keys = append(keys, k)
		}
	}
	return keys
}

// waiting reports whether o is deleted in the foreground.
func waiting(o object.Object) bool {
	return o.Meta().DeletionTimestamp != "" && slices.Contains(o.Meta().Finalizers, metav1.FinalizerDeleteDependents)
}

// ownerKey returns where the owner of o should be; false when its kind is not
// served.
func ownerKey(o object.Object, ref object.OwnerReference) (object.Key, bool) {
	k, ok := api.Lookup(controller.GroupOf(ref.APIVersion), ref.Kind)
	return k.Key(o.Namespace(), ref.Name), ok
}

// Reconcile deletes the object if no owner is left, or takes the next step of
// its deletion in the foreground.
func (r *reconciler) Reconcile(ctx context.Context, k object.Key) (controller.Result, error) {
	o, err := r.Client.Get(ctx, k)
	if apierrors.IsNotFound(err) {
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	if waiting(o) {
		return controller.Result{}, r.foreground(ctx, o)
	}
	if o.Meta().DeletionTimestamp != "" || len(o.Meta().OwnerReferences) == 0 {
		return controller.Result{}, nil
	}
	return controller.Result{}, ignore(r.collect(ctx, o))
}

// ignore drops errors that say the object is no longer what was judged: then
// there is an event, too.
func ignore(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// collect deletes o when all of its owners are gone, and else removes the
// references to those that are.
func (r *reconciler) collect(ctx context.Context, o object.Object) error {
	gone, left := 0, 0
	var keep []any
	tree := o.Tree()
	refs, _ := tree["metadata"].(map[string]any)["ownerReferences"].([]any)
	for i, ref := range o.Meta().OwnerReferences {
		absent, err := r.absent(ctx, o, ref)
		if err != nil {
			return err
		}
		if absent {
			gone++
			continue
		}
		left++
		keep = append(keep, refs[i])
	}
	switch {
	case gone == 0:
		return nil
	case left == 0:
		op := controller.DeleteOperation(o)
		op.ResourceVersion = o.Meta().ResourceVersion // Its owners are as judged.
		_, err := r.Client.Transact(ctx, api.Transaction{Operations: []api.Operation{op}})
		return err
	}
	tree["metadata"].(map[string]any)["ownerReferences"] = keep
	next, err := object.FromTree(tree)
	if err != nil {
		return err
	}
	_, err = r.Client.Update(ctx, next)
	return err
}

// absent reports whether an owner of o is certainly gone.
func (r *reconciler) absent(ctx context.Context, o object.Object, ref object.OwnerReference) (bool, error) {
	k, ok := ownerKey(o, ref)
	if !ok {
		return false, nil
	}
	owner, err := r.Client.Get(ctx, k)
	if err == nil && owner.Meta().UID == ref.UID {
		return false, nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	// Somewhere else an object has that UID: the reference crosses namespaces.
	kind, _ := api.Lookup(k.Group, k.Kind)
	list, err := r.Client.List(ctx, kind, api.ListOptions{})
	if err != nil {
		return false, err
	}
	elsewhere := slices.ContainsFunc(list.Items, func(x object.Object) bool { return x.Meta().UID == ref.UID })
	if elsewhere {
		r.Logger.Warn("owner reference crosses namespaces", "key", o.Key().String(), "owner", ref.Kind+" "+ref.Name)
	}
	return !elsewhere, nil
}

// foreground deletes what depends on o, and lets o go once nothing that blocks
// its deletion is left.
func (r *reconciler) foreground(ctx context.Context, o object.Object) error {
	dependents, err := r.dependents(ctx, o)
	if err != nil {
		return err
	}
	var ops []api.Operation
	blocked := false
	for _, d := range dependents {
		for _, ref := range d.Meta().OwnerReferences {
			if ref.UID == o.Meta().UID && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
				blocked = true
			}
		}
		if d.Meta().DeletionTimestamp != "" || len(ops) == maxBatch {
			continue
		}
		op := controller.DeleteOperation(d)
		if r.graph.owns(d.Meta().UID) {
			op.Propagation = string(metav1.DeletePropagationForeground)
		}
		ops = append(ops, op)
	}
	if len(ops) > 0 {
		if _, err := r.Client.Transact(ctx, api.Transaction{Operations: ops}); err != nil {
			return err
		}
		if !blocked {
			return nil // What was deleted brings us back.
		}
	}
	if blocked {
		return nil
	}
	tree := o.Tree()
	m := tree["metadata"].(map[string]any)
	finalizers, _ := m["finalizers"].([]any)
	m["finalizers"] = slices.DeleteFunc(finalizers, func(f any) bool { return f == metav1.FinalizerDeleteDependents })
	next, err := object.FromTree(tree)
	if err != nil {
		return err
	}
	_, err = r.Client.Update(ctx, next)
	return ignore(err)
}

// dependents returns the live objects that name o as their only remaining
// owner or block its deletion. Those that others own as well are left to
// collect.
func (r *reconciler) dependents(ctx context.Context, o object.Object) ([]object.Object, error) {
	var out []object.Object
	for _, k := range api.Kinds {
		if o.Namespace() != "" && !k.Namespaced {
			continue
		}
		list, err := r.Client.List(ctx, k, api.ListOptions{Namespace: o.Namespace()})
		if err != nil {
			return nil, err
		}
		for _, d := range list.Items {
			refs := d.Meta().OwnerReferences
			if len(refs) == 0 || !slices.ContainsFunc(refs, func(ref object.OwnerReference) bool { return ref.UID == o.Meta().UID }) {
				continue
			}
			shared, err := r.shared(ctx, d, o.Meta().UID)
			if err != nil {
				return nil, err
			}
			if !shared {
				out = append(out, d)
			}
		}
	}
	return out, nil
}

// shared reports whether d has another owner than that UID that stays.
func (r *reconciler) shared(ctx context.Context, d object.Object, uid string) (bool, error) {
	for _, ref := range d.Meta().OwnerReferences {
		if ref.UID == uid {
			continue
		}
		k, ok := ownerKey(d, ref)
		if !ok {
			return true, nil
		}
		owner, err := r.Client.Get(ctx, k)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return false, err
		case owner.Meta().UID == ref.UID && owner.Meta().DeletionTimestamp == "":
			return true, nil
		}
	}
	return false, nil
}
