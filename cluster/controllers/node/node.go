// Package node notices nodes that fell silent, and frees what ran on them.
//
// An agent renews the Lease named like its node in kube-node-lease. The
// controller measures silence by its own clock, from the moment it saw the
// last renewal, so a node's clock cannot make it look dead or alive. After the
// lease's duration the node's Ready condition becomes Unknown and its pods are
// no longer ready; after Options.EvictAfter more its pods are failed and
// removed, so that their owners replace them. An agent that cannot renew its
// lease for that long must have stopped its pods.
//
// Pods bound to a node that no longer exists are removed at once.
package node

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/object"
)

const (
	component = "node-controller"
	// LeaseNamespace holds the nodes' leases.
	leaseNamespace = corev1.NamespaceNodeLease
	// defaultSilence is how long a lease lasts that does not say so itself.
	defaultSilence = 40 * time.Second
	// maxBatch bounds the pods removed by one transaction.
	maxBatch = 250
)

// Options configure the controller.
type Options struct {
	controller.Env
	// EvictAfter is how long after its node fell silent a pod is removed; 0
	// means one minute.
	EvictAfter time.Duration
}

type reconciler struct {
	Options
	mu    sync.Mutex // guards heard
	heard map[string]heartbeat
}

// heartbeat is the last renewal seen of a node's lease.
type heartbeat struct {
	uid, renewal string
	at           time.Time
}

// New makes the controller.
func New(o Options) (*controller.Controller, error) {
	o.Env = o.WithDefaults()
	if o.EvictAfter <= 0 {
		o.EvictAfter = time.Minute
	}
	r := &reconciler{Options: o, heard: map[string]heartbeat{}}
	return controller.New(controller.Options{
		Name: component,
		Env:  o.Env,
		Watches: []controller.Watch{
			{Kind: api.Node},
			{Kind: api.Lease, ListOptions: api.ListOptions{Namespace: leaseNamespace}, Map: leaseToNode},
			{Kind: api.Pod, Map: bound},
		},
		Reconciler: r,
	})
}

func leaseToNode(_ context.Context, c controller.Change) []object.Key {
	return []object.Key{api.Node.Key("", c.Object().Name())}
}

// bound names the node that a pod has just been bound to: it may be gone, or
// silent already.
func bound(_ context.Context, c controller.Change) []object.Key {
	if c.New.IsZero() {
		return nil
	}
	p, err := api.Decode[corev1.Pod](c.New)
	if err != nil || p.Spec.NodeName == "" {
		return nil
	}
	if !c.Old.IsZero() {
		if was, err := api.Decode[corev1.Pod](c.Old); err == nil && was.Spec.NodeName == p.Spec.NodeName {
			return nil
		}
	}
	return []object.Key{api.Node.Key("", p.Spec.NodeName)}
}

// Reconcile judges one node.
func (r *reconciler) Reconcile(ctx context.Context, k object.Key) (controller.Result, error) {
	o, err := r.Client.Get(ctx, k)
	if apierrors.IsNotFound(err) {
		r.forget(k.Name)
		return controller.Result{}, r.evict(ctx, k.Name, "its node no longer exists")
	}
	if err != nil {
		return controller.Result{}, err
	}
	n, err := api.Decode[corev1.Node](o)
	if err != nil {
		return controller.Result{}, err
	}
	last, duration, err := r.listen(ctx, n)
	if err != nil {
		return controller.Result{}, err
	}
	silent := r.Now().Sub(last)
	if left := duration - silent; left > 0 {
		return controller.Result{RequeueAfter: left}, nil
	}
	if err := r.silence(ctx, o, n); err != nil {
		return controller.Result{}, err
	}
	if left := duration + r.EvictAfter - silent; left > 0 {
		return controller.Result{RequeueAfter: left}, nil
	}
	return controller.Result{}, r.evict(ctx, k.Name, "its node has not been heard of for too long")
}

// listen returns when the node was last heard of, by our clock, and how long
// that is good for. A new controller gives every node a full lease.
func (r *reconciler) listen(ctx context.Context, n *corev1.Node) (time.Time, time.Duration, error) {
	renewal, duration := "", defaultSilence
	o, err := r.Client.Get(ctx, api.Lease.Key(leaseNamespace, n.Name))
	switch {
	case err == nil:
		lease, err := api.Decode[coordinationv1.Lease](o)
		if err != nil {
			return time.Time{}, 0, err
		}
		if lease.Spec.RenewTime != nil {
			renewal = lease.Spec.RenewTime.UTC().Format(time.RFC3339Nano)
		}
		if s := lease.Spec.LeaseDurationSeconds; s != nil && *s > 0 {
			duration = time.Duration(*s) * time.Second
		}
	case !apierrors.IsNotFound(err):
		return time.Time{}, 0, err
	}
	// An agent without a lease is heard of by its Ready condition.
	if c := readiness(&n.Status); renewal == "" && c != nil && c.Status != corev1.ConditionUnknown {
		renewal = "ready/" + c.LastHeartbeatTime.UTC().Format(time.RFC3339Nano)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h, ok := r.heard[n.Name]
	if !ok || h.uid != string(n.UID) || renewal != "" && h.renewal != renewal {
		h = heartbeat{uid: string(n.UID), renewal: renewal, at: r.Now()}
		r.heard[n.Name] = h
	}
	return h.at, duration, nil
}

func (r *reconciler) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.heard, name)
}

func readiness(s *corev1.NodeStatus) *corev1.NodeCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == corev1.NodeReady {
			return &s.Conditions[i]
		}
	}
	return nil
}
