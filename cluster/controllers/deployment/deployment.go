// Package deployment moves each Deployment from one pod template to the next.
//
// It keeps one ReplicaSet per template and never touches pods. What to do is
// worked out by pure functions from the Deployment and its ReplicaSets (those
// that name it as controller by UID); the outcome, the revision annotation and
// the status commit as one transaction.
//
// Invariants of a rolling update: the controller never asks for more than
// replicas + maxSurge pods, counting those not deleted yet, and never takes
// away an available pod when that would leave fewer than replicas -
// maxUnavailable. The clock of progressDeadlineSeconds starts when the present
// template's ReplicaSet came to be, or was last seen to progress, never
// earlier.
package deployment

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/object"
)

const component = "deployment-controller"

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
			{Kind: api.Deployment},
			{Kind: api.ReplicaSet, Map: controller.ToController(api.Deployment)},
			{Kind: api.Pod, Map: r.goneWithPod},
		},
		Reconciler: r,
		Workers:    4,
	})
}

// goneWithPod names the Deployment of a pod that has ended: Recreate waits for
// that, and a ReplicaSet's status does not tell.
func (r *reconciler) goneWithPod(ctx context.Context, c controller.Change) []object.Key {
	if !c.New.IsZero() {
		p, err := api.Decode[corev1.Pod](c.New)
		if err != nil || !ended(p) {
			return nil
		}
	}
	var keys []object.Key
	for _, k := range controller.ToController(api.ReplicaSet)(ctx, c) {
		rs, err := r.Client.Get(ctx, k)
		if err != nil {
			continue
		}
		keys = append(keys, controller.ToController(api.Deployment)(ctx, controller.Change{New: rs})...)
	}
	return keys
}

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// set is one ReplicaSet of a Deployment.
type set struct {
	object object.Object
	*appsv1.ReplicaSet
}

// Reconcile takes the next step of the rollout.
func (r *reconciler) Reconcile(ctx context.Context, k object.Key) (controller.Result, error) {
	o, err := r.Client.Get(ctx, k)
	if apierrors.IsNotFound(err) || err == nil && o.Meta().DeletionTimestamp != "" {
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	d, err := api.Decode[appsv1.Deployment](o)
	if err != nil {
		return controller.Result{}, err
	}
	sets, err := r.sets(ctx, o)
	if err != nil {
		return controller.Result{}, err
	}
	in := input{deployment: d, object: o, sets: sets, now: r.Now()}
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		if in.oldPods, err = r.oldPods(ctx, d, sets); err != nil {
			return controller.Result{}, err
		}
	}
	p := plan(in)
	ops, err := p.operations(in)
	if err != nil {
		return controller.Result{}, err
	}
	if len(ops) > 0 {
		_, err := r.Client.Transact(ctx, api.Transaction{Operations: ops})
		if apierrors.IsAlreadyExists(err) && p.create != nil {
			return controller.Result{}, r.collide(ctx, o, d, p.create.Name)
		}
		if err != nil {
			return controller.Result{}, fmt.Errorf("roll out %s: %w", k, err)
		}
		for _, e := range p.events {
			r.Record(ctx, component, o, corev1.EventTypeNormal, "ScalingReplicaSet", e)
		}
	}
	return controller.Result{RequeueAfter: p.again}, nil
}

// sets returns the ReplicaSets that o controls and that are not going.
func (r *reconciler) sets(ctx context.Context, o object.Object) ([]set, error) {
	list, err := r.Client.List(ctx, api.ReplicaSet, api.ListOptions{Namespace: o.Namespace()})
	if err != nil {
		return nil, err
	}
	var sets []set
	for _, item := range list.Items {
		if !controller.ControlledBy(item, o.Meta().UID) || item.Meta().DeletionTimestamp != "" {
			continue
		}
		rs, err := api.Decode[appsv1.ReplicaSet](item)
		if err != nil {
			return nil, err
		}
		sets = append(sets, set{item, rs})
	}
	return sets, nil
}

// oldPods reports whether pods of earlier templates have not ended yet.
func (r *reconciler) oldPods(ctx context.Context, d *appsv1.Deployment, sets []set) (bool, error) {
	present, old := sortSets(d, sets)
	if len(old) == 0 && present == nil {
		return false, nil
	}
	list, err := r.Client.List(ctx, api.Pod, api.ListOptions{Namespace: d.Namespace})
	if err != nil {
		return false, err
	}
	for _, item := range list.Items {
		if !slices.ContainsFunc(old, func(s set) bool { return controller.ControlledBy(item, string(s.UID)) }) {
			continue
		}
		p, err := api.Decode[corev1.Pod](item)
		if err != nil {
			return false, err
		}
		if !ended(p) {
			return true, nil
		}
	}
	return false, nil
}

// collide remembers that a ReplicaSet's name is taken by something else, so
// that the next attempt uses another one.
func (r *reconciler) collide(ctx context.Context, o object.Object, d *appsv1.Deployment, name string) error {
	live, err := r.Client.Get(ctx, api.ReplicaSet.Key(o.Namespace(), name))
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err != nil || controller.ControlledBy(live, o.Meta().UID) {
		return fmt.Errorf("create ReplicaSet %s: it has just come or is going", name)
	}
	s := d.Status.DeepCopy()
	n := int32(1)
	if s.CollisionCount != nil {
		n += *s.CollisionCount
	}
	s.CollisionCount = &n
	op, changed, err := controller.StatusOperation(o, s)
	if err != nil || !changed {
		return err
	}
	_, err = r.Client.Transact(ctx, api.Transaction{Operations: []api.Operation{op}})
	return err
}

// input is all that a plan depends on.
type input struct {
	deployment *appsv1.Deployment
	object     object.Object
	sets       []set
	// oldPods is set when pods of earlier templates have not ended; only
	// Recreate asks.
	oldPods bool
	now     time.Time
}
