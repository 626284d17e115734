//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// guardArg is the first argument of this program when it is a guard.
const guardArg = "writ-sandbox-guard"

// guard is a second process of this program that holds a handle of every
// container and kills them all when the first one is gone. The kernel's own
// way, the death signal, is what kills a container at once; but it is lost
// when a container changes its user, as the start scripts of many images do.
type guard struct {
	cmd  *exec.Cmd
	conn *os.File
	once sync.Once
}

func startGuard() (*guard, error) {
	conn, theirs, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{"writ", guardArg}
	cmd.Env = []string{"GOMAXPROCS=1"}
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{theirs}
	// Of a session of its own, so that no key of a terminal reaches it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("start guard: %w", err)
	}
	return &guard{cmd: cmd, conn: conn}, nil
}

// watch gives the guard a container's first process.
func (g *guard) watch(pidfd int) error {
	raw, err := g.conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("tell guard: %w", err)
	}
	if err := g.conn.SetWriteDeadline(time.Now().Add(startTimeout)); err != nil {
		return fmt.Errorf("tell guard: %w", err)
	}
	var sendErr error
	err = raw.Write(func(fd uintptr) bool {
		sendErr = unix.Sendmsg(int(fd), []byte{1}, unix.UnixRights(pidfd), nil, unix.MSG_NOSIGNAL)
		return !errors.Is(sendErr, unix.EAGAIN)
	})
	if err := errors.Join(err, sendErr); err != nil {
		return fmt.Errorf("tell guard: %w", err)
	}
	return nil
}

// stop ends the guard; it kills what it still watches.
func (g *guard) stop() error {
	var err error
	g.once.Do(func() { err = errors.Join(g.conn.Close(), g.cmd.Wait()) })
	return err
}

// beGuard is the guard's life. It returns when the other process is gone.
func beGuard() int {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	unix.CloseOnExec(controlFD)
	var watched []int
	rights := make([]byte, unix.CmsgSpace(4))
	data := make([]byte, 1)
	for {
		n, rn, _, _, err := unix.Recvmsg(controlFD, data, rights, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			break
		}
		// Those that have ended make room.
		alive := watched[:0]
		for _, fd := range watched {
			if unix.PidfdSendSignal(fd, 0, nil, 0) != nil {
				_ = unix.Close(fd)
				continue
			}
			alive = append(alive, fd)
		}
		watched = append(alive, received(rights[:rn])...)
	}
	for _, fd := range watched {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
	return 0
}

// received takes the file descriptors out of a message.
func received(rights []byte) []int {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil
	}
	var fds []int
	for _, m := range messages {
		if got, err := unix.ParseUnixRights(&m); err == nil {
			fds = append(fds, got...)
		}
	}
	return fds
}
