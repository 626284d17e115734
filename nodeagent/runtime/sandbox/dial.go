//go:build linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/writ-dev/writ/nodeagent/runtime"
)

// dialTimeout bounds a connection within one namespace.
const dialTimeout = 5 * time.Second

// Dial connects to a port on the loopback address inside a sandbox. The
// address is the sandbox's own, so no rule of the network has a say.
func (r *Runtime) Dial(ctx context.Context, id string, port uint16) (net.Conn, error) {
	r.mu.Lock()
	p := r.pods[id]
	r.mu.Unlock()
	if p == nil {
		return nil, fmt.Errorf("sandbox %s: %w", id, runtime.ErrNotFound)
	}
	select {
	case <-p.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	fd := -1
	var err error
	// A socket belongs for ever to the namespace that it was made in.
	if !p.do(func() {
		fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	}) {
		return nil, fmt.Errorf("sandbox %s: %w", id, runtime.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("make socket: %w", err)
	}
	file := os.NewFile(uintptr(fd), "socket")
	defer file.Close() // FileConn takes a copy.
	if err := connect(ctx, fd, port); err != nil {
		return nil, fmt.Errorf("connect to port %d: %w", port, err)
	}
	return net.FileConn(file)
}

func connect(ctx context.Context, fd int, port uint16) error {
	err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}})
	if !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	end := time.Now().Add(dialTimeout)
	for ctx.Err() == nil && time.Now().Before(end) {
		polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		if n, err := unix.Poll(polled, 50); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		} else if n == 0 {
			continue
		}
		code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if err != nil {
			return err
		}
		if code != 0 {
			return unix.Errno(code)
		}
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.New("it did not answer")
}
