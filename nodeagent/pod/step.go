package pod

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// verb is what the worker shall do.
type verb int

const (
	prepareSandbox verb = iota
	removeSandbox
	startContainer
	// termContainer asks a container to end, killContainer makes it.
	termContainer
	killContainer
)

// action is a verb and its container, where it has one.
type action struct {
	verb      verb
	container *container
}

// step returns what to do now, and when to ask again if nothing happens
// before; the zero time means never.
func (m *machine) step(now time.Time) (todo []action, wake time.Time) {
	at := func(t time.Time) {
		if wake.IsZero() || t.Before(wake) {
			wake = t
		}
	}
	m.conclude()
	if m.leaving || m.ended != "" {
		return m.windDown(now, at), wake
	}
	todo = m.stopping(now, at)
	switch m.stage {
	case absent:
		if now.Before(m.sandboxRetry) {
			at(m.sandboxRetry)
			break
		}
		m.stage = preparing
		todo = append(todo, action{verb: prepareSandbox})
	case ready:
		if m.granted {
			todo = append(todo, m.starting(now, at)...)
		}
	}
	return todo, wake
}

// conclude finds out whether the pod has ended by itself.
func (m *machine) conclude() {
	if m.ended != "" || m.leaving {
		return
	}
	failed := false
	for _, c := range m.containers {
		if c.init {
			if c.phase == exited && c.state.ExitCode != 0 {
				m.ended = corev1.PodFailed
				return
			}
			continue
		}
		if c.phase != exited {
			return
		}
		failed = failed || c.state.ExitCode != 0
	}
	m.ended = corev1.PodSucceeded
	if failed {
		m.ended = corev1.PodFailed
	}
}

// starting returns the containers whose turn it is.
func (m *machine) starting(now time.Time, at func(time.Time)) []action {
	var todo []action
	for _, c := range m.containers {
		if c.init && c.phase == exited {
			continue // Done: a failed one has ended the pod.
		}
		if c.phase == waiting {
			if now.Before(c.retryAt) {
				at(c.retryAt)
			} else {
				c.phase = starting
				c.run++
				todo = append(todo, action{startContainer, c})
			}
		}
		if c.init {
			break
		}
	}
	return todo
}

// stopping returns what the containers that shall end need.
func (m *machine) stopping(now time.Time, at func(time.Time)) []action {
	var todo []action
	for _, c := range m.containers {
		if !c.stop || c.phase != running {
			continue
		}
		switch {
		case !now.Before(c.killAt):
			if !c.slain {
				c.slain = true
				todo = append(todo, action{killContainer, c})
			}
		default:
			if !c.signalled {
				c.signalled = true
				todo = append(todo, action{termContainer, c})
			}
			at(c.killAt)
		}
	}
	return todo
}

// windDown ends every container, then the sandbox.
func (m *machine) windDown(now time.Time, at func(time.Time)) []action {
	alive := m.stage == preparing
	for _, c := range m.containers {
		alive = alive || c.alive()
		if c.phase != running {
			continue
		}
		by := now
		if m.leaving {
			by = m.leaveBy
		}
		if !c.stop || by.Before(c.killAt) {
			c.stop, c.killAt = true, by
		}
	}
	todo := m.stopping(now, at)
	if alive || m.stage == removing || m.stage == removed {
		return todo
	}
	m.stage = removing
	return append(todo, action{verb: removeSandbox})
}

// gone says that nothing of the pod is left and it shall not come back.
func (m *machine) gone() bool { return m.leaving && m.stage == removed }
