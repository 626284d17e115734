// Package runtime is the contract between the node agent and whatever runs
// containers. A pod's sandbox is a set of namespaces (network, ipc, uts) that
// its containers join; there is no pause container.
//
// The network of a sandbox is an empty namespace with only the means to enter
// it: addresses, routes and rules are the business of nodeagent/network, and
// no container is started before they are in place.
package runtime

import (
	"context"
	"errors"
	"io"
	"net"
	"time"
)

// Errors that callers tell apart.
var (
	// ErrNotFound: no such sandbox or container.
	ErrNotFound = errors.New("not found")
	// ErrImageNotFound: the image is not in the local store.
	ErrImageNotFound = errors.New("image not found")
	// ErrUnsupported: this runtime or this user cannot do what was asked, for
	// example run as another user inside a single-user namespace.
	ErrUnsupported = errors.New("not supported by this runtime")
)

// SandboxConfig describes a pod's sandbox. ID is the pod's UID.
type SandboxConfig struct {
	ID       string
	Hostname string
	// ResolvConf and Hosts are the contents of /etc/resolv.conf and /etc/hosts.
	ResolvConf, Hosts string
}

// Mount makes a host directory or file visible in a container.
type Mount struct {
	Source   string
	Target   string
	ReadOnly bool
}

// ContainerConfig describes a container to start. ID is unique on the node.
type ContainerConfig struct {
	ID        string
	SandboxID string
	// Image is a reference or digest in the local store.
	Image string
	// Command replaces the image's entrypoint and Args its command, as in a
	// Kubernetes container.
	Command, Args []string
	// Env is NAME=value; it comes after the image's own.
	Env            []string
	WorkingDir     string
	User           *int64
	Group          *int64
	RunAsNonRoot   bool
	ReadOnlyRoot   bool
	Mounts         []Mount
	Stdout, Stderr io.Writer
}

// ExecConfig describes a command to run inside a container.
type ExecConfig struct {
	Argv           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// TTY gives the command a terminal: what it shows goes to Stdout, and Resize
	// tells its size, now and whenever that changes. Resize may be nil.
	TTY    bool
	Resize <-chan Size
}

// Size is that of a terminal, in characters.
type Size struct {
	Width, Height uint16
}

// Exit is how a container ended. Code is 128+signal for a signal.
type Exit struct {
	Code   int
	Signal int
	At     time.Time
	// Message is the runtime's own error when the process never ran.
	Message string
}

// ImageInfo is what the agent reports of an image.
type ImageInfo struct {
	// ID is the config digest, RepoDigest the manifest digest.
	ID, RepoDigest string
}

// Runtime runs containers. All methods are safe for concurrent use.
type Runtime interface {
	// CreateSandbox makes the namespaces. NetNS is a file descriptor of the
	// network namespace, owned by the runtime and valid until RemoveSandbox.
	CreateSandbox(ctx context.Context, c SandboxConfig) (netNS int, err error)
	// RemoveSandbox kills what still runs in the sandbox and frees it. It is
	// no error when there is none.
	RemoveSandbox(ctx context.Context, id string) error
	// Image looks an image up in the local store, and unpacks it if needed, so
	// that a following StartContainer is fast. ErrImageNotFound if absent.
	Image(ctx context.Context, ref string) (ImageInfo, error)
	// StartContainer starts the process and returns once it has replaced the
	// runtime's own (a wrong command is an error here, not an exit).
	StartContainer(ctx context.Context, c ContainerConfig) error
	// Wait blocks until the container ends. It may be called by several, and
	// after the end, until RemoveContainer.
	Wait(ctx context.Context, id string) (Exit, error)
	// Signal sends a signal to the container's first process.
	Signal(id string, signal int) error
	// RemoveContainer kills the container if it runs, and frees it.
	RemoveContainer(ctx context.Context, id string) error
	// Exec runs a command inside the container and returns its exit code.
	Exec(ctx context.Context, id string, c ExecConfig) (int, error)
	// Dial connects to a TCP port on the loopback address inside a sandbox.
	Dial(ctx context.Context, sandboxID string, port uint16) (net.Conn, error)
	// Close removes every sandbox.
	Close() error
}
