// Package git brings one commit of a remote Git repository onto this machine,
// with the git program, and trusts nothing of it.
//
// A Mirror is a directory with a bare repository of only what was last fetched,
// without history, and a tree of that commit's plain files. Only changed files
// are written when the commit changes, so that caches of what was read stay
// good. What can run a program stays off: hooks, filters, submodules, helpers,
// the user's and the system's configuration, every transport but https, ssh
// and (where allowed) file. Time, bytes fetched, bytes and number of files are
// bounded. Credentials are in private files while git runs, never in arguments
// or messages.
package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// The bounds where Options have none.
const (
	DefaultTimeout  = 2 * time.Minute
	DefaultMaxFetch = 256 << 20 // bytes
	DefaultMaxTree  = 256 << 20 // bytes
	DefaultMaxFiles = 100_000
)

// Options configure a Mirror.
type Options struct {
	// Dir is the directory of the mirror, made if absent; required. One Mirror
	// uses it at a time, across processes.
	Dir string
	// AllowFile allows file URLs.
	AllowFile bool
	// Timeout bounds each of fetch, verification and writing the tree.
	Timeout time.Duration
	// MaxFetch bounds the bytes that one fetch may bring; MaxTree and MaxFiles
	// bound the files of a commit.
	MaxFetch, MaxTree int64
	MaxFiles          int
}

// Remote is what to fetch.
type Remote struct {
	// URL is https://HOST/PATH, ssh://[USER@]HOST/PATH, USER@HOST:PATH or
	// file:///PATH, without a password.
	URL string
	// Ref is a branch or a tag, a full name such as refs/heads/main, or a whole
	// commit id; empty means the remote's default branch.
	Ref         string
	Credentials Credentials
}

// Credentials are for one remote. None are needed for a public one.
type Credentials struct {
	// Username and Password are for https; a token is a password.
	Username, Password string
	// CA is PEM that https servers are verified with, instead of the system's.
	CA []byte
	// SSHKey is a private key without passphrase, KnownHosts the lines of a
	// known_hosts file, which ssh needs.
	SSHKey, KnownHosts []byte
	// Agent is the socket of an ssh agent to use instead of SSHKey.
	Agent string
}

// Commit is what a remote's ref was.
type Commit struct {
	// ID is the commit's hexadecimal id.
	ID string
	// Ref is the full name that led to it, empty where that was the id itself.
	Ref string
}

// String is "main@sha1:0123…", as the status of a source shows it.
func (c Commit) String() string {
	algorithm := "sha1:"
	if len(c.ID) == 64 {
		algorithm = "sha256:"
	}
	if c.Ref == "" {
		return algorithm + c.ID
	}
	return shortRef(c.Ref) + "@" + algorithm + c.ID
}

// Error is why a remote's commit is not here.
type Error struct {
	Reason Reason
	Err    error
}

// Error is the message.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Reason sorts errors, in the form of a condition's reason.
type Reason string

// The reasons. Of these, only Unreachable and Failed may go away by themselves.
const (
	InvalidRemote Reason = "InvalidRepository"
	Unreachable   Reason = "RepositoryUnreachable"
	RefNotFound   Reason = "RefNotFound"
	TooLarge      Reason = "RepositoryTooLarge"
	Unverified    Reason = "VerificationFailed"
	Refused       Reason = "TreeRefused"
	Failed        Reason = "GitFailed"
)

func fail(r Reason, format string, args ...any) error {
	return &Error{r, fmt.Errorf(format, args...)}
}

// ReasonOf returns the reason in an error's chain, Failed when it has none.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return Failed
}

// Mirror is an open mirror. Its methods are for one goroutine.
type Mirror struct {
	o      Options
	git    string
	unlock func()
}

// Open takes the mirror in o.Dir. Another process that has it is waited for
// until ctx ends.
func Open(ctx context.Context, o Options) (*Mirror, error) {
	if !filepath.IsAbs(o.Dir) {
		return nil, fail(Failed, "open mirror: %q is not an absolute directory", o.Dir)
	}
	o.Timeout = orDefault(o.Timeout, DefaultTimeout)
	o.MaxFetch = orDefault(o.MaxFetch, DefaultMaxFetch)
	o.MaxTree = orDefault(o.MaxTree, DefaultMaxTree)
	o.MaxFiles = orDefault(o.MaxFiles, DefaultMaxFiles)
	program, err := lookGit()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fail(Failed, "make mirror: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(o.Dir, "lock"))
	if err != nil {
		return nil, fail(Failed, "lock mirror %s: %w", o.Dir, err)
	}
	return &Mirror{o: o, git: program, unlock: unlock}, nil
}

// Close gives the mirror back.
func (m *Mirror) Close() { m.unlock() }

// Tree is where the files of the last commit checked out are.
func (m *Mirror) Tree() string { return filepath.Join(m.o.Dir, "tree") }

func (m *Mirror) objects() string { return filepath.Join(m.o.Dir, "objects.git") }

func orDefault[T ~int | ~int64](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}
