//go:build linux

package sandbox

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/writ-dev/writ/nodeagent/runtime"
)

// terminal is a pseudoterminal: inside is the command's end.
type terminal struct {
	outside, inside *os.File
	shown           chan struct{} // closed when all output is copied
	ended           chan struct{} // closed by close
}

func openTerminal() (*terminal, error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open a terminal: /dev/ptmx: %w", err)
	}
	t := &terminal{outside: os.NewFile(uintptr(fd), "terminal"), shown: make(chan struct{}), ended: make(chan struct{})}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.outside.Close()
		return nil, fmt.Errorf("open a terminal: unlock it: %w", err)
	}
	// The other end is opened through this one: its path may be that of another
	// mount namespace.
	peer, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		t.outside.Close()
		return nil, fmt.Errorf("open a terminal: its other end: %w", errno)
	}
	t.inside = os.NewFile(peer, "terminal of command")
	return t, nil
}

// connect copies between the terminal and e until the command has ended.
func (t *terminal) connect(e runtime.ExecConfig) {
	t.inside.Close() // the command has it
	if e.Stdin != nil {
		// A reader may block long after the end; nobody waits for it.
		go func() {
			if _, err := io.Copy(t.outside, e.Stdin); err == nil {
				_, _ = t.outside.Write([]byte{4}) // Ctrl-D: no more input
			}
		}()
	}
	go func() {
		defer close(t.shown)
		out := e.Stdout
		if out == nil {
			out = io.Discard
		}
		_, _ = io.Copy(out, t.outside) // ends with EIO when nobody has the other end
	}()
	if e.Resize != nil {
		go t.resize(e.Resize)
	}
}

func (t *terminal) resize(sizes <-chan runtime.Size) {
	for {
		select {
		case <-t.ended:
			return
		case s, ok := <-sizes:
			if !ok {
				return
			}
			t.set(s)
		}
	}
}

func (t *terminal) set(s runtime.Size) {
	c, err := t.outside.SyscallConn()
	if err != nil {
		return
	}
	_ = c.Control(func(fd uintptr) {
		_ = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: s.Height, Col: s.Width})
	})
}

// drain waits for the rest of the output; what the command has left running
// may keep the terminal, but not for long.
func (t *terminal) drain() {
	timer := time.NewTimer(drainTimeout)
	defer timer.Stop()
	select {
	case <-t.shown:
	case <-timer.C:
	}
}

func (t *terminal) close() {
	close(t.ended)
	t.outside.Close()
	t.inside.Close()
}
