package dependency

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/access"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/object"
)

// maxOperations bounds one transaction. A namespace that needs more gets
// several, in the order in which each is safe without the next.
const maxOperations = 500

// attempts is how often a reconcile that lost a race against another writer,
// usually a node agent reporting a pod's status, starts over at once.
const attempts = 5

type reconciler struct {
	client api.Client
	now    func() time.Time
}

// Reconcile brings the Grants of the namespace k names in line.
func (r *reconciler) Reconcile(ctx context.Context, k object.Key) (controller.Result, error) {
	var err error
	for range attempts {
		if err = r.once(ctx, k.Name); !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	if err != nil {
		return controller.Result{}, fmt.Errorf("grant in namespace %s: %w", k.Name, err)
	}
	return controller.Result{}, nil
}

func (r *reconciler) once(ctx context.Context, namespace string) error {
	v := newView(ctx, r.client)
	policy := access.Resolve(v, namespace)
	live := v.list(api.Group, api.GrantKind.Kind, "")
	if v.err != nil {
		return v.err
	}
	write, remove, err := grants(policy, live, namespace)
	if err != nil {
		return err
	}
	pods, err := r.pods(v, policy, namespace)
	if err != nil {
		return err
	}
	statuses, err := r.statuses(policy)
	if err != nil {
		return err
	}
	if v.err != nil {
		return v.err
	}
	err = r.commit(ctx, slices.Concat(write, pods, remove, statuses))
	if err == nil || !refused(err) {
		return err
	}
	// One object that admission refuses must not hold up the rest, least of all
	// a revocation.
	if err := r.commit(ctx, slices.Concat(write, remove)); err != nil {
		return err
	}
	var errs []error
	for _, op := range slices.Concat(pods, statuses) {
		errs = append(errs, r.commit(ctx, []api.Operation{op}))
	}
	return errors.Join(errs...)
}

// commit does the operations in order, in as few transactions as may be.
func (r *reconciler) commit(ctx context.Context, ops []api.Operation) error {
	for part := range slices.Chunk(ops, maxOperations) {
		if _, err := r.client.Transact(ctx, api.Transaction{Operations: part}); err != nil {
			return err
		}
	}
	return nil
}

// refused reports whether trying again cannot help.
func refused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// grants compares the policy with the live Grants.
func grants(p access.Policy, live []object.Object, namespace string) (write, remove []api.Operation, err error) {
	have := map[string]object.Object{}
	for _, o := range live {
		if g, err := api.Decode[api.Grant](o); err == nil && g.Spec.ConsumerNamespace == namespace {
			have[o.Name()] = o
		}
	}
	for _, e := range p.Edges {
		old, ok := have[e.Grant]
		delete(have, e.Grant)
		op := api.Operation{Action: api.ActionCreate}
		g := &api.Grant{Spec: e.Spec}
		g.Name = e.Grant
		if ok {
			was, err := api.Decode[api.Grant](old)
			if err != nil {
				return nil, nil, err
			}
			if equality.Semantic.DeepEqual(was.Spec, e.Spec) {
				continue
			}
			g = was.DeepCopy()
			g.Spec = e.Spec
			op = precondition(api.ActionUpdate, old)
		}
		if op.Object, err = api.Encode(api.GrantKind, g); err != nil {
			return nil, nil, err
		}
		write = append(write, op)
	}
	for _, o := range live {
		if _, stale := have[o.Name()]; stale {
			op := precondition(api.ActionDelete, o)
			op.Object = o
			remove = append(remove, op)
		}
	}
	return write, remove, nil
}

// precondition makes an operation that fails when the object has changed.
func precondition(a api.Action, o object.Object) api.Operation {
	return api.Operation{Action: a, UID: o.Meta().UID, ResourceVersion: o.Meta().ResourceVersion}
}

// pods says of every live pod whether it may start. Once it may, that stays.
func (r *reconciler) pods(v *view, p access.Policy, namespace string) ([]api.Operation, error) {
	waiting := map[string]access.Edge{}
	for _, e := range p.Edges {
		if e.Start != "ready" || e.Phase == access.Ready {
			continue
		}
		for _, f := range e.Spec.From {
			if _, ok := waiting[f.PodUID]; !ok {
				waiting[f.PodUID] = e
			}
		}
	}
	var ops []api.Operation
	for o := range v.List("", api.Pod.Kind, namespace) {
		pod, err := api.Decode[corev1.Pod](o)
		if err != nil || !access.Live(pod) || granted(pod) {
			continue
		}
		c := corev1.PodCondition{Type: api.ConditionGranted, Status: corev1.ConditionTrue, Reason: "Committed"}
		if e, ok := waiting[o.Meta().UID]; ok {
			c.Status, c.Reason = corev1.ConditionFalse, "WaitingForDependency"
			c.Message = fmt.Sprintf("start=ready on %s/%s: %s", e.Spec.ServiceNamespace, e.Spec.ServiceName, e.Message)
		}
		next, changed := r.condition(pod, c)
		if !changed {
			continue
		}
		op := precondition(api.ActionUpdateStatus, o)
		if op.Object, err = api.Encode(api.Pod, next); err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// condition returns a copy of pod with c, and whether that changes anything.
func (r *reconciler) condition(pod *corev1.Pod, c corev1.PodCondition) (*corev1.Pod, bool) {
	next := pod.DeepCopy()
	c.LastTransitionTime.Time = r.now().UTC().Truncate(time.Second)
	for i, old := range next.Status.Conditions {
		if old.Type != c.Type {
			continue
		}
		if old.Status == c.Status && old.Reason == c.Reason && old.Message == c.Message {
			return nil, false
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		next.Status.Conditions[i] = c
		return next, true
	}
	next.Status.Conditions = append(next.Status.Conditions, c)
	return next, true
}
