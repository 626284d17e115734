package network

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// errClosed is returned for calls after Close.
var errClosed = errors.New("network is closed")

// onThread runs f on an operating system thread of its own, which ends with f:
// whatever f did to the thread's namespaces ends with it. It never uses the
// main thread, whose namespaces others see as the process's.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			// Keep the main thread busy until f has found another.
			onThread(f)
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}

// inNamespace runs f on a thread inside the network namespace of fd.
func inNamespace(fd int, f func() error) error {
	var err error
	onThread(func() {
		if err = unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			err = fmt.Errorf("enter network namespace: %w", err)
			return
		}
		err = f()
	})
	return err
}

// thread is an operating system thread in the node's namespace that runs calls
// one after the other. Sockets made on it belong to that namespace for ever,
// and are then used from anywhere.
type thread struct {
	calls chan func()
	quit  chan struct{}
	done  chan struct{}
}

// startThread makes a new network namespace and a thread in it.
func startThread() (*thread, error) {
	t := &thread{calls: make(chan func()), quit: make(chan struct{}), done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		defer close(t.done)
		onThread(func() {
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				started <- fmt.Errorf("make network namespace: %w", err)
				return
			}
			started <- nil
			for {
				select {
				case f := <-t.calls:
					f()
				case <-t.quit:
					return
				}
			}
		})
	}()
	if err := <-started; err != nil {
		<-t.done
		return nil, err
	}
	return t, nil
}

// do runs f on the thread. f must not block.
func (t *thread) do(f func() error) error {
	result := make(chan error, 1)
	select {
	case t.calls <- func() { result <- f() }:
		return <-result
	case <-t.done:
		return errClosed
	}
}

// stop ends the thread and waits for it. It is called once.
func (t *thread) stop() {
	close(t.quit)
	<-t.done
}
