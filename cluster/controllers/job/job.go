// Package job runs the pods of each Job until enough have succeeded or too
// many have failed.
//
// Every pod carries the finalizer batch.kubernetes.io/job-tracking. When it
// has ended, one transaction adds it to the counts in the Job's status and
// takes the finalizer off: so each pod is counted exactly once, whatever
// deletes it or restarts meanwhile, and the limits hold by counting pods, not
// attempts of this controller. A pod that this controller itself deletes loses
// the finalizer in the same transaction and is not counted.
//
// A Job fails when more than backoffLimit attempts have failed: failed pods
// and restarts of containers alike, so that Never and OnFailure agree. The
// delay before a failed pod is replaced follows from the pods' own times.
package job

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/object"
)

const (
	component = "job-controller"
	// finalizer marks pods that are not counted yet.
	finalizer = batchv1.JobTrackingFinalizer
	// maxBatch bounds the pods created, counted or deleted by one transaction.
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
			{Kind: api.Job},
			{Kind: api.Pod, Map: controller.ToController(api.Job)},
		},
		Reconciler: &reconciler{env},
		Workers:    4,
	})
}

// pod is one pod of a Job.
type pod struct {
	object object.Object
	*corev1.Pod
}

func (p pod) tracked() bool { return slices.Contains(p.Finalizers, finalizer) }

// Reconcile takes the next step of the Job.
func (r *reconciler) Reconcile(ctx context.Context, k object.Key) (controller.Result, error) {
	o, err := r.Client.Get(ctx, k)
	if err != nil && !apierrors.IsNotFound(err) {
		return controller.Result{}, err
	}
	gone := err != nil
	var job *batchv1.Job
	uid := ""
	if !gone {
		uid = o.Meta().UID
		if job, err = api.Decode[batchv1.Job](o); err != nil {
			return controller.Result{}, err
		}
	}
	mine, others, err := r.pods(ctx, k, uid)
	if err != nil {
		return controller.Result{}, err
	}
	if err := r.forget(ctx, others); err != nil {
		return controller.Result{}, err
	}
	if gone || job.DeletionTimestamp != nil {
		return controller.Result{}, r.forget(ctx, mine)
	}
	in := input{job: job, pods: mine, now: r.Now()}
	p := plan(in)
	ops, err := p.operations(o, in)
	if err != nil {
		return controller.Result{}, err
	}
	if len(ops) > 0 {
		if _, err := r.Client.Transact(ctx, api.Transaction{Operations: ops}); err != nil {
			if p.create > 0 && !apierrors.IsConflict(err) {
				r.Record(ctx, component, o, corev1.EventTypeWarning, "FailedCreate", "Error creating: "+err.Error())
			}
			return controller.Result{}, fmt.Errorf("step %s: %w", k, err)
		}
		if p.event != "" {
			r.Record(ctx, component, o, p.eventType, p.event, p.message)
		}
	}
	return controller.Result{RequeueAfter: p.again}, nil
}

// pods returns the pods that the Job with that UID controls, and tracked pods
// of earlier Jobs of the name.
func (r *reconciler) pods(ctx context.Context, k object.Key, uid string) (mine, others []pod, err error) {
	list, err := r.Client.List(ctx, api.Pod, api.ListOptions{Namespace: k.Namespace})
	if err != nil {
		return nil, nil, err
	}
	for _, item := range list.Items {
		ref := item.Controller()
		if ref == nil || ref.Kind != k.Kind || ref.Name != k.Name || controller.GroupOf(ref.APIVersion) != k.Group {
			continue
		}
		typed, err := api.Decode[corev1.Pod](item)
		if err != nil {
			return nil, nil, err
		}
		p := pod{item, typed}
		switch {
		case ref.UID == uid:
			mine = append(mine, p)
		case p.tracked():
			others = append(others, p)
		}
	}
	return mine, others, nil
}

// forget takes the finalizer off pods whose Job is gone or going.
func (r *reconciler) forget(ctx context.Context, pods []pod) error {
	var ops []api.Operation
	for _, p := range pods {
		if !p.tracked() {
			continue
		}
		op, err := untrack(p)
		if err != nil {
			return err
		}
		ops = append(ops, op)
	}
	if len(ops) == 0 {
		return nil
	}
	_, err := r.Client.Transact(ctx, api.Transaction{Operations: ops})
	return err
}

// untrack returns the operation that takes the finalizer off.
func untrack(p pod) (api.Operation, error) {
	next := p.DeepCopy()
	next.Finalizers = slices.DeleteFunc(next.Finalizers, func(f string) bool { return f == finalizer })
	return controller.UpdateOperation(api.Pod, next)
}

// operations puts the decision into one transaction. Counting depends on the
// Job being as it was read, else a pod could be counted in a status that is
// then lost.
func (p *decision) operations(o object.Object, in input) ([]api.Operation, error) {
	var ops []api.Operation
	for _, c := range p.counted {
		op, err := untrack(c)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	for _, v := range p.delete[:min(len(p.delete), maxBatch)] {
		if v.tracked() {
			op, err := untrack(v)
			if err != nil {
				return nil, err
			}
			ops = append(ops, op)
		}
		ops = append(ops, controller.DeleteOperation(v.object))
	}
	for range min(p.create, maxBatch) {
		op, err := controller.CreateOperation(api.Pod, newPod(o, in.job))
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	if p.remove {
		return append(ops, controller.DeleteOperation(o)), nil
	}
	op, changed, err := controller.StatusOperation(o, p.status)
	if err != nil {
		return nil, err
	}
	if changed {
		op.ResourceVersion = o.Meta().ResourceVersion
		ops = append(ops, op)
	}
	return ops, nil
}

func newPod(o object.Object, job *batchv1.Job) *corev1.Pod {
	t := job.Spec.Template.DeepCopy()
	if t.Labels == nil {
		t.Labels = map[string]string{}
	}
	for _, l := range []string{"job-name", batchv1.JobNameLabel} {
		t.Labels[l] = job.Name
	}
	for _, l := range []string{"controller-uid", batchv1.ControllerUidLabel} {
		t.Labels[l] = string(job.UID)
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: job.Name + "-", Namespace: job.Namespace, Labels: t.Labels, Annotations: t.Annotations,
			Finalizers:      append(t.Finalizers, finalizer),
			OwnerReferences: []metav1.OwnerReference{controller.ControllerReference(api.Job, o)},
		},
		Spec: t.Spec,
	}
}
