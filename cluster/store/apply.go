package store

import (
	"fmt"

	"github.com/writ-dev/writ/cluster/object"
)

// Apply applies c as the transaction at index, which must be greater than all
// before. An error means that c is malformed or out of order: nothing changed,
// and since every Proposer validates first, the log itself is broken and the
// caller must stop.
func (s *Store) Apply(index uint64, c Command) (Result, error) {
	old := s.state.Load()
	if index <= old.revision {
		return Result{}, fmt.Errorf("apply transaction %d: the store is already at %d", index, old.revision)
	}
	result := Result{Revision: index}
	before := make([]*record, len(c.Mutations))
	for i, m := range c.Mutations {
		if err := m.check(); err != nil {
			return Result{}, fmt.Errorf("apply transaction %d: %s: %w", index, m.Key, err)
		}
		before[i], _ = old.tree.Get(treeKey(m.Key))
		if !m.holds(before[i]) {
			result.Failed = append(result.Failed, i)
		}
	}
	if len(result.Failed) > 0 {
		s.publish(&state{tree: old.tree, revision: index}, nil)
		return result, nil
	}
	next, events, err := transact(old, index, c, before)
	if err != nil {
		return Result{}, fmt.Errorf("apply transaction %d: %w", index, err)
	}
	s.publish(next, events)
	return result, nil
}

// transact returns the state after c, whose preconditions hold, and its events
// in the order of the mutations.
func transact(old *state, index uint64, c Command, before []*record) (*state, []Event, error) {
	txn := old.tree.Txn()
	var events []Event
	for i, m := range c.Mutations {
		var previous object.Object
		if before[i] != nil {
			previous = before[i].object
		}
		switch {
		case m.Delete:
			if before[i] == nil {
				continue
			}
			last, err := stamp(m.Key, previous.JSON(), index)
			if err != nil {
				return nil, nil, err
			}
			txn.Delete(treeKey(m.Key))
			events = append(events, Event{Type: Deleted, Key: m.Key, Object: last, Previous: previous, Revision: index})
		case m.Object != nil:
			o, err := stamp(m.Key, m.Object, index)
			if err != nil {
				return nil, nil, err
			}
			txn.Insert(treeKey(m.Key), &record{key: m.Key, object: o, revision: index})
			e := Event{Type: Modified, Key: m.Key, Object: o, Previous: previous, Revision: index}
			if before[i] == nil {
				e.Type = Added
			}
			events = append(events, e)
		}
	}
	return &state{tree: txn.CommitOnly(), revision: index}, events, nil
}

// publish makes next the newest state and wakes the watchers it concerns.
func (s *Store) publish(next *state, events []Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Store(next)
	if len(events) > 0 {
		s.history.append(next.revision, events)
	}
	for _, w := range s.watchers {
		w.wakeFor(events)
	}
}
