package pod

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/nodeagent/runtime"
)

// Reasons in statuses and events, as in Kubernetes.
const (
	reasonCreating    = "ContainerCreating"
	reasonInitWait    = "PodInitializing"
	reasonCrashLoop   = "CrashLoopBackOff"
	reasonNoImage     = "ErrImageNeverPull"
	reasonConfigError = "CreateContainerConfigError"
	reasonCompleted   = "Completed"
	reasonError       = "Error"
	reasonStartError  = "StartError"
	reasonUnknown     = "ContainerStatusUnknown"
	reasonSandbox     = "FailedCreatePodSandBox"
	reasonGrants      = "WaitingForGrants"
)

// Back-off of restarts: the first comes at once, the second after backoffBase,
// doubling up to backoffMax; a run of backoffReset makes the next one the first
// again.
const (
	backoffBase  = 10 * time.Second
	backoffMax   = 5 * time.Minute
	backoffReset = 10 * time.Minute
	// Back-off of what is missing: an image or a ConfigMap may come any moment.
	retryBase = time.Second
	retryMax  = time.Minute
)

// phase is where a container is.
type phase int

const (
	waiting phase = iota
	starting
	running
	exited
)

// stage is where the sandbox is.
type stage int

const (
	absent stage = iota
	preparing
	ready
	removing
	removed
)

// container is the state of one container.
type container struct {
	spec  *corev1.Container
	init  bool
	phase phase
	// run counts the runs begun; the restart count is one less.
	run int
	// crashes counts ends since the last long run, and failures failed
	// attempts to start in a row.
	crashes, failures int
	// reason and message say why it waits, retryAt until when.
	reason, message string
	retryAt         time.Time
	id              string
	image           runtime.ImageInfo
	startedAt       time.Time
	// state is how the latest run ended, last how the one before did.
	state, last *corev1.ContainerStateTerminated
	// started and ready are the verdicts of the probes.
	started, ready bool
	// stop says that the run should end, with grace until killAt.
	stop             bool
	killAt           time.Time
	signalled, slain bool
}

// alive says that a process may exist.
func (c *container) alive() bool { return c.phase == starting || c.phase == running }

// machine is the state of a pod. Its methods take what happened; step says
// what to do.
type machine struct {
	pod        *corev1.Pod
	stage      stage
	granted    bool
	containers []*container

	sandboxError    string
	sandboxRetry    time.Time
	sandboxFailures int

	startTime time.Time
	// leaving says that the pod must stop: it is deleted or the agent ends.
	leaving bool
	leaveBy time.Time
	// ended is the final phase, once reached.
	ended corev1.PodPhase
	since map[corev1.PodConditionType]corev1.PodCondition
}

// newMachine takes up a pod, which may have run under an earlier agent: its
// containers ended with that agent.
func newMachine(p *corev1.Pod, now time.Time) *machine {
	m := &machine{pod: p, startTime: now, since: map[corev1.PodConditionType]corev1.PodCondition{}}
	if t := p.Status.StartTime; t != nil {
		m.startTime = t.Time
	}
	for i := range p.Spec.InitContainers {
		m.containers = append(m.containers, &container{spec: &p.Spec.InitContainers[i], init: true})
	}
	for i := range p.Spec.Containers {
		m.containers = append(m.containers, &container{spec: &p.Spec.Containers[i]})
	}
	for _, c := range p.Status.Conditions {
		m.since[c.Type] = c
	}
	if ph := p.Status.Phase; ph == corev1.PodSucceeded || ph == corev1.PodFailed {
		m.ended, m.stage = ph, removed
	}
	m.resume(now)
	m.update(p, now)
	return m
}

// resume takes over what the status says of earlier runs.
func (m *machine) resume(now time.Time) {
	statuses := map[string]corev1.ContainerStatus{}
	for _, s := range append(m.pod.Status.InitContainerStatuses, m.pod.Status.ContainerStatuses...) {
		statuses[s.Name] = s
	}
	for _, c := range m.containers {
		s, ok := statuses[c.spec.Name]
		if !ok {
			continue
		}
		c.image = runtime.ImageInfo{ID: s.ImageID}
		c.id, c.last = s.ContainerID, s.LastTerminationState.Terminated
		c.run = int(s.RestartCount)
		switch {
		case s.State.Terminated != nil:
			c.run++
			c.phase, c.state = exited, s.State.Terminated
			if m.ended == "" && !(c.init && c.state.ExitCode == 0) {
				m.settle(c, now)
			}
		case s.State.Running != nil:
			c.run++
			c.startedAt = s.State.Running.StartedAt.Time
			m.exit(c, runtime.Exit{Code: 137, At: now, Message: "the node agent that ran it has ended"}, reasonUnknown, now)
		case c.last != nil || c.run > 0:
			c.run++
			c.state, c.last = c.last, nil
		}
	}
}

// update takes a newer version of the object: only its deletion matters.
func (m *machine) update(p *corev1.Pod, now time.Time) {
	m.pod = p
	if p.DeletionTimestamp != nil {
		grace := int64(0)
		if g := p.DeletionGracePeriodSeconds; g != nil {
			grace = *g
		}
		m.leave(time.Duration(grace)*time.Second, now)
	}
}

// leave makes the pod stop within grace. Only ever sooner.
func (m *machine) leave(grace time.Duration, now time.Time) {
	by := now.Add(grace)
	if m.leaving && !by.Before(m.leaveBy) {
		return
	}
	m.leaving, m.leaveBy = true, by
}

// sandboxUp takes the end of preparing.
func (m *machine) sandboxUp(err error, now time.Time) {
	if err == nil {
		m.stage, m.sandboxError = ready, ""
		return
	}
	m.stage, m.sandboxError = absent, err.Error()
	m.sandboxRetry = now.Add(backoff(retryBase, retryMax, m.sandboxFailures))
	m.sandboxFailures++
}

// sandboxDown takes the end of removing.
func (m *machine) sandboxDown() { m.stage = removed }

// up takes a started container.
func (m *machine) up(c *container, info runtime.ImageInfo, now time.Time) {
	c.phase, c.startedAt, c.image, c.failures = running, now, info, 0
	c.reason, c.message = "", ""
	// Without a probe there is nothing to wait for.
	c.started = c.spec.StartupProbe == nil
	c.ready = c.started && c.spec.ReadinessProbe == nil
}

// missing takes a container that could not be started for want of something
// that may come; it is no run.
func (m *machine) missing(c *container, reason, message string, now time.Time) {
	c.phase, c.reason, c.message = waiting, reason, message
	c.retryAt = now.Add(backoff(retryBase, retryMax, c.failures))
	c.failures++
	c.run--
}

// exit takes the end of a run and decides about the next.
func (m *machine) exit(c *container, e runtime.Exit, reason string, now time.Time) {
	if reason == "" {
		reason = reasonError
		if e.Code == 0 {
			reason = reasonCompleted
		}
	}
	if e.At.IsZero() {
		e.At = now
	}
	c.last = c.state
	c.state = terminated(c, e, reason)
	c.phase, c.ready, c.started = exited, false, false
	c.stop, c.signalled, c.slain = false, false, false
	if !c.startedAt.IsZero() && now.Sub(c.startedAt) >= backoffReset {
		c.crashes = 0
	}
	m.settle(c, now)
}

// settle makes an ended container wait for its next run, if it gets one.
func (m *machine) settle(c *container, now time.Time) {
	if m.leaving || !m.restarts(c) {
		return
	}
	c.phase, c.reason, c.message = waiting, reasonCreating, ""
	if c.crashes > 0 {
		delay := backoff(backoffBase, backoffMax, c.crashes-1)
		c.retryAt = now.Add(delay)
		c.reason = reasonCrashLoop
		c.message = fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)",
			delay, c.spec.Name, m.pod.Name, m.pod.Namespace, m.pod.UID)
	}
	c.crashes++
}

// restarts applies the restart policy to how c ended.
func (m *machine) restarts(c *container) bool {
	switch m.pod.Spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return c.state.ExitCode != 0
	}
	return !c.init || c.state.ExitCode != 0
}

// kill ends a run because of a failed probe; the restart policy goes on.
func (m *machine) kill(c *container, grace time.Duration, now time.Time) {
	if c.phase == running && !c.stop {
		c.stop, c.killAt, c.ready = true, now.Add(grace), false
	}
}

// backoff is base doubled n times, at most limit.
func backoff(base, limit time.Duration, n int) time.Duration {
	for range n {
		if base *= 2; base >= limit {
			return limit
		}
	}
	return base
}
