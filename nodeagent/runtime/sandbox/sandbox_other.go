//go:build !linux

package sandbox

import (
	"context"
	"net"

	"github.com/writ-dev/writ/nodeagent/runtime"
)

// Runtime runs nothing here.
type Runtime struct{}

var _ runtime.Runtime = (*Runtime)(nil)

// Init returns at once.
func Init() {}

// Privileged is false.
func Privileged() bool { return false }

// Reenter returns ErrNeedsLinux.
func Reenter([]string) (int, error) { return 0, ErrNeedsLinux }

// New returns ErrNeedsLinux.
func New(Options) (*Runtime, error) { return nil, ErrNeedsLinux }

// CreateSandbox returns ErrNeedsLinux.
func (*Runtime) CreateSandbox(context.Context, runtime.SandboxConfig) (int, error) {
	return -1, ErrNeedsLinux
}

// RemoveSandbox returns ErrNeedsLinux.
func (*Runtime) RemoveSandbox(context.Context, string) error { return ErrNeedsLinux }

// Image returns ErrNeedsLinux.
func (*Runtime) Image(context.Context, string) (runtime.ImageInfo, error) {
	return runtime.ImageInfo{}, ErrNeedsLinux
}

// StartContainer returns ErrNeedsLinux.
func (*Runtime) StartContainer(context.Context, runtime.ContainerConfig) error {
	return ErrNeedsLinux
}

// Wait returns ErrNeedsLinux.
func (*Runtime) Wait(context.Context, string) (runtime.Exit, error) {
	return runtime.Exit{}, ErrNeedsLinux
}

// Signal returns ErrNeedsLinux.
func (*Runtime) Signal(string, int) error { return ErrNeedsLinux }

// RemoveContainer returns ErrNeedsLinux.
func (*Runtime) RemoveContainer(context.Context, string) error { return ErrNeedsLinux }

// Exec returns ErrNeedsLinux.
func (*Runtime) Exec(context.Context, string, runtime.ExecConfig) (int, error) {
	return 0, ErrNeedsLinux
}

// Dial returns ErrNeedsLinux.
func (*Runtime) Dial(context.Context, string, uint16) (net.Conn, error) { return nil, ErrNeedsLinux }

// Close does nothing.
func (*Runtime) Close() error { return nil }
