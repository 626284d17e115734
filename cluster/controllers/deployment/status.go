package deployment

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons of conditions, as Kubernetes and its clients know them.
const (
	reasonCreated   = "NewReplicaSetCreated"
	reasonFound     = "FoundNewReplicaSet"
	reasonUpdated   = "ReplicaSetUpdated"
	reasonComplete  = "NewReplicaSetAvailable"
	reasonDeadline  = "ProgressDeadlineExceeded"
	reasonPaused    = "DeploymentPaused"
	reasonResumed   = "DeploymentResumed"
	reasonAvailable = "MinimumReplicasAvailable"
	reasonMissing   = "MinimumReplicasUnavailable"
)

// status works out the Deployment's status. began, if not empty, is the reason
// why the clock of the progress deadline starts now. again is when the
// deadline ends; 0 when there is none.
func status(in input, present *set, old []set, began string) (s appsv1.DeploymentStatus, again time.Duration) {
	d := in.deployment
	s = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation,
		CollisionCount:     d.Status.CollisionCount,
		Conditions:         slices.Clone(d.Status.Conditions),
	}
	asked := 0
	sets := slices.Clone(old)
	if present != nil {
		sets = append(sets, *present)
		s.UpdatedReplicas = present.Status.Replicas
	}
	for _, rs := range sets {
		asked += replicas(rs)
		s.Replicas += rs.Status.Replicas
		s.ReadyReplicas += rs.Status.ReadyReplicas
		s.AvailableReplicas += rs.Status.AvailableReplicas
	}
	s.UnavailableReplicas = int32(max(0, asked-int(s.AvailableReplicas)))
	now := metav1.NewTime(in.now.UTC().Truncate(time.Second))
	_, unavailable := bounds(d)
	if int(s.AvailableReplicas) >= desired(d)-unavailable {
		setCondition(&s, now, appsv1.DeploymentAvailable, corev1.ConditionTrue, reasonAvailable, "Deployment has minimum availability.")
	} else {
		setCondition(&s, now, appsv1.DeploymentAvailable, corev1.ConditionFalse, reasonMissing, "Deployment does not have minimum availability.")
	}
	failure(&s, sets)
	again = progress(in, &s, present, began, now)
	return s, again
}

// progress sets the Progressing condition and returns the time left.
func progress(in input, s *appsv1.DeploymentStatus, present *set, began string, now metav1.Time) time.Duration {
	d := in.deployment
	was := condition(&d.Status, appsv1.DeploymentProgressing)
	name := ""
	if present != nil {
		name = present.Name
	}
	about := fmt.Sprintf("ReplicaSet %q", name)
	if name == "" {
		about = fmt.Sprintf("Deployment %q", d.Name)
	}
	mark := func(st corev1.ConditionStatus, reason, message string) {
		setCondition(s, now, appsv1.DeploymentProgressing, st, reason, message)
	}
	switch {
	case d.Spec.Paused:
		if was == nil || was.Reason != reasonPaused {
			mark(corev1.ConditionUnknown, reasonPaused, "Deployment is paused")
		}
		return 0
	case began == reasonCreated:
		mark(corev1.ConditionTrue, began, "Created new replica set")
	case began == reasonFound:
		mark(corev1.ConditionTrue, began, fmt.Sprintf("Found new replica set %q", name))
	case complete(d, s):
		mark(corev1.ConditionTrue, reasonComplete, about+" has successfully progressed.")
		return 0
	case was != nil && was.Reason == reasonPaused:
		mark(corev1.ConditionUnknown, reasonResumed, "Deployment is resumed")
	case progressed(&d.Status, s) || was == nil:
		mark(corev1.ConditionTrue, reasonUpdated, about+" is progressing.")
		touch(s, now)
	}
	return deadline(in, s, present, about, now)
}

// deadline turns the Progressing condition to False when too long nothing has
// moved; otherwise it returns the time left.
func deadline(in input, s *appsv1.DeploymentStatus, present *set, about string, now metav1.Time) time.Duration {
	d := in.deployment
	c := condition(s, appsv1.DeploymentProgressing)
	// A rollout that was complete stays so when pods come and go.
	if d.Spec.ProgressDeadlineSeconds == nil || c == nil || c.Reason == reasonComplete || c.Reason == reasonDeadline {
		return 0
	}
	start := c.LastUpdateTime.Time
	if present != nil && present.CreationTimestamp.After(start) {
		start = present.CreationTimestamp.Time
	}
	left := time.Duration(*d.Spec.ProgressDeadlineSeconds)*time.Second - in.now.Sub(start)
	if left > 0 {
		return left
	}
	setCondition(s, now, appsv1.DeploymentProgressing, corev1.ConditionFalse, reasonDeadline, about+" has timed out progressing.")
	return 0
}

// complete reports whether all pods are of the present template and available.
func complete(d *appsv1.Deployment, s *appsv1.DeploymentStatus) bool {
	n := int32(desired(d))
	return s.UpdatedReplicas == n && s.Replicas == n && s.AvailableReplicas == n && s.ObservedGeneration >= d.Generation
}

// progressed reports whether the rollout has moved since was.
func progressed(was, s *appsv1.DeploymentStatus) bool {
	return s.UpdatedReplicas > was.UpdatedReplicas ||
		s.Replicas-s.UpdatedReplicas < was.Replicas-was.UpdatedReplicas ||
		s.ReadyReplicas > was.ReadyReplicas || s.AvailableReplicas > was.AvailableReplicas
}

func condition(s *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == t {
			return &s.Conditions[i]
		}
	}
	return nil
}

// setCondition sets one condition; its times change only with what they are about.
func setCondition(s *appsv1.DeploymentStatus, now metav1.Time, t appsv1.DeploymentConditionType, st corev1.ConditionStatus, reason, message string) {
	c := condition(s, t)
	if c == nil {
		s.Conditions = append(s.Conditions, appsv1.DeploymentCondition{Type: t})
		c = &s.Conditions[len(s.Conditions)-1]
	}
	if c.Status != st {
		c.LastTransitionTime = now
	}
	if c.Status != st || c.Reason != reason {
		c.LastUpdateTime = now
	}
	c.Status, c.Reason, c.Message = st, reason, message
}

// touch starts the progress clock anew.
func touch(s *appsv1.DeploymentStatus, now metav1.Time) {
	if c := condition(s, appsv1.DeploymentProgressing); c != nil {
		c.LastUpdateTime = now
	}
}

// failure passes on why ReplicaSets could not create pods.
func failure(s *appsv1.DeploymentStatus, sets []set) {
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentReplicaFailure
	})
	for _, rs := range slices.Backward(sets) {
		for _, c := range rs.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure {
				s.Conditions = append(s.Conditions, appsv1.DeploymentCondition{
					Type: appsv1.DeploymentReplicaFailure, Status: c.Status, Reason: c.Reason, Message: c.Message,
					LastTransitionTime: c.LastTransitionTime, LastUpdateTime: c.LastTransitionTime,
				})
				return
			}
		}
	}
}
