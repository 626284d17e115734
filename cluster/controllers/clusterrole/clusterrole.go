// Package clusterrole keeps the rules of aggregated ClusterRoles: the union of
// the rules of all ClusterRoles that their selectors select.
package clusterrole

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/rbac"
)

const component = "clusterrole-aggregation-controller"

type reconciler struct {
	controller.Env
}

// New makes the controller.
func New(env controller.Env) (*controller.Controller, error) {
	env = env.WithDefaults()
	r := &reconciler{env}
	return controller.New(controller.Options{Name: component, Env: env, Reconciler: r, Workers: 1,
		Watches: []controller.Watch{{Kind: api.ClusterRole, Map: r.aggregated}}})
}

// aggregated names every aggregated role: any change of a role may concern any
// of them.
func (r *reconciler) aggregated(ctx context.Context, _ controller.Change) []object.Key {
	roles, err := r.roles(ctx)
	if err != nil {
		return nil
	}
	var keys []object.Key
	for _, role := range roles {
		if role.AggregationRule != nil {
			keys = append(keys, api.ClusterRole.Key("", role.Name))
		}
	}
	return keys
}

func (r *reconciler) roles(ctx context.Context) ([]*rbacv1.ClusterRole, error) {
	l, err := r.Client.List(ctx, api.ClusterRole, api.ListOptions{})
	if err != nil {
		return nil, err
	}
	var out []*rbacv1.ClusterRole
	for _, o := range l.Items {
		if role, err := api.Decode[rbacv1.ClusterRole](o); err == nil {
			out = append(out, role)
		}
	}
	return out, nil
}

// Reconcile writes the rules of one aggregated role when they are not what
// they should be.
func (r *reconciler) Reconcile(ctx context.Context, k object.Key) (controller.Result, error) {
	o, err := r.Client.Get(ctx, k)
	if apierrors.IsNotFound(err) {
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	role, err := api.Decode[rbacv1.ClusterRole](o)
	if err != nil || role.AggregationRule == nil {
		return controller.Result{}, err
	}
	roles, err := r.roles(ctx)
	if err != nil {
		return controller.Result{}, err
	}
	rules := rbac.Aggregate(role, roles)
	if equality.Semantic.DeepEqual(rules, role.Rules) {
		return controller.Result{}, nil
	}
	next := role.DeepCopy()
	next.Rules = rules
	if o, err = api.Encode(api.ClusterRole, next); err != nil {
		return controller.Result{}, err
	}
	_, err = r.Client.Update(ctx, o)
	if apierrors.IsNotFound(err) {
		err = nil
	}
	return controller.Result{}, err
}
