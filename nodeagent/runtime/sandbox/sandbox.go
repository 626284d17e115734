// Package sandbox runs containers with nothing but the kernel: no daemon, no
// helper program, and no root where user namespaces are allowed. It implements
// nodeagent/runtime.
//
// A pod is one operating system thread that has its own network, ipc and uts
// namespaces and forks the pod's containers. A container is this same program
// started again (Init takes over in it) in new pid and mount namespaces; it
// builds the container's root and then becomes the container's process, which
// is pid 1 there as in Docker.
//
// Invariants: no mount is ever made outside a container's own mount namespace;
// every namespace is held only by processes and file descriptors of this
// program; a container's first process gets SIGKILL when its pod's thread
// ends, from the kernel or, if it has changed its user, from a guard process
// that notices. So whatever way the program ends, nothing is left but files in
// Options.Dir, which the next New removes.
//
// The package never touches addresses, routes or firewall rules, and never
// changes the program's own namespaces, limits or credentials.
package sandbox

import (
	"errors"
	"log/slog"

	"github.com/writ-dev/writ/nodeagent/image"
)

// Options of a Runtime.
type Options struct {
	// Dir holds what containers write, below a directory "sandbox", so others
	// may use it too. One Runtime uses it at a time; what an earlier one left
	// is removed.
	Dir string
	// Images is where containers' images come from.
	Images *image.Store
	// Logger gets what nobody waits for; nil discards.
	Logger *slog.Logger
}

// ErrNeedsLinux is returned by everything here on other systems.
var ErrNeedsLinux = errors.New("running containers needs Linux; elsewhere writ renders, plans and applies to a cluster that runs on Linux")
