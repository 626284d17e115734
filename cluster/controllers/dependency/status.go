package dependency

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/access"
	"github.com/writ-dev/writ/cluster/api"
)

// conditionReady is the one condition of a Dependency: its target can be used.
const conditionReady = "Ready"

// statuses brings the status of every Dependency in line with its edge.
func (r *reconciler) statuses(p access.Policy) ([]api.Operation, error) {
	var ops []api.Operation
	for _, e := range p.Edges {
		if e.Dependency.IsZero() {
			continue
		}
		was, err := api.Decode[api.Dependency](e.Dependency)
		if err != nil {
			return nil, err
		}
		next := was.DeepCopy()
		next.Status.Phase = e.Phase
		c := metav1.Condition{
			Type: conditionReady, Status: metav1.ConditionFalse, Reason: e.Reason, Message: e.Message,
			ObservedGeneration: was.Generation,
			LastTransitionTime: metav1.NewTime(r.now().UTC().Truncate(time.Second)),
		}
		if e.Phase == access.Ready {
			c.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&next.Status.Conditions, c)
		if equality.Semantic.DeepEqual(next.Status, was.Status) {
			continue
		}
		op := precondition(api.ActionUpdateStatus, e.Dependency)
		if op.Object, err = api.Encode(api.DependencyKind, next); err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return ops, nil
}
