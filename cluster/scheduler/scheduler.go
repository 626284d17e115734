// Package scheduler decides which node runs each pod, and says why when none
// can.
//
// Place is pure: it takes a Snapshot of nodes and pods and returns Decisions.
// Pods are placed one after another, each seeing the room that those before
// have taken, so a node is never given more than it can hold. The controller
// around it runs a round for whatever has changed: all pods that are waiting
// are placed together and bound by one transaction. Changes during a round make
// the next one; nothing waits for a timer.
//
// A binding depends on the pod being as it was seen. Between rounds nobody else
// binds, so the room seen is the room there is.
package scheduler

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/object"
)

const (
	component = "scheduler"
	// maxBatch bounds the pods bound by one transaction.
	maxBatch = 250
)

// round is the one key of the queue: a round places everything that waits.
var round = object.Key{Kind: "Round", Name: "all"}

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
			{Kind: api.Pod, Map: podMatters},
			{Kind: api.Node, Map: nodeMatters},
		},
		Reconciler: &reconciler{env},
	})
}

// podMatters starts a round for a pod that waits, and for one that has left or
// ended, which makes room.
func podMatters(_ context.Context, c controller.Change) []object.Key {
	if c.New.IsZero() {
		return []object.Key{round}
	}
	p, err := api.Decode[corev1.Pod](c.New)
	if err != nil {
		return nil
	}
	if c.Old.IsZero() {
		if !waits(p) {
			return nil
		}
		return []object.Key{round}
	}
	was, err := api.Decode[corev1.Pod](c.Old)
	if err != nil || waits(p) && !waits(was) || ended(p) && !ended(was) {
		return []object.Key{round}
	}
	return nil
}

// nodeMatters starts a round when what a node offers has changed.
func nodeMatters(_ context.Context, c controller.Change) []object.Key {
	if !c.Old.IsZero() && !c.New.IsZero() {
		a, errA := api.Decode[corev1.Node](c.Old)
		b, errB := api.Decode[corev1.Node](c.New)
		if errA == nil && errB == nil && sameOffer(a, b) {
			return nil
		}
	}
	return []object.Key{round}
}

// waits reports whether a pod is to be placed.
func waits(p *corev1.Pod) bool {
	return p.Spec.NodeName == "" && p.DeletionTimestamp == nil && !ended(p)
}

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// Reconcile runs one round.
func (r *reconciler) Reconcile(ctx context.Context, _ object.Key) (controller.Result, error) {
	s, waiting, err := r.snapshot(ctx)
	if err != nil || len(waiting) == 0 {
		return controller.Result{}, err
	}
	decisions := Place(s, waiting)
	var errs []error
	for batch := range slices.Chunk(decisions, maxBatch) {
		errs = append(errs, r.commit(ctx, batch))
	}
	return controller.Result{}, errors.Join(errs...)
}

// snapshot reads the nodes, what runs on them, and what waits, the oldest
// first.
func (r *reconciler) snapshot(ctx context.Context) (Snapshot, []Pod, error) {
	var s Snapshot
	nodes, err := r.Client.List(ctx, api.Node, api.ListOptions{})
	if err != nil {
		return s, nil, err
	}
	for _, o := range nodes.Items {
		n, err := api.Decode[corev1.Node](o)
		if err != nil {
			return s, nil, err
		}
		s.Nodes = append(s.Nodes, n)
	}
	pods, err := r.Client.List(ctx, api.Pod, api.ListOptions{})
	if err != nil {
		return s, nil, err
	}
	var waiting []Pod
	for _, o := range pods.Items {
		p, err := api.Decode[corev1.Pod](o)
		if err != nil {
			return s, nil, err
		}
		switch q := (Pod{Object: o, Pod: p}); {
		case p.Spec.NodeName != "":
			s.Bound = append(s.Bound, q)
		case waits(p):
			waiting = append(waiting, q)
		}
	}
	slices.SortStableFunc(waiting, func(a, b Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return s, waiting, nil
}

// commit binds the placed pods of a batch and tells why the others wait. When
// the batch is refused because of one of them, each goes alone.
func (r *reconciler) commit(ctx context.Context, batch []Decision) error {
	var ops []api.Operation
	var refused []Decision
	for _, d := range batch {
		op, changed, err := r.operation(d)
		if err != nil {
			return err
		}
		if changed {
			ops = append(ops, op)
			if d.Node == "" {
				refused = append(refused, d)
			}
		}
	}
	if len(ops) == 0 {
		return nil
	}
	if _, err := r.Client.Transact(ctx, api.Transaction{Operations: ops}); err != nil {
		if len(batch) == 1 {
			if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				r.Record(ctx, component, batch[0].Pod.Object, corev1.EventTypeWarning, "FailedScheduling", "Binding was refused: "+err.Error())
			}
			return err
		}
		var errs []error
		for i := range batch {
			errs = append(errs, r.commit(ctx, batch[i:i+1]))
		}
		return errors.Join(errs...)
	}
	for _, d := range refused {
		r.Record(ctx, component, d.Pod.Object, corev1.EventTypeWarning, "FailedScheduling", d.Message)
	}
	return nil
}

// operation returns what a decision changes in its pod.
func (r *reconciler) operation(d Decision) (api.Operation, bool, error) {
	if d.Node == "" {
		return r.unschedulable(d)
	}
	tree := d.Pod.Object.Tree()
	spec, ok := tree["spec"].(map[string]any)
	if !ok {
		return api.Operation{}, false, nil
	}
	spec["nodeName"] = d.Node
	next, err := object.FromTree(tree)
	if err != nil {
		return api.Operation{}, false, err
	}
	m := next.Meta()
	return api.Operation{Action: api.ActionUpdate, Object: next, UID: m.UID, ResourceVersion: m.ResourceVersion}, true, nil
}

// unschedulable sets the pod's PodScheduled condition to False with the
// decision's message.
func (r *reconciler) unschedulable(d Decision) (api.Operation, bool, error) {
	now := metav1.NewTime(r.Now().UTC().Truncate(time.Second))
	s := d.Pod.Status.DeepCopy()
	c := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: d.Message, LastTransitionTime: now,
	}
	i := slices.IndexFunc(s.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
	if i < 0 {
		s.Conditions = append(s.Conditions, c)
	} else {
		if s.Conditions[i].Status == c.Status {
			c.LastTransitionTime = s.Conditions[i].LastTransitionTime
		}
		s.Conditions[i] = c
	}
	op, changed, err := controller.StatusOperation(d.Pod.Object, s)
	op.ResourceVersion = d.Pod.Object.Meta().ResourceVersion
	return op, changed, err
}
