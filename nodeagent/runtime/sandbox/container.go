//go:build linux

package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/writ-dev/writ/nodeagent/image"
	"github.com/writ-dev/writ/nodeagent/runtime"
)

// container is one running or ended container. Its fields but exit are set
// before ready closes, exit before done does.
type container struct {
	id, dir     string
	pod         *pod
	spec        spec
	ready, done chan struct{}
	process     *os.Process
	exit        runtime.Exit
	// pidfd is open until the container is removed: it names the process even
	// after its number is somebody else's. fdMu guards it.
	fdMu  sync.Mutex
	pidfd int
	// gone makes removal happen once.
	gone sync.Once
}

// StartContainer starts a container's process and returns when it has been
// replaced by the command, or says why not.
func (r *Runtime) StartContainer(ctx context.Context, cc runtime.ContainerConfig) error {
	if !idPattern.MatchString(cc.ID) {
		return fmt.Errorf("start container: %q is not a valid ID", cc.ID)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("it took longer than %v", startTimeout))
	defer cancel()
	c, err := r.reserve(cc)
	if err != nil {
		return fmt.Errorf("start container %s: %w", cc.ID, err)
	}
	err = r.start(ctx, c, cc)
	if err != nil {
		close(c.done)
		close(c.ready)
		r.mu.Lock()
		delete(r.containers, c.id)
		r.mu.Unlock()
		return fmt.Errorf("start container %s: %w", cc.ID, errors.Join(err, c.free()))
	}
	close(c.ready)
	return nil
}

// reserve enters the container in the books, so that its sandbox cannot be
// removed behind its back.
func (r *Runtime) reserve(cc runtime.ContainerConfig) (*container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pods[cc.SandboxID]
	if p == nil || p.closing || r.closed {
		return nil, fmt.Errorf("sandbox %s: %w", cc.SandboxID, runtime.ErrNotFound)
	}
	if r.containers[cc.ID] != nil {
		return nil, errors.New("it exists")
	}
	c := &container{id: cc.ID, pod: p, dir: filepath.Join(p.dir, "containers", cc.ID), pidfd: -1,
		ready: make(chan struct{}), done: make(chan struct{})}
	r.containers[cc.ID] = c
	return c, nil
}

func (r *Runtime) start(ctx context.Context, c *container, cc runtime.ContainerConfig) error {
	select {
	case <-c.pod.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	root, err := r.unpack(ctx, cc.Image)
	if err != nil {
		return err
	}
	if c.spec, err = merge(cc, root.Config, c.pod.hostname); err != nil {
		return err
	}
	if err := c.place(root); err != nil {
		return err
	}
	child, err := spawn(ctx, spawnOptions{
		spec: c.spec, stdout: cc.Stdout, stderr: cc.Stderr,
		flags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, fork: c.pod.do, watch: r.guard.watch,
	})
	if err != nil {
		return err
	}
	c.process, c.pidfd = child.cmd.Process, child.pidfd
	go func() {
		defer close(c.done)
		c.exit = child.wait()
		r.log.Debug("container ended", "container", c.id, "code", c.exit.Code)
	}()
	return nil
}

// place makes the directories of the container's root and completes the spec.
func (c *container) place(root image.Rootfs) error {
	if len(root.Layers) == 0 {
		return errors.New("its image has no layers")
	}
	for _, dir := range []string{"upper", "work", "root"} {
		if err := os.MkdirAll(filepath.Join(c.dir, dir), 0o755); err != nil {
			return err
		}
	}
	s := &c.spec
	s.Upper, s.Work, s.Root = filepath.Join(c.dir, "upper"), filepath.Join(c.dir, "work"), filepath.Join(c.dir, "root")
	s.OldRoot = ".writ-" + rand.Text()
	s.LayerDir = filepath.Dir(root.Layers[0])
	for _, layer := range slices.Backward(root.Layers) {
		s.Layers = append(s.Layers, filepath.Base(layer))
	}
	// The pod's own files come last in order but first by depth only if the
	// container mounts nothing there itself.
	for _, name := range []string{"hostname", "hosts", "resolv.conf"} {
		target := "/etc/" + name
		if !slices.ContainsFunc(s.Mounts, func(m runtime.Mount) bool { return m.Target == target }) {
			s.Mounts = append(s.Mounts, runtime.Mount{Source: filepath.Join(c.pod.dir, name), Target: target})
		}
	}
	return nil
}

// find returns a container that has been started.
func (r *Runtime) find(ctx context.Context, id string) (*container, error) {
	r.mu.Lock()
	c := r.containers[id]
	r.mu.Unlock()
	if c == nil {
		return nil, fmt.Errorf("container %s: %w", id, runtime.ErrNotFound)
	}
	select {
	case <-c.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if c.process == nil {
		return nil, fmt.Errorf("container %s: %w", id, runtime.ErrNotFound)
	}
	return c, nil
}

// Wait blocks until the container ends and its output has been written.
func (r *Runtime) Wait(ctx context.Context, id string) (runtime.Exit, error) {
	c, err := r.find(ctx, id)
	if err != nil {
		return runtime.Exit{}, err
	}
	select {
	case <-c.done:
		return c.exit, nil
	case <-ctx.Done():
		return runtime.Exit{}, context.Cause(ctx)
	}
}

// Signal sends a signal to the container's first process. As pid 1 it gets
// only what it has a handler for, and SIGKILL.
func (r *Runtime) Signal(id string, signal int) error {
	c, err := r.find(context.Background(), id)
	if err != nil {
		return err
	}
	err = c.process.Signal(syscall.Signal(signal))
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal container %s: %w", id, err)
	}
	return nil
}

// RemoveContainer kills a container with everything in it, and frees it.
func (r *Runtime) RemoveContainer(ctx context.Context, id string) error {
	c, err := r.find(ctx, id)
	if errors.Is(err, runtime.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	c.kill()
	select {
	case <-c.done:
	case <-ctx.Done():
		return fmt.Errorf("remove container %s: %w", id, context.Cause(ctx))
	}
	c.gone.Do(func() {
		err = c.free()
		r.mu.Lock()
		delete(r.containers, id)
		r.mu.Unlock()
	})
	if err != nil {
		return fmt.Errorf("remove container %s: %w", id, err)
	}
	return nil
}

// kill ends the container's first process, and the kernel then all others of
// its pid namespace.
func (c *container) kill() {
	select {
	case <-c.ready:
	default:
		return // Whoever removes it waits for ready, then kills again.
	}
	if c.process != nil {
		// An error means that it has ended.
		_ = c.process.Kill()
	}
}

// handle returns a copy of the process's file descriptor.
func (c *container) handle() (*os.File, error) {
	c.fdMu.Lock()
	defer c.fdMu.Unlock()
	fd, err := unix.FcntlInt(uintptr(c.pidfd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, runtime.ErrNotFound
	}
	return os.NewFile(uintptr(fd), "container"), nil
}

func (c *container) free() error {
	c.fdMu.Lock()
	defer c.fdMu.Unlock()
	var err error
	if c.pidfd >= 0 {
		err = unix.Close(c.pidfd)
		c.pidfd = -1
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}

// child is a started process of a container.
type child struct {
	cmd   *exec.Cmd
	pidfd int
}

// wait collects the exit and the rest of the output.
func (c *child) wait() runtime.Exit {
	err := c.cmd.Wait()
	exit := runtime.Exit{At: time.Now(), Code: exitCode(c.cmd.ProcessState)}
	if status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		exit.Signal = int(status.Signal())
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) && !errors.Is(err, exec.ErrWaitDelay) {
		exit.Message = fmt.Sprintf("copy output: %v", err)
	}
	return exit
}

// Exec runs a command inside a running container.
func (r *Runtime) Exec(ctx context.Context, id string, e runtime.ExecConfig) (int, error) {
	c, err := r.find(ctx, id)
	if err != nil {
		return 0, err
	}
	if len(e.Argv) == 0 {
		return 0, fmt.Errorf("exec in container %s: no command", id)
	}
	select {
	case <-c.done:
		return 0, fmt.Errorf("exec in container %s: it has ended: %w", id, runtime.ErrNotFound)
	default:
	}
	code, err := execIn(ctx, c, e)
	if err != nil {
		return 0, fmt.Errorf("exec in container %s: %w", id, err)
	}
	return code, nil
}
