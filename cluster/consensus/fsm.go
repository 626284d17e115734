package consensus

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"github.com/writ-dev/writ/cluster/store"
)

// fsm feeds committed entries to the store. Like the store it uses no clock,
// randomness, network or logger.
//
// Raft gives an FSM no way to refuse an entry, so after the first that it
// cannot apply it applies nothing more and makes no snapshot: what is on disk
// stays as it is for a version that understands it.
type fsm struct {
	store *store.Store
	fail  func(error)
	// broken is why nothing is applied any more. Raft calls Apply, Snapshot and
	// Restore from one goroutine.
	broken error
}

var errStopped = errors.New("an earlier entry could not be applied")

// Apply returns a store.Result, or an error if the entry was not applied.
func (f *fsm) Apply(l *raft.Log) any {
	if f.broken != nil {
		return errStopped
	}
	result, err := f.apply(l)
	if err != nil {
		f.broken = fmt.Errorf("log entry %d: %w", l.Index, err)
		f.fail(f.broken)
		return f.broken
	}
	return result
}

func (f *fsm) apply(l *raft.Log) (store.Result, error) {
	c, err := store.Decode(l.Data)
	if err != nil {
		return store.Result{}, err
	}
	return f.store.Apply(l.Index, c)
}

// ApplyBatch makes fsm a raft.BatchingFSM.
func (f *fsm) ApplyBatch(logs []*raft.Log) []any {
	results := make([]any, len(logs))
	for i, l := range logs {
		if l.Type == raft.LogCommand {
			results[i] = f.Apply(l)
		}
	}
	return results
}

// Snapshot costs a pointer; the work is in Persist, beside further Applies.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	if f.broken != nil {
		return nil, f.broken
	}
	return snapshot{f.store.View()}, nil
}

// Restore replaces the store's state.
func (f *fsm) Restore(r io.ReadCloser) error {
	if f.broken != nil {
		return f.broken
	}
	if err := f.store.Restore(r); err != nil {
		f.broken = err
		f.fail(err)
		return err
	}
	return nil
}

type snapshot struct{ view store.Snapshot }

// Persist writes the state. The sink syncs it when closed.
func (s snapshot) Persist(sink raft.SnapshotSink) error {
	if err := s.view.Save(sink); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// Release has nothing to release.
func (snapshot) Release() {}

// discardFSM stands in while only the cluster configuration is read.
type discardFSM struct{}

func (discardFSM) Apply(*raft.Log) any                 { return nil }
func (discardFSM) Snapshot() (raft.FSMSnapshot, error) { return nil, errStopped }
func (discardFSM) Restore(io.ReadCloser) error         { return nil }
