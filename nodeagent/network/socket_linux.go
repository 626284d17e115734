package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Dial connects from the node to "IP:port" on network "tcp" or "udp". The
// answer comes through the rules because the agent asked; nothing else in the
// node's namespace can.
func (f *Fabric) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("%s: %w", address, err)}
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil || !to.Addr().Is4() {
		return fail(errors.New("address must be an IPv4 address and a port"))
	}
	kind := unix.SOCK_STREAM
	if strings.HasPrefix(network, "udp") {
		kind = unix.SOCK_DGRAM
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	// Only the socket must be made on the thread: whoever waits for the other
	// side must not hold it.
	var fd int
	err = f.thread.do(func() error {
		var err error
		if fd, err = unix.Socket(unix.AF_INET, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
			return os.NewSyscallError("socket", err)
		}
		err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
		if err != nil && !errors.Is(err, unix.EINPROGRESS) {
			unix.Close(fd)
			return os.NewSyscallError("connect", err)
		}
		return nil
	})
	if err != nil {
		return fail(err)
	}
	file := os.NewFile(uintptr(fd), address)
	defer file.Close()
	if err := awaitConnect(ctx, file); err != nil {
		return fail(err)
	}
	c, err := net.FileConn(file)
	if err != nil {
		return fail(err)
	}
	return c, nil
}

// awaitConnect waits for a non-blocking connect to end.
func awaitConnect(ctx context.Context, file *os.File) error {
	stop := context.AfterFunc(ctx, func() { _ = file.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	err = raw.Write(func(fd uintptr) bool {
		code, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
		switch {
		case err != nil:
			result = os.NewSyscallError("getsockopt", err)
		case code != 0:
			result = os.NewSyscallError("connect", unix.Errno(code))
		default:
			_, err := unix.Getpeername(int(fd))
			return err == nil
		}
		return true
	})
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	return result
}

// Listen listens inside the node's namespace, where pods reach only port 53
// of Gateway.
func (f *Fabric) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	var l net.Listener
	err := f.thread.do(func() error {
		var err error
		l, err = new(net.ListenConfig).Listen(ctx, network, address)
		return err
	})
	return l, err
}

// ListenPacket is Listen for datagrams.
func (f *Fabric) ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error) {
	var c net.PacketConn
	err := f.thread.do(func() error {
		var err error
		c, err = new(net.ListenConfig).ListenPacket(ctx, network, address)
		return err
	})
	return c, err
}
