package replicaset

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/writ-dev/writ/cluster/object"
)

const (
	// Pods that failed no longer ago than failureWindow slow down replacement.
	failureWindow = 10 * time.Minute
	// The first failure of each replica is replaced at once, the second after
	// firstDelay, then twice as long each time, up to maxDelay.
	firstDelay, maxDelay = 10 * time.Second, 5 * time.Minute
	// maxEvidence is how many failed pods of each replica are kept.
	maxEvidence = 6
)

type pod struct {
	object object.Object
	*corev1.Pod
}

// decision is what a ReplicaSet needs now.
type decision struct {
	active []pod
	create int
	delete []pod
	// going is how many of delete are active.
	going int
	// again is when to look again though nothing has changed; 0 is never.
	again time.Duration
}

// plan decides from the ReplicaSet and its pods alone.
func plan(rs *appsv1.ReplicaSet, pods []pod, now time.Time) *decision {
	d := &decision{}
	want := 1
	if rs.Spec.Replicas != nil {
		want = int(*rs.Spec.Replicas)
	}
	var failed []pod
	for _, p := range pods {
		switch {
		case p.DeletionTimestamp != nil:
		case p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded:
			failed = append(failed, p)
		default:
			d.active = append(d.active, p)
		}
	}
	d.delete = d.discard(failed, want, now)
	switch diff := want - len(d.active); {
	case diff > 0:
		if wait := backoff(failed, want, now); wait > 0 {
			d.wait(wait)
		} else {
			d.create = diff
		}
	case diff < 0:
		d.going = -diff
		d.delete = append(victims(d.active, -diff), d.delete...)
	}
	for _, p := range d.active {
		if t, ok := readySince(p.Pod); ok {
			if left := minReady(rs) - now.Sub(t); left > 0 {
				d.wait(left)
			}
		}
	}
	return d
}

func (d *decision) wait(t time.Duration) {
	if d.again == 0 || t < d.again {
		d.again = t
	}
}

// discard returns the ended pods that are no longer of interest: too old, or
// too many.
func (d *decision) discard(ended []pod, want int, now time.Time) []pod {
	slices.SortFunc(ended, func(a, b pod) int { return endTime(b.Pod).Compare(endTime(a.Pod)) })
	keep := min(maxEvidence*max(want, 1), 100)
	var out []pod
	for i, p := range ended {
		left := failureWindow - now.Sub(endTime(p.Pod))
		if i >= keep || left <= 0 {
			out = append(out, p)
		} else {
			d.wait(left)
		}
	}
	return out
}

// backoff returns how much longer to wait before pods that ended are replaced.
func backoff(ended []pod, want int, now time.Time) time.Duration {
	var last time.Time
	recent := 0
	for _, p := range ended {
		t := endTime(p.Pod)
		if now.Sub(t) >= failureWindow {
			continue
		}
		recent++
		if t.After(last) {
			last = t
		}
	}
	round := (recent + want - 1) / max(want, 1)
	if round < 2 {
		return 0
	}
	return min(maxDelay, firstDelay<<min(round-2, 16)) - now.Sub(last)
}

// endTime is when an ended pod was last heard of.
func endTime(p *corev1.Pod) time.Time {
	t := p.CreationTimestamp.Time
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Terminated != nil && c.State.Terminated.FinishedAt.After(t) {
			t = c.State.Terminated.FinishedAt.Time
		}
	}
	for _, c := range p.Status.Conditions {
		if c.LastTransitionTime.After(t) {
			t = c.LastTransitionTime.Time
		}
	}
	return t
}

// status is the ReplicaSet's after the decision is carried out; failure is why
// pods could not be created.
func (d *decision) status(rs *appsv1.ReplicaSet, now time.Time, failure error) appsv1.ReplicaSetStatus {
	s := appsv1.ReplicaSetStatus{
		ObservedGeneration: rs.Generation,
		Replicas:           int32(len(d.active) - min(d.going, maxBatch) + min(d.create, maxBatch)),
		Conditions:         slices.Clone(rs.Status.Conditions),
	}
	template := labels.SelectorFromSet(rs.Spec.Template.Labels)
	s.FullyLabeledReplicas = int32(min(d.create, maxBatch))
	for _, p := range d.active {
		if i := slices.IndexFunc(d.delete, func(v pod) bool { return v.Pod == p.Pod }); i >= 0 && i < maxBatch {
			continue
		}
		if template.Matches(labels.Set(p.Labels)) {
			s.FullyLabeledReplicas++
		}
		if t, ok := readySince(p.Pod); ok {
			s.ReadyReplicas++
			if now.Sub(t) >= minReady(rs) {
				s.AvailableReplicas++
			}
		}
	}
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c appsv1.ReplicaSetCondition) bool {
		return c.Type == appsv1.ReplicaSetReplicaFailure
	})
	if failure != nil {
		s.Conditions = append(s.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate",
			Message: failure.Error(), LastTransitionTime: failureSince(rs, now),
		})
	}
	return s
}

func failureSince(rs *appsv1.ReplicaSet, now time.Time) metav1.Time {
	for _, c := range rs.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure {
			return c.LastTransitionTime
		}
	}
	return metav1.NewTime(now.UTC().Truncate(time.Second))
}

func minReady(rs *appsv1.ReplicaSet) time.Duration {
	return time.Duration(rs.Spec.MinReadySeconds) * time.Second
}

// readySince returns since when a pod is ready; false when it is not.
func readySince(p *corev1.Pod) (time.Time, bool) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}
