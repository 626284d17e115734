// Package replicaset keeps as many pods as each ReplicaSet asks for.
//
// A ReplicaSet's pods are those that name it as controller by UID; labels play
// no part, so nothing is ever adopted. All pods missing are created in one
// transaction together with the status that counts them, and likewise deleted.
// Pods that failed stay a while as evidence, and slow down their replacement:
// the delay is worked out from them, so a restart of the server changes nothing.
package replicaset

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/object"
)

const (
	component = "replicaset-controller"
	// maxBatch bounds the pods created or deleted by one transaction.
	maxBatch = 250
)

type reconciler struct {
	controller.Env
}

// New makes the controller.
func New(env controller.Env) (*controller.Controller, error) {
	env = env.WithDefaults()
	return controller.New(controller.Options{
		Name: component,
		Env:  env,
		Watches: []controller.Watch{
			{Kind: api.ReplicaSet},
			{Kind: api.Pod, Map: controller.ToController(api.ReplicaSet)},
		},
		Reconciler: &reconciler{env},
		Workers:    4,
	})
}

// Reconcile creates or deletes pods of the ReplicaSet and writes its status.
func (r *reconciler) Reconcile(ctx context.Context, k object.Key) (controller.Result, error) {
	o, err := r.Client.Get(ctx, k)
	if apierrors.IsNotFound(err) || err == nil && o.Meta().DeletionTimestamp != "" {
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	rs, err := api.Decode[appsv1.ReplicaSet](o)
	if err != nil {
		return controller.Result{}, err
	}
	pods, err := r.pods(ctx, o)
	if err != nil {
		return controller.Result{}, err
	}
	now := r.Now()
	p := plan(rs, pods, now)
	ops, err := operations(o, rs, p)
	if err != nil {
		return controller.Result{}, err
	}
	status := p.status(rs, now, nil)
	more := p.create > maxBatch || len(p.delete) > maxBatch
	if err := r.commit(ctx, o, ops, status); err != nil {
		if p.create == 0 || apierrors.IsConflict(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return controller.Result{}, err
		}
		r.Record(ctx, component, o, corev1.EventTypeWarning, "FailedCreate", "Error creating: "+err.Error())
		p.create = 0
		if err := r.commit(ctx, o, nil, p.status(rs, now, err)); err != nil {
			return controller.Result{}, err
		}
		return controller.Result{}, fmt.Errorf("create pods of %s: %w", k, err)
	}
	if more {
		return controller.Result{RequeueAfter: time.Nanosecond}, nil
	}
	return controller.Result{RequeueAfter: p.again}, nil
}

// commit writes ops and the status in one transaction.
func (r *reconciler) commit(ctx context.Context, o object.Object, ops []api.Operation, status appsv1.ReplicaSetStatus) error {
	op, changed, err := controller.StatusOperation(o, status)
	if err != nil {
		return err
	}
	if changed {
		ops = append(ops, op)
	}
	if len(ops) == 0 {
		return nil
	}
	_, err = r.Client.Transact(ctx, api.Transaction{Operations: ops})
	return err
}

// pods returns the pods that o controls.
func (r *reconciler) pods(ctx context.Context, o object.Object) ([]pod, error) {
	list, err := r.Client.List(ctx, api.Pod, api.ListOptions{Namespace: o.Namespace()})
	if err != nil {
		return nil, err
	}
	var pods []pod
	for _, item := range list.Items {
		if !controller.ControlledBy(item, o.Meta().UID) {
			continue
		}
		typed, err := api.Decode[corev1.Pod](item)
		if err != nil {
			return nil, err
		}
		pods = append(pods, pod{object: item, Pod: typed})
	}
	return pods, nil
}

// operations makes p's creations and deletions, at most a batch of each.
func operations(o object.Object, rs *appsv1.ReplicaSet, p *decision) ([]api.Operation, error) {
	var ops []api.Operation
	for i := range min(len(p.delete), maxBatch) {
		ops = append(ops, controller.DeleteOperation(p.delete[i].object))
	}
	for range min(p.create, maxBatch) {
		op, err := controller.CreateOperation(api.Pod, newPod(o, rs))
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return ops, nil
}

func newPod(o object.Object, rs *appsv1.ReplicaSet) *corev1.Pod {
	t := rs.Spec.Template.DeepCopy()
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: rs.Name + "-", Namespace: rs.Namespace,
			Labels: t.Labels, Annotations: t.Annotations, Finalizers: t.Finalizers,
			OwnerReferences: []metav1.OwnerReference{controller.ControllerReference(api.ReplicaSet, o)},
		},
		Spec: t.Spec,
	}
}
