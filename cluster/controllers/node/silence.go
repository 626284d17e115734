package node

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/object"
)

// reasonUnknown is why a silent node is not ready, as Kubernetes says it.
const reasonUnknown = "NodeStatusUnknown"

// silence sets the node's Ready condition to Unknown and its pods to not
// ready, in one transaction.
func (r *reconciler) silence(ctx context.Context, o object.Object, n *corev1.Node) error {
	now := metav1.NewTime(r.Now().UTC().Truncate(time.Second))
	var ops []api.Operation
	next := n.Status.DeepCopy()
	c := readiness(next)
	if c == nil {
		next.Conditions = append(next.Conditions, corev1.NodeCondition{Type: corev1.NodeReady, LastHeartbeatTime: now})
		c = readiness(next)
	}
	news := c.Status != corev1.ConditionUnknown
	if news {
		c.Status, c.Reason, c.Message, c.LastTransitionTime = corev1.ConditionUnknown, reasonUnknown, "The node agent stopped reporting.", now
		op, changed, err := controller.StatusOperation(o, next)
		if err != nil {
			return err
		}
		if changed {
			op.ResourceVersion = o.Meta().ResourceVersion // The agent may be back.
			ops = append(ops, op)
		}
	}
	pods, err := r.pods(ctx, n.Name)
	if err != nil {
		return err
	}
	for _, p := range pods {
		op, changed, err := unready(p, now)
		if err != nil {
			return err
		}
		if changed {
			ops = append(ops, op)
		}
	}
	if len(ops) == 0 {
		return nil
	}
	if _, err := r.Client.Transact(ctx, api.Transaction{Operations: ops}); err != nil {
		return fmt.Errorf("mark node %s as silent: %w", n.Name, err)
	}
	if news {
		r.Record(ctx, component, o, corev1.EventTypeWarning, "NodeNotReady", "Node "+n.Name+" stopped reporting")
	}
	return nil
}

// unready returns the operation that makes a ready pod not ready.
func unready(o object.Object, now metav1.Time) (api.Operation, bool, error) {
	p, err := api.Decode[corev1.Pod](o)
	if err != nil {
		return api.Operation{}, false, err
	}
	s := p.Status.DeepCopy()
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			c.Status, c.Reason, c.Message, c.LastTransitionTime = corev1.ConditionFalse, "NodeNotReady", "the node stopped reporting", now
			op, changed, err := controller.StatusOperation(o, s)
			op.ResourceVersion = o.Meta().ResourceVersion
			return op, changed, err
		}
	}
	return api.Operation{}, false, nil
}

// evict fails and removes the pods of a node that does not run them any more.
// A failed pod has nothing left to stop, so it goes without its node's word.
func (r *reconciler) evict(ctx context.Context, node, why string) error {
	pods, err := r.pods(ctx, node)
	if err != nil {
		return err
	}
	for len(pods) > 0 {
		batch := pods[:min(len(pods), maxBatch)]
		pods = pods[len(batch):]
		var ops []api.Operation
		for _, o := range batch {
			p, err := api.Decode[corev1.Pod](o)
			if err != nil {
				return err
			}
			if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
				s := p.Status.DeepCopy()
				s.Phase, s.Reason, s.Message = corev1.PodFailed, "NodeLost", "The pod was given up: "+why+"."
				op, _, err := controller.StatusOperation(o, s)
				if err != nil {
					return err
				}
				ops = append(ops, op)
			}
			ops = append(ops, controller.DeleteOperation(o))
		}
		_, err := r.Client.Transact(ctx, api.Transaction{Operations: ops})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove pods of node %s: %w", node, err)
		}
		if err != nil {
			return apierrors.NewConflict(api.Pod.GVR().GroupResource(), "", err) // One went by itself: look again.
		}
		r.Logger.Info("removed pods", "node", node, "count", len(batch), "why", why)
	}
	return nil
}

// pods returns all pods bound to a node.
func (r *reconciler) pods(ctx context.Context, node string) ([]object.Object, error) {
	list, err := r.Client.List(ctx, api.Pod, api.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}
