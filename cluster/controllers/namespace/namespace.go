// Package namespace gives each Namespace its "default" ServiceAccount, and
// empties a Namespace that is deleted before it lets it go.
//
// The registry refuses new objects in a Namespace that is going, so emptying
// ends. Nothing is polled: the removal of the last object of such a Namespace
// is what finishes it.
package namespace

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/object"
)

const (
	component = "namespace-controller"
	// account is the ServiceAccount that every Namespace has.
	account = "default"
	// maxBatch bounds the objects deleted by one transaction.
	maxBatch = 250
)

type reconciler struct {
	controller.Env
}

// New makes the controller.
func New(env controller.Env) (*controller.Controller, error) {
	env = env.WithDefaults()
	r := &reconciler{env}
	o := controller.Options{Name: component, Env: env, Reconciler: r, Workers: 2}
	o.Watches = []controller.Watch{{Kind: api.Namespace}}
	for _, k := range api.Kinds {
		if k.Namespaced {
			o.Watches = append(o.Watches, controller.Watch{Kind: k, Map: r.left})
		}
	}
	return controller.New(o)
}

// left names the Namespace that an object has left, if that is going or lacks
// what every Namespace has.
func (r *reconciler) left(ctx context.Context, c controller.Change) []object.Key {
	if !c.New.IsZero() {
		return nil
	}
	k := api.Namespace.Key("", c.Old.Namespace())
	o, err := r.Client.Get(ctx, k)
	if err != nil {
		return nil
	}
	if o.Meta().DeletionTimestamp == "" && (c.Old.Kind() != api.ServiceAccount.Kind || c.Old.Name() != account) {
		return nil
	}
	return []object.Key{k}
}

// Reconcile creates what a Namespace lacks, or deletes what a going one has.
func (r *reconciler) Reconcile(ctx context.Context, k object.Key) (controller.Result, error) {
	o, err := r.Client.Get(ctx, k)
	if apierrors.IsNotFound(err) {
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	if o.Meta().DeletionTimestamp == "" {
		return controller.Result{}, r.furnish(ctx, o)
	}
	return controller.Result{}, r.empty(ctx, o)
}

func (r *reconciler) furnish(ctx context.Context, ns object.Object) error {
	_, err := r.Client.Get(ctx, api.ServiceAccount.Key(ns.Name(), account))
	if !apierrors.IsNotFound(err) {
		return err
	}
	sa, err := api.Encode(api.ServiceAccount, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name(), Name: account}})
	if err != nil {
		return err
	}
	_, err = r.Client.Create(ctx, sa)
	switch {
	case apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil // Done by others, or no longer wanted.
	case err != nil:
		return fmt.Errorf("create ServiceAccount %s/%s: %w", ns.Name(), account, err)
	}
	return nil
}

// empty deletes a batch of the objects that are left, and lets the Namespace
// go when there are none.
func (r *reconciler) empty(ctx context.Context, ns object.Object) error {
	var ops []api.Operation
	left := 0
	// From the users to what they use: the reverse of the order of creation.
	for i := range api.Kinds {
		k := api.Kinds[len(api.Kinds)-1-i]
		if !k.Namespaced {
			continue
		}
		list, err := r.Client.List(ctx, k, api.ListOptions{Namespace: ns.Name()})
		if err != nil {
			return err
		}
		left += len(list.Items)
		for _, o := range list.Items {
			if o.Meta().DeletionTimestamp == "" && len(ops) < maxBatch {
				ops = append(ops, controller.DeleteOperation(o))
			}
		}
	}
	if len(ops) > 0 {
		_, err := r.Client.Transact(ctx, api.Transaction{Operations: ops})
		return err // What was removed brings us back.
	}
	if left > 0 {
		return nil // They go when their nodes, finalizers or dependents let them.
	}
	return r.finalize(ctx, ns)
}

func (r *reconciler) finalize(ctx context.Context, ns object.Object) error {
	tree := ns.Tree()
	if spec, ok := tree["spec"].(map[string]any); ok {
		delete(spec, "finalizers")
	}
	next, err := object.FromTree(tree)
	if err != nil {
		return err
	}
	_, err = r.Client.Update(ctx, next)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
