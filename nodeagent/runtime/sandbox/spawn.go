//go:build linux

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/writ-dev/writ/nodeagent/runtime"
)

const (
	// initArg is the first argument of this program when it is to become a
	// container's process.
	initArg = "writ-sandbox-init"
	// controlFD is where a child reads its spec and reports, processFD a
	// handle of the container's first process, for an exec.
	controlFD, processFD = 3, 4
)

// report is what a child says: that it is about to become the command, or why
// it cannot.
type report struct {
	Ready       bool   `json:",omitempty"`
	Error       string `json:",omitempty"`
	Unsupported bool   `json:",omitempty"`
}

type spawnOptions struct {
	spec           spec
	stdin          *os.File
	stdout, stderr io.Writer
	// terminal says that stdin is one, which the process is to control.
	terminal bool
	// flags are the namespaces to make with the process.
	flags uintptr
	// extra becomes processFD.
	extra *os.File
	// watch, if set, is given the process before it is set up.
	watch func(pidfd int) error
	// fork runs a function on the thread that is to be the parent; it reports
	// false if there is none any more.
	fork func(func()) bool
}

// spawn starts this program anew as a container's process and returns when it
// has become the command. Whatever fails, no process is left.
func spawn(ctx context.Context, o spawnOptions) (*child, error) {
	control, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer control.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{"writ", initArg}
	// The child only has a few files to mount: a collector and many threads
	// would cost more than they save.
	cmd.Env = []string{"GOMAXPROCS=1", "GOGC=off"}
	cmd.Stdout, cmd.Stderr = o.stdout, o.stderr
	if o.stdin != nil {
		cmd.Stdin = o.stdin
	}
	cmd.ExtraFiles = []*os.File{theirs}
	if o.extra != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, o.extra)
	}
	cmd.WaitDelay = drainTimeout
	c := &child{cmd: cmd, pidfd: -1}
	// The child sets its own death signal: syscall.SysProcAttr's compares
	// parents by number, which means nothing across pid namespaces, and kills
	// the child of an exec. Until then it depends on this connection.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: o.flags, Setsid: true, Setctty: o.terminal}
	alive := o.fork(func() { err = cmd.Start() })
	theirs.Close()
	if !alive {
		return nil, fmt.Errorf("its sandbox is gone: %w", runtime.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("start process: %w", err)
	}
	c.pidfd, err = unix.PidfdOpen(cmd.Process.Pid, 0)
	if err == nil && o.watch != nil {
		err = o.watch(c.pidfd)
	}
	if err == nil {
		err = converse(ctx, control, o.spec)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if c.pidfd >= 0 {
			_ = unix.Close(c.pidfd)
		}
		return nil, err
	}
	return c, nil
}

// converse gives the child its spec and waits for its last word. The
// connection closes by itself when the child becomes the command.
func converse(ctx context.Context, control *os.File, s spec) error {
	stop := context.AfterFunc(ctx, func() { _ = control.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	fail := func(err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	if err := json.NewEncoder(control).Encode(s); err != nil {
		return fail(fmt.Errorf("the process died before it was set up: %w", err))
	}
	reports := json.NewDecoder(io.LimitReader(control, 64<<10))
	var ready bool
	for {
		var last report
		err := reports.Decode(&last)
		switch {
		case errors.Is(err, io.EOF) && ready:
			return nil
		case errors.Is(err, io.EOF):
			return fail(errors.New("the process died while it was set up"))
		case err != nil:
			return fail(fmt.Errorf("set up process: %w", err))
		case last.Unsupported:
			return fmt.Errorf("%s: %w", last.Error, runtime.ErrUnsupported)
		case last.Error != "":
			return errors.New(last.Error)
		}
		ready = last.Ready
	}
}

func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make socket pair: %w", err)
	}
	// Only a non-blocking file can have a deadline.
	if err := unix.SetNonblock(fds[0], true); err != nil {
		_, _ = unix.Close(fds[0]), unix.Close(fds[1])
		return nil, nil, fmt.Errorf("make socket pair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control of child"), nil
}

// execIn runs a command in a container's namespaces and waits for it.
func execIn(ctx context.Context, c *container, e runtime.ExecConfig) (int, error) {
	s := spec{Exec: true, Argv: e.Argv, Env: c.spec.Env, Dir: c.spec.Dir, User: c.spec.User}
	process, err := c.handle()
	if err != nil {
		return 0, err
	}
	defer process.Close()
	o := spawnOptions{spec: s, stdout: e.Stdout, stderr: e.Stderr, extra: process, terminal: e.TTY}
	var t *terminal
	if e.TTY {
		if t, err = openTerminal(); err != nil {
			return 0, err
		}
		defer t.close()
		o.stdin, o.stdout, o.stderr = t.inside, t.inside, t.inside
	} else if o.stdin, err = feed(e.Stdin); err != nil {
		return 0, err
	} else if o.stdin != nil {
		defer o.stdin.Close()
	}
	thread := newExecThread(int(process.Fd()))
	defer close(thread.quit)
	setup, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("it took longer than %v", startTimeout))
	defer cancel()
	o.fork = thread.do
	child, err := spawn(setup, o)
	if err != nil {
		return 0, errors.Join(thread.err, err)
	}
	defer unix.Close(child.pidfd)
	stop := context.AfterFunc(ctx, func() { _ = child.cmd.Process.Kill() })
	defer stop()
	if t != nil {
		t.connect(e)
	}
	exit := child.wait()
	if t != nil {
		t.drain()
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if exit.Message != "" {
		return 0, errors.New(exit.Message)
	}
	return exit.Code, nil
}

// feed copies a reader into a pipe and returns the end to read from. Nobody
// waits for the copying, because a reader (a terminal, a connection) may block
// long after the command has ended; it stops at the next read.
func feed(stdin io.Reader) (*os.File, error) {
	if stdin == nil {
		return nil, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		_, _ = io.Copy(w, stdin)
		_ = w.Close()
	}()
	return r, nil
}

// execThread is a thread whose children are born in a container's namespaces.
// It lives until the command has ended: the kernel kills that when it ends.
type execThread struct {
	work chan func()
	quit chan struct{}
	dead chan struct{}
	err  error // set before dead closes
}

func newExecThread(target int) *execThread {
	t := &execThread{work: make(chan func()), quit: make(chan struct{}), dead: make(chan struct{})}
	onThread(func() {
		if err := unix.Setns(target, namespaces|unix.CLONE_NEWPID); err != nil {
			t.err = fmt.Errorf("enter the container's namespaces: %w", err)
			close(t.dead)
			return
		}
		for {
			select {
			case f := <-t.work:
				f()
			case <-t.quit:
				return
			}
		}
	})
	return t
}

func (t *execThread) do(f func()) bool {
	done := make(chan struct{})
	select {
	case t.work <- func() { f(); close(done) }:
		<-done
		return true
	case <-t.dead:
		return false
	}
}
