// Package endpoint keeps the EndpointSlices of each Service that selects pods.
//
// A Service's slices are worked out whole from the Service and the pods of its
// namespace, with names that follow from their content's kind, and compared
// with what is there; the differences commit as one transaction. Slices that
// carry another manager's label, and those of Services without a selector, are
// somebody else's and never touched.
package endpoint

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/object"
)

const (
	component = "endpoint-controller"
	// manager is the value of the managed-by label of our slices.
	manager = "endpointslice-controller.writ.dev"
)

type reconciler struct {
	controller.Env
}

// New makes the controller.
func New(env controller.Env) (*controller.Controller, error) {
	env = env.WithDefaults()
	r := &reconciler{env}
	return controller.New(controller.Options{
		Name: component,
		Env:  env,
		Watches: []controller.Watch{
			{Kind: api.Service},
			{Kind: api.Pod, Map: r.selecting},
			{Kind: api.EndpointSlice, Map: toService},
		},
		Reconciler: r,
		Workers:    4,
	})
}

// selecting names the Services that select a pod, before or after a change
// that matters to them.
func (r *reconciler) selecting(ctx context.Context, c controller.Change) []object.Key {
	if !matters(c) {
		return nil
	}
	services, err := r.Client.List(ctx, api.Service, api.ListOptions{Namespace: c.Object().Namespace()})
	if err != nil {
		return nil // The client reads memory; it fails only when it is stopping.
	}
	var keys []object.Key
	for _, o := range services.Items {
		svc, err := api.Decode[corev1.Service](o)
		if err != nil || len(svc.Spec.Selector) == 0 {
			continue
		}
		sel := labels.SelectorFromSet(svc.Spec.Selector)
		if !c.New.IsZero() && sel.Matches(labels.Set(c.New.Meta().Labels)) ||
			!c.Old.IsZero() && sel.Matches(labels.Set(c.Old.Meta().Labels)) {
			keys = append(keys, o.Key())
		}
	}
	return keys
}

// matters reports whether a change of a pod can change an endpoint.
func matters(c controller.Change) bool {
	if c.Old.IsZero() || c.New.IsZero() {
		return true
	}
	a, errA := api.Decode[corev1.Pod](c.Old)
	b, errB := api.Decode[corev1.Pod](c.New)
	if errA != nil || errB != nil {
		return true
	}
	return a.Status.PodIP != b.Status.PodIP || usable(a) != usable(b) || isReady(a) != isReady(b) ||
		(a.DeletionTimestamp == nil) != (b.DeletionTimestamp == nil) || !maps.Equal(a.Labels, b.Labels) ||
		a.UID != b.UID
}

// toService names the Service of one of our slices.
func toService(_ context.Context, c controller.Change) []object.Key {
	o := c.Object()
	if o.Meta().Labels[discoveryv1.LabelManagedBy] != manager {
		return nil
	}
	return []object.Key{api.Service.Key(o.Namespace(), o.Meta().Labels[discoveryv1.LabelServiceName])}
}

// Reconcile makes a Service's slices what they should be.
func (r *reconciler) Reconcile(ctx context.Context, k object.Key) (controller.Result, error) {
	o, err := r.Client.Get(ctx, k)
	if apierrors.IsNotFound(err) || err == nil && o.Meta().DeletionTimestamp != "" {
		return controller.Result{}, nil // The slices go with their owner.
	}
	if err != nil {
		return controller.Result{}, err
	}
	svc, err := api.Decode[corev1.Service](o)
	if err != nil {
		return controller.Result{}, err
	}
	have, err := r.slices(ctx, o)
	if err != nil {
		return controller.Result{}, err
	}
	var want []*discoveryv1.EndpointSlice
	if len(svc.Spec.Selector) > 0 {
		pods, err := r.pods(ctx, svc)
		if err != nil {
			return controller.Result{}, err
		}
		want = build(o, svc, pods)
	}
	ops, err := differences(want, have)
	if err != nil || len(ops) == 0 {
		return controller.Result{}, err
	}
	_, err = r.Client.Transact(ctx, api.Transaction{Operations: ops})
	return controller.Result{}, err
}

// slices returns our slices of a Service by name; slices of an earlier Service
// of the name are among them only until they are collected.
func (r *reconciler) slices(ctx context.Context, svc object.Object) (map[string]*discoveryv1.EndpointSlice, error) {
	list, err := r.Client.List(ctx, api.EndpointSlice, api.ListOptions{Namespace: svc.Namespace()})
	if err != nil {
		return nil, err
	}
	out := map[string]*discoveryv1.EndpointSlice{}
	for _, o := range list.Items {
		l := o.Meta().Labels
		if l[discoveryv1.LabelServiceName] != svc.Name() || l[discoveryv1.LabelManagedBy] != manager || o.Meta().DeletionTimestamp != "" {
			continue
		}
		s, err := api.Decode[discoveryv1.EndpointSlice](o)
		if err != nil {
			return nil, err
		}
		out[o.Name()] = s
	}
	return out, nil
}

// pods returns the pods that a Service selects and that have an address.
func (r *reconciler) pods(ctx context.Context, svc *corev1.Service) ([]*corev1.Pod, error) {
	list, err := r.Client.List(ctx, api.Pod, api.ListOptions{Namespace: svc.Namespace})
	if err != nil {
		return nil, err
	}
	sel := labels.SelectorFromSet(svc.Spec.Selector)
	var pods []*corev1.Pod
	for _, o := range list.Items {
		if !sel.Matches(labels.Set(o.Meta().Labels)) {
			continue
		}
		p, err := api.Decode[corev1.Pod](o)
		if err != nil {
			return nil, err
		}
		if usable(p) {
			pods = append(pods, p)
		}
	}
	return pods, nil
}

// differences returns the operations that turn have into want.
func differences(want []*discoveryv1.EndpointSlice, have map[string]*discoveryv1.EndpointSlice) ([]api.Operation, error) {
	var ops []api.Operation
	keep := map[string]bool{}
	for _, w := range want {
		keep[w.Name] = true
		h, ok := have[w.Name]
		if !ok {
			op, err := controller.CreateOperation(api.EndpointSlice, w)
			if err != nil {
				return nil, err
			}
			ops = append(ops, op)
			continue
		}
		if same(w, h) {
			continue
		}
		next := h.DeepCopy()
		next.Endpoints, next.Ports, next.OwnerReferences = w.Endpoints, w.Ports, w.OwnerReferences
		next.Labels = maps.Clone(w.Labels)
		op, err := controller.UpdateOperation(api.EndpointSlice, next)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if !keep[name] {
			o, err := api.Encode(api.EndpointSlice, have[name])
			if err != nil {
				return nil, err
			}
			ops = append(ops, controller.DeleteOperation(o))
		}
	}
	return ops, nil
}

func same(a, b *discoveryv1.EndpointSlice) bool {
	return equality.Semantic.DeepEqual(a.Endpoints, b.Endpoints) && equality.Semantic.DeepEqual(a.Ports, b.Ports) &&
		equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences) && maps.Equal(a.Labels, b.Labels)
}

// usable reports whether a pod can be an endpoint at all.
func usable(p *corev1.Pod) bool {
	return p.Status.PodIP != "" && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
