//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/writ-dev/writ/nodeagent/runtime"
)

// namespaces are those that the containers of a pod share.
const namespaces = unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// pod is a sandbox: a thread in its own namespaces that forks what is to run
// in them. The kernel kills a container when the thread that forked it ends,
// so the thread lives as long as the pod.
type pod struct {
	id, hostname, dir string
	// netNS is set before ready closes.
	netNS int
	// work is done by the thread, one at a time.
	work chan func()
	// ready closes when start is over, quit ends the thread, ended tells that
	// it has.
	ready, quit, ended chan struct{}
	// closing is guarded by Runtime.mu: no container may be added.
	closing bool
	once    sync.Once
}

// onThread runs f on a thread of its own, which ends with it: f may change
// what belongs to a thread without giving it back.
func onThread(f func()) {
	go func() {
		goruntime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			// No unlock: the Go runtime then ends the thread.
			return
		}
		// The main thread cannot end, and its namespaces are what /proc/PID/ns
		// shows. Hold it until f has got another.
		got := make(chan struct{})
		go func() {
			goruntime.LockOSThread()
			close(got)
			f()
		}()
		<-got
		goruntime.UnlockOSThread()
	}()
}

// start makes the namespaces and leaves the thread waiting for work.
func (p *pod) start(c runtime.SandboxConfig) error {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	hostname := []byte(c.Hostname + "\n")
	for name, data := range map[string][]byte{"hostname": hostname, "hosts": []byte(c.Hosts), "resolv.conf": []byte(c.ResolvConf)} {
		if err := os.WriteFile(filepath.Join(p.dir, name), data, 0o644); err != nil {
			return errors.Join(err, os.RemoveAll(p.dir))
		}
	}
	result := make(chan error)
	onThread(func() {
		defer close(p.ended)
		err := p.enter()
		result <- err
		if err != nil {
			return
		}
		for {
			select {
			case f := <-p.work:
				f()
			case <-p.quit:
				return
			}
		}
	})
	if err := <-result; err != nil {
		return errors.Join(err, os.RemoveAll(p.dir))
	}
	return nil
}

// enter runs on the pod's thread.
func (p *pod) enter() error {
	if err := unix.Unshare(namespaces); err != nil {
		return fmt.Errorf("make namespaces: %w", err)
	}
	if err := unix.Sethostname([]byte(p.hostname)); err != nil {
		return fmt.Errorf("set hostname: %w", err)
	}
	fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	// A container may bind any port whoever it runs as: the ports are its own.
	// Kernels without the setting ask for a capability, which root has.
	_ = os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0)
	p.netNS = fd
	return nil
}

// do runs f on the pod's thread. It reports false if the thread has ended.
func (p *pod) do(f func()) bool {
	done := make(chan struct{})
	select {
	case p.work <- func() { f(); close(done) }:
		<-done
		return true
	case <-p.ended:
		return false
	}
}

// stop ends the thread and frees the pod, once. The containers are gone.
func (p *pod) stop() error {
	var err error
	p.once.Do(func() {
		close(p.quit)
		<-p.ended
		if p.netNS >= 0 {
			err = unix.Close(p.netNS)
		}
		err = errors.Join(err, os.RemoveAll(p.dir))
	})
	return err
}
