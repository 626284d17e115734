package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/writ-dev/writ/cluster/object"
)

// MaxCommand is the largest encoded Command in bytes that a Proposer takes.
const MaxCommand = 8 << 20

// MaxMutations is the largest number of mutations in one Command.
const MaxMutations = 20000

// The errors of a Proposer. Test with errors.Is.
var (
	// ErrInvalidCommand means the Command is malformed; it was not proposed.
	ErrInvalidCommand = errors.New("invalid command")
	// ErrNotLeader means this replica may not propose; nothing was written.
	ErrNotLeader = errors.New("this server is not the leader")
	// ErrOutcomeUnknown means the Command may or may not be applied, now or
	// later: read before trying again.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrBusy means the queue stayed full until the context ended; nothing was
	// written.
	ErrBusy = errors.New("too many proposals are waiting")
	// ErrNoSpace means the disk has too little space left to write safely;
	// nothing was written.
	ErrNoSpace = errors.New("no space left for the log")
	// ErrClosed means the Proposer was closed; nothing was written.
	ErrClosed = errors.New("proposer is closed")
)

// Mutation is one object's part of a Command.
//
// With Object it creates or replaces, with Delete it removes (an absent object
// stays absent), with neither it only checks its precondition. At most one of
// ExpectAbsent, ExpectExists and ExpectRevision may be set; none means no
// precondition.
type Mutation struct {
	Key object.Key
	// Object is the document, its identity equal to Key. A
	// metadata.resourceVersion in it is replaced.
	Object []byte
	Delete bool
	// ExpectAbsent wants no object with that key.
	ExpectAbsent bool
	// ExpectExists wants one, of any revision.
	ExpectExists bool
	// ExpectRevision, where not 0, wants the object as written by that
	// revision.
	ExpectRevision uint64
}

// Command is one transaction: all its mutations are applied at one revision, or
// none is. No two may have the same key.
type Command struct {
	Mutations []Mutation
}

// Result is the outcome of a Command.
type Result struct {
	// Revision is the transaction's index; objects written carry it as their
	// resourceVersion.
	Revision uint64
	// Failed holds the indexes of the mutations whose precondition did not
	// hold, ascending. If there is any, nothing was written.
	Failed []int
}

// Validate reports why a Proposer would refuse c, as ErrInvalidCommand.
func (c Command) Validate() error {
	if len(c.Mutations) == 0 {
		return fmt.Errorf("%w: it has no mutations", ErrInvalidCommand)
	}
	if len(c.Mutations) > MaxMutations {
		return fmt.Errorf("%w: it has %d mutations, more than %d", ErrInvalidCommand, len(c.Mutations), MaxMutations)
	}
	size := 0
	seen := make(map[object.Key]struct{}, len(c.Mutations))
	for i, m := range c.Mutations {
		if _, dup := seen[m.Key]; dup {
			return fmt.Errorf("%w: mutation %d: %s is there twice", ErrInvalidCommand, i, m.Key)
		}
		seen[m.Key] = struct{}{}
		if size += m.size(); size > MaxCommand {
			return fmt.Errorf("%w: it has more than %d bytes", ErrInvalidCommand, MaxCommand)
		}
	}
	for i, m := range c.Mutations {
		if err := m.validate(); err != nil {
			return fmt.Errorf("%w: mutation %d: %s: %w", ErrInvalidCommand, i, m.Key, err)
		}
	}
	return nil
}

// size is an upper bound of the encoded size in bytes.
func (m Mutation) size() int {
	const lengths = 1 + 6*10
	return lengths + len(m.Key.Group) + len(m.Key.Kind) + len(m.Key.Namespace) + len(m.Key.Name) + len(m.Object)
}

func (m Mutation) validate() error {
	if err := m.check(); err != nil {
		return err
	}
	if m.Object == nil {
		return nil
	}
	_, err := stamp(m.Key, m.Object, 1)
	return err
}

// check is validate without reading the document.
func (m Mutation) check() error {
	switch {
	case m.Key.Kind == "" || m.Key.Name == "":
		return errors.New("the key needs a kind and a name")
	case strings.ContainsRune(m.Key.Group+m.Key.Kind+m.Key.Namespace+m.Key.Name, 0):
		return errors.New("the key holds a zero byte")
	case m.Delete && m.Object != nil:
		return errors.New("it both writes and deletes")
	}
	n := 0
	for _, set := range []bool{m.ExpectAbsent, m.ExpectExists, m.ExpectRevision != 0} {
		if set {
			n++
		}
	}
	switch {
	case n > 1:
		return errors.New("it has more than one precondition")
	case n == 0 && m.Object == nil && !m.Delete:
		return errors.New("it does nothing")
	}
	return nil
}

// holds reports whether m's precondition is true of the present record, nil
// when there is none.
func (m Mutation) holds(r *record) bool {
	switch {
	case m.ExpectAbsent:
		return r == nil
	case m.ExpectExists:
		return r != nil
	case m.ExpectRevision != 0:
		return r != nil && r.revision == m.ExpectRevision
	}
	return true
}
