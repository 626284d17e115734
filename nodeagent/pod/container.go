package pod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/nodeagent/logs"
	"github.com/writ-dev/writ/nodeagent/probe"
	"github.com/writ-dev/writ/nodeagent/runtime"
)

// runtimeID is the container's ID in the runtime, for its latest run.
func runtimeID(c *container) string { return strings.TrimPrefix(c.id, IDPrefix) }

// LogName is the name of a container's log in the log store.
func LogName(podUID, container string) string { return podUID + "/" + container }

// configError is something missing that may still come.
type configError struct{ error }

// start begins a run: everything up to the process, then the wait for its end.
func (w *Worker) start(ctx context.Context, c *container) {
	c.id = fmt.Sprintf("%s%s-%s-%d", IDPrefix, w.pod.UID, c.spec.Name, c.run)
	id, run := runtimeID(c), c.run
	w.task(func() {
		info, log, err := w.launch(ctx, c.spec, id, run-1)
		if err != nil {
			w.failed(c, err)
			return
		}
		w.o.Event(corev1.EventTypeNormal, "Started", "Started container "+c.spec.Name)
		w.send(func(m *machine) { m.up(c, info, w.o.Now()) })
		exit, err := w.o.Runtime.Wait(ctx, id)
		if err != nil {
			exit = runtime.Exit{Code: 137, Message: err.Error()}
		}
		w.finish(id, log)
		w.ended(c, exit, "")
	})
}

// launch starts the process.
func (w *Worker) launch(ctx context.Context, spec *corev1.Container, id string, run int) (runtime.ImageInfo, *logs.Log, error) {
	info, err := w.o.Runtime.Image(ctx, spec.Image)
	if err != nil {
		return info, nil, err
	}
	config, err := w.config(ctx, spec, id)
	if err != nil {
		return info, nil, configError{err}
	}
	log, err := w.o.Logs.Create(LogName(string(w.pod.UID), spec.Name), run)
	if err != nil {
		return info, nil, err
	}
	config.Stdout, config.Stderr = log.Stdout(), log.Stderr()
	if err := w.o.Runtime.StartContainer(ctx, config); err != nil {
		w.finish(id, log)
		return info, nil, err
	}
	return info, log, nil
}

// finish frees what is left of a run.
func (w *Worker) finish(id string, log *logs.Log) {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	if err := w.o.Runtime.RemoveContainer(ctx, id); err != nil && !errors.Is(err, runtime.ErrNotFound) {
		w.log.Warn("remove container", "id", id, "error", err.Error())
	}
	if err := log.Close(); err != nil {
		w.log.Warn("close log", "id", id, "error", err.Error())
	}
}

// failed sorts out why a run did not begin.
func (w *Worker) failed(c *container, err error) {
	message := err.Error()
	switch {
	case errors.Is(err, runtime.ErrImageNotFound):
		message = fmt.Sprintf("image %q is not in this node's store: build it there with \"writ image build\" (images are never pulled)", c.spec.Image)
		w.o.Event(corev1.EventTypeWarning, reasonNoImage, message)
		w.send(func(m *machine) { m.missing(c, reasonNoImage, message, w.o.Now()) })
	case errors.As(err, new(configError)):
		w.o.Event(corev1.EventTypeWarning, "Failed", message)
		w.send(func(m *machine) { m.missing(c, reasonConfigError, message, w.o.Now()) })
	default:
		w.o.Event(corev1.EventTypeWarning, "Failed", fmt.Sprintf("start container %s: %s", c.spec.Name, message))
		w.ended(c, runtime.Exit{Code: 128, Message: message}, reasonStartError)
	}
}

// ended tells the machine that a run is over.
func (w *Worker) ended(c *container, e runtime.Exit, reason string) {
	w.send(func(m *machine) {
		if reason == reasonStartError {
			c.startedAt = w.o.Now()
		}
		m.exit(c, e, reason, w.o.Now())
		if c.reason == reasonCrashLoop && c.phase == waiting {
			w.o.Event(corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container "+c.spec.Name)
		}
	})
}

// config is what the runtime needs to know.
func (w *Worker) config(ctx context.Context, spec *corev1.Container, id string) (runtime.ContainerConfig, error) {
	env, err := w.environment(ctx, spec)
	if err != nil {
		return runtime.ContainerConfig{}, err
	}
	mounts, err := w.mounts(ctx, spec)
	if err != nil {
		return runtime.ContainerConfig{}, err
	}
	c := runtime.ContainerConfig{
		ID: id, SandboxID: string(w.pod.UID), Image: spec.Image,
		Command: env.expandAll(spec.Command), Args: env.expandAll(spec.Args),
		Env: env.list(), WorkingDir: spec.WorkingDir, Mounts: mounts,
	}
	if s := w.pod.Spec.SecurityContext; s != nil {
		c.User, c.Group = s.RunAsUser, s.RunAsGroup
		c.RunAsNonRoot = s.RunAsNonRoot != nil && *s.RunAsNonRoot
	}
	if s := spec.SecurityContext; s != nil {
		if s.RunAsUser != nil {
			c.User = s.RunAsUser
		}
		if s.RunAsGroup != nil {
			c.Group = s.RunAsGroup
		}
		if s.RunAsNonRoot != nil {
			c.RunAsNonRoot = *s.RunAsNonRoot
		}
		c.ReadOnlyRoot = s.ReadOnlyRootFilesystem != nil && *s.ReadOnlyRootFilesystem
	}
	return c, nil
}

// superviseProbes starts the probes of containers that run and ends those of
// containers that do not.
func (w *Worker) superviseProbes(ctx context.Context) {
	for _, c := range w.machine.containers {
		cancel, probed := w.probes[c]
		switch should := c.phase == running && !c.stop; {
		case should && !probed:
			// Not the run's context alone: a restart begins with new probes.
			ctx, cancel := context.WithCancel(ctx)
			w.probes[c] = cancel
			w.task(func() { w.probe(ctx, c, runtimeID(c), c.run) })
		case !should && probed:
			cancel()
			delete(w.probes, c)
		}
	}
}

// probe runs the probes of one run: startup first, then the others.
func (w *Worker) probe(ctx context.Context, c *container, id string, run int) {
	target := probe.Target{
		IP: w.pod.Status.PodIP, Ports: c.spec.Ports, Dial: w.o.Dial,
		Exec: func(ctx context.Context, argv []string, out io.Writer) (int, error) {
			return w.o.Runtime.Exec(ctx, id, runtime.ExecConfig{Argv: argv, Stdout: out, Stderr: out})
		},
	}
	// tell hands a verdict to the machine if it is still about this run.
	tell := func(f func(*machine)) {
		w.send(func(m *machine) {
			if c.run == run && c.phase == running {
				f(m)
			}
		})
	}
	if p := c.spec.StartupProbe; p != nil {
		if !w.startup(ctx, c, p, target, tell) {
			return
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if p := c.spec.LivenessProbe; p != nil {
			probe.Run(ctx, p, target, w.verdict(c, "Liveness", p, tell, nil))
		}
	}()
	if p := c.spec.ReadinessProbe; p != nil {
		probe.Run(ctx, p, target, func(r probe.Result) {
			if r.Err != nil && r.Changed {
				w.unhealthy(c, "Readiness", r.Err)
			}
			if r.Changed {
				tell(func(*machine) { c.ready = r.OK && !c.stop })
			}
		})
	}
	<-done
}

// startup reports whether the startup probe succeeded.
func (w *Worker) startup(ctx context.Context, c *container, p *corev1.Probe, t probe.Target, tell func(func(*machine))) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	passed := false
	probe.Run(ctx, p, t, w.verdict(c, "Startup", p, tell, func() {
		passed = true
		tell(func(*machine) { c.started, c.ready = true, c.spec.ReadinessProbe == nil })
		cancel()
	}))
	return passed
}

// verdict ends the run when the probe has failed for good.
func (w *Worker) verdict(c *container, kind string, p *corev1.Probe, tell func(func(*machine)), ok func()) func(probe.Result) {
	return func(r probe.Result) {
		switch {
		case !r.Changed:
		case r.OK && ok != nil:
			ok()
		case !r.OK:
			w.unhealthy(c, kind, r.Err)
			grace := gracePeriod(w.pod, p)
			tell(func(m *machine) { m.kill(c, grace, w.o.Now()) })
		}
	}
}

func (w *Worker) unhealthy(c *container, kind string, err error) {
	w.o.Event(corev1.EventTypeWarning, "Unhealthy", fmt.Sprintf("%s probe of container %s failed: %v", kind, c.spec.Name, err))
}

// gracePeriod is how long a container may take to end when its probe failed.
func gracePeriod(p *corev1.Pod, by *corev1.Probe) time.Duration {
	seconds := int64(30)
	if s := p.Spec.TerminationGracePeriodSeconds; s != nil {
		seconds = *s
	}
	if s := by.TerminationGracePeriodSeconds; s != nil {
		seconds = *s
	}
	return time.Duration(seconds) * time.Second
}
