package pod

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/nodeagent/logs"
	"github.com/writ-dev/writ/nodeagent/runtime"
)

// endTimeout bounds the removal of a sandbox, and what comes after a SIGKILL.
const endTimeout = 10 * time.Second

// Options configure a Worker. Those without a remark are required.
type Options struct {
	Pod     *corev1.Pod
	Runtime runtime.Runtime
	Logs    *logs.Store
	// Dir is where the pod's volumes are made, in a directory named by its UID.
	Dir string
	// ResolvConf is the contents of /etc/resolv.conf.
	ResolvConf string
	// HostIP is the node's address, for the downward API.
	HostIP string
	// Attach connects a sandbox to the network; Detach undoes it.
	Attach func(ctx context.Context, netNS int) error
	Detach func() error
	// Dial connects to the pod from the node, for probes.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ConfigMap and Secret fetch objects of the pod's namespace.
	ConfigMap func(ctx context.Context, name string) (*corev1.ConfigMap, error)
	Secret    func(ctx context.Context, name string) (*corev1.Secret, error)
	// Report receives each new status; it must not block.
	Report func(corev1.PodStatus)
	// Event records an event about the pod; it must not block. Kind is Normal
	// or Warning.
	Event func(kind, reason, message string)
	// StopGrace bounds a pod's grace period when Run's context ends; 2 s when 0.
	StopGrace time.Duration
	// Now is the clock; time.Now when nil.
	Now    func() time.Time
	Logger *slog.Logger
}

// Worker runs one pod.
type Worker struct {
	o    Options
	pod  *corev1.Pod // as it was at the beginning: the spec does not change
	log  *slog.Logger
	wake chan struct{}

	volumes sync.Mutex // held while volumes are made

	mu     sync.Mutex // guards the mailbox
	inbox  []func(*machine)
	closed bool

	// What follows belongs to Run's goroutine.
	machine *machine
	probes  map[*container]context.CancelFunc
	tasks   sync.WaitGroup
}

// New makes a worker; Run runs it.
func New(o Options) *Worker {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.StopGrace <= 0 {
		o.StopGrace = 2 * time.Second
	}
	return &Worker{
		o: o, pod: o.Pod, log: o.Logger.With("pod", o.Pod.Namespace+"/"+o.Pod.Name),
		wake: make(chan struct{}, 1), probes: map[*container]context.CancelFunc{},
		machine: newMachine(o.Pod, o.Now()),
	}
}

// send puts a message for the machine into the mailbox. The senders are few,
// and each waits for something that happens once.
func (w *Worker) send(f func(*machine)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.inbox = append(w.inbox, f)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Update takes a newer version of the object.
func (w *Worker) Update(p *corev1.Pod) {
	w.send(func(m *machine) { m.update(p, w.o.Now()) })
}

// Granted says that the pod's grants are enforced: containers may start.
func (w *Worker) Granted() { w.send(func(m *machine) { m.granted = true }) }

// Stop ends the pod within grace, because its object is gone.
func (w *Worker) Stop(grace time.Duration) {
	w.send(func(m *machine) { m.leave(grace, w.o.Now()) })
}

// Run runs the pod until it is deleted and stopped, and then removes its
// volumes and logs. When ctx ends before, the pod is stopped within
// Options.StopGrace and its logs stay. Nothing of the pod runs when it returns.
func (w *Worker) Run(ctx context.Context) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	m := w.machine
	ending := ctx.Done()
	w.o.Report(m.status(w.o.Now()))
	for !m.gone() {
		todo, wake := m.step(w.o.Now())
		for _, a := range todo {
			w.perform(work, a)
		}
		w.superviseProbes(work)
		w.o.Report(m.status(w.o.Now()))
		if m.gone() {
			break
		}
		timer, stop := after(wake, w.o.Now())
		select {
		case <-w.wake:
		case <-timer:
		case <-ending:
			ending = nil
			m.leave(w.o.StopGrace, w.o.Now())
		}
		stop()
		w.deliver()
	}
	cancel()
	w.close()
	w.tasks.Wait()
	if ctx.Err() != nil && w.machine.pod.DeletionTimestamp == nil {
		return os.RemoveAll(w.dir())
	}
	return errors.Join(os.RemoveAll(w.dir()), w.o.Logs.Remove(string(w.pod.UID)))
}

// dir is where the pod's files are.
func (w *Worker) dir() string { return filepath.Join(w.o.Dir, string(w.pod.UID)) }

// after is a timer for a moment; the zero moment never comes.
func after(t, now time.Time) (<-chan time.Time, func() bool) {
	if t.IsZero() {
		return nil, func() bool { return false }
	}
	timer := time.NewTimer(max(0, t.Sub(now)))
	return timer.C, timer.Stop
}

// deliver gives the machine what came in.
func (w *Worker) deliver() {
	w.mu.Lock()
	inbox := w.inbox
	w.inbox = nil
	w.mu.Unlock()
	for _, f := range inbox {
		f(w.machine)
	}
}

func (w *Worker) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}

// task runs f beside the worker. Run waits for it.
func (w *Worker) task(f func()) {
	w.tasks.Add(1)
	go func() {
		defer w.tasks.Done()
		f()
	}()
}

// perform begins an action; its end comes as a message.
func (w *Worker) perform(ctx context.Context, a action) {
	switch a.verb {
	case prepareSandbox:
		w.task(func() { w.prepare(ctx) })
	case removeSandbox:
		w.task(func() {
			w.removeSandbox()
			w.send(func(m *machine) { m.sandboxDown() })
		})
	case startContainer:
		w.start(ctx, a.container)
	case termContainer:
		w.o.Event(corev1.EventTypeNormal, "Killing", "Stopping container "+a.container.spec.Name)
		w.signal(a.container, sigTerm)
	case killContainer:
		w.signal(a.container, sigKill)
	}
}

const (
	sigKill = 9
	sigTerm = 15
)

func (w *Worker) signal(c *container, signal int) {
	err := w.o.Runtime.Signal(runtimeID(c), signal)
	if err != nil && !errors.Is(err, runtime.ErrNotFound) {
		w.log.Warn("signal container", "container", c.spec.Name, "signal", signal, "error", err.Error())
	}
}

// prepare makes the sandbox, connects it, and has the images unpacked
// meanwhile, so that a granted pod starts at once.
func (w *Worker) prepare(ctx context.Context) {
	var images sync.WaitGroup
	for _, c := range w.machine.containers {
		images.Go(func() {
			// An error is met again, and reported, when the container starts.
			_, _ = w.o.Runtime.Image(ctx, c.spec.Image)
		})
	}
	err := w.makeSandbox(ctx)
	images.Wait()
	if err != nil && ctx.Err() == nil {
		w.removeSandbox()
		w.o.Event(corev1.EventTypeWarning, reasonSandbox, err.Error())
	}
	w.send(func(m *machine) { m.sandboxUp(err, w.o.Now()) })
}

func (w *Worker) makeSandbox(ctx context.Context) error {
	netNS, err := w.o.Runtime.CreateSandbox(ctx, runtime.SandboxConfig{
		ID: string(w.pod.UID), Hostname: hostname(w.pod),
		ResolvConf: w.o.ResolvConf, Hosts: hosts(w.pod),
	})
	if err != nil {
		return fmt.Errorf("create sandbox: %w", err)
	}
	if err := w.o.Attach(ctx, netNS); err != nil {
		return fmt.Errorf("attach to network: %w", err)
	}
	return nil
}

// removeSandbox undoes makeSandbox, as far as it came.
func (w *Worker) removeSandbox() {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	if err := w.o.Detach(); err != nil {
		w.log.Debug("detach from network", "error", err.Error())
	}
	if err := w.o.Runtime.RemoveSandbox(ctx, string(w.pod.UID)); err != nil {
		w.log.Error("remove sandbox", "error", err.Error())
	}
}

func hostname(p *corev1.Pod) string {
	name := p.Spec.Hostname
	if name == "" {
		name = p.Name
	}
	return name[:min(len(name), 63)]
}

func hosts(p *corev1.Pod) string {
	return fmt.Sprintf("127.0.0.1\tlocalhost\n::1\tlocalhost\n%s\t%s\n", p.Status.PodIP, hostname(p))
}
