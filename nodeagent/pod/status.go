package pod

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/nodeagent/runtime"
)

// IDPrefix names the runtime in container IDs.
const IDPrefix = "writ://"

// terminated describes the end of c's latest run.
func terminated(c *container, e runtime.Exit, reason string) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{
		ExitCode: int32(e.Code), Signal: int32(e.Signal), Reason: reason, Message: e.Message,
		StartedAt: metav1.NewTime(c.startedAt), FinishedAt: metav1.NewTime(e.At), ContainerID: c.id,
	}
}

// status describes the pod. Addresses and conditions that are not the agent's
// own stay as they are in the object.
func (m *machine) status(now time.Time) corev1.PodStatus {
	old := m.pod.Status
	start := metav1.NewTime(m.startTime)
	s := corev1.PodStatus{
		Phase: m.phase(), StartTime: &start, PodIP: old.PodIP, PodIPs: old.PodIPs,
		HostIP: old.HostIP, HostIPs: old.HostIPs, NominatedNodeName: old.NominatedNodeName,
		QOSClass: old.QOSClass, Message: old.Message, Reason: old.Reason,
	}
	for _, c := range m.containers {
		if c.init {
			s.InitContainerStatuses = append(s.InitContainerStatuses, m.containerStatus(c))
		} else {
			s.ContainerStatuses = append(s.ContainerStatuses, m.containerStatus(c))
		}
	}
	s.Conditions = m.conditions(old.Conditions, now)
	return s
}

// phase is the pod's, as Kubernetes words it: Pending until every init
// container is done and a container has run.
func (m *machine) phase() corev1.PodPhase {
	if m.ended != "" {
		return m.ended
	}
	for _, c := range m.containers {
		if !c.init && (c.phase == running || c.state != nil) {
			return corev1.PodRunning
		}
	}
	return corev1.PodPending
}

func (m *machine) containerStatus(c *container) corev1.ContainerStatus {
	s := corev1.ContainerStatus{
		Name: c.spec.Name, Image: c.spec.Image, ImageID: c.image.ID, ContainerID: c.id,
		RestartCount: int32(max(0, c.run-1)), Ready: c.ready || c.init && c.phase == exited && c.state.ExitCode == 0,
	}
	started := c.started
	s.Started = &started
	switch c.phase {
	case running:
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(c.startedAt)}
		s.LastTerminationState.Terminated = c.state
	case exited:
		s.State.Terminated = c.state
		s.LastTerminationState.Terminated = c.last
	default:
		s.State.Waiting = m.waitingState(c)
		s.LastTerminationState.Terminated = c.state
		if c.phase == waiting && c.run > 0 {
			s.RestartCount = int32(c.run - 1)
		}
	}
	return s
}

// waitingState says what a container waits for.
func (m *machine) waitingState(c *container) *corev1.ContainerStateWaiting {
	w := &corev1.ContainerStateWaiting{Reason: c.reason, Message: c.message}
	switch {
	case w.Reason != "" && w.Reason != reasonCreating:
	case m.sandboxError != "":
		w.Reason, w.Message = reasonSandbox, m.sandboxError
	case m.stage == ready && !m.granted:
		w.Reason, w.Message = reasonGrants, "the cluster has not resolved the pod's dependencies yet"
	case !c.init && !m.initialized():
		w.Reason = reasonInitWait
	default:
		w.Reason = reasonCreating
	}
	return w
}

// initialized says that every init container is done.
func (m *machine) initialized() bool {
	for _, c := range m.containers {
		if c.init && (c.phase != exited || c.state.ExitCode != 0) {
			return false
		}
	}
	return true
}

// conditions returns the pod's conditions: the agent's own anew, others as
// they are.
func (m *machine) conditions(old []corev1.PodCondition, now time.Time) []corev1.PodCondition {
	var unready []string
	for _, c := range m.containers {
		if !c.init && !c.ready {
			unready = append(unready, c.spec.Name)
		}
	}
	readyReason := ""
	switch {
	case m.ended == corev1.PodSucceeded:
		readyReason = "PodCompleted"
	case m.ended == corev1.PodFailed:
		readyReason = "PodFailed"
	case len(unready) > 0:
		readyReason = "ContainersNotReady"
	}
	initReason := ""
	if !m.initialized() {
		initReason = "ContainersNotInitialized"
	}
	own := []corev1.PodCondition{
		condition(corev1.PodReadyToStartContainers, m.stage == ready, ""),
		condition(corev1.PodInitialized, initReason == "", initReason),
		condition(corev1.PodReady, readyReason == "", readyReason),
		condition(corev1.ContainersReady, readyReason == "", readyReason),
		condition(corev1.PodScheduled, true, ""),
	}
	list := make([]corev1.PodCondition, 0, len(own)+1)
	for _, c := range own {
		c.LastTransitionTime = metav1.NewTime(now)
		if was, ok := m.since[c.Type]; ok && was.Status == c.Status {
			c.LastTransitionTime = was.LastTransitionTime
		}
		m.since[c.Type] = c
		list = append(list, c)
	}
	for _, c := range old {
		if !slices.ContainsFunc(own, func(o corev1.PodCondition) bool { return o.Type == c.Type }) {
			list = append(list, c)
		}
	}
	return list
}

func condition(t corev1.PodConditionType, ok bool, reason string) corev1.PodCondition {
	c := corev1.PodCondition{Type: t, Status: corev1.ConditionFalse, Reason: reason}
	if ok {
		c.Status = corev1.ConditionTrue
	}
	return c
}

// Granted reports whether the object says that the pod's grants are committed.
func Granted(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == api.ConditionGranted && c.Status == corev1.ConditionTrue
	})
}

// ownConditions are the conditions that the node agent writes.
var ownConditions = []corev1.PodConditionType{
	corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
}

// Merge returns the status that an object with status old shall get when the
// agent's view is own: others' conditions and the addresses stay.
func Merge(old, own corev1.PodStatus) corev1.PodStatus {
	s := own
	s.PodIP, s.PodIPs = old.PodIP, old.PodIPs
	s.Conditions = nil
	for _, c := range own.Conditions {
		if slices.Contains(ownConditions, c.Type) {
			s.Conditions = append(s.Conditions, c)
		}
	}
	for _, c := range old.Conditions {
		if !slices.Contains(ownConditions, c.Type) {
			s.Conditions = append(s.Conditions, c)
		}
	}
	return s
}
