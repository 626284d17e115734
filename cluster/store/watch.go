package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/writ-dev/writ/cluster/object"
)

// EventType is the kind of an Event, as in metav1.WatchEvent.
type EventType string

// The event types.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	Bookmark EventType = "BOOKMARK"
)

// Event is one change of one object, or a Bookmark.
type Event struct {
	Type EventType
	Key  object.Key
	// Object is the new state; for Deleted the last state with the revision of
	// the deletion; for Bookmark zero.
	Object object.Object
	// Previous is the state before, zero for Added. With it a selector can tell
	// an object that begins or ceases to match.
	Previous object.Object
	// Revision is the transaction's. For Bookmark: all events up to and with
	// this revision have been sent.
	Revision uint64
}

// Selector picks the objects of one kind; an empty Namespace means all.
type Selector struct {
	Group, Kind, Namespace string
}

func (s Selector) matches(k object.Key) bool {
	return s.Kind == k.Kind && s.Group == k.Group && (s.Namespace == "" || s.Namespace == k.Namespace)
}

// The errors of Watch.
var (
	// ErrCompacted means that the history no longer reaches back to the
	// revision asked for: list again, and watch from there.
	ErrCompacted = errors.New("revision is compacted")
	// ErrFuture means that the store has not come to the revision asked for.
	ErrFuture = errors.New("revision is in the future")
)

// watchBuffer is how many events wait in a watch's channel, and watchBatch how
// many transactions a watcher takes from the history at once. Together they
// bound what a stuck watcher holds.
const (
	watchBuffer = 64
	watchBatch  = 64
)

// Watch sends the changes of one kind after revision from; see WatchAll.
func (s *Store) Watch(ctx context.Context, group, kind, namespace string, from uint64) (<-chan Event, error) {
	return s.WatchAll(ctx, []Selector{{group, kind, namespace}}, from)
}

// WatchAll sends the changes of several kinds after revision from in the one
// order in which they were applied. With from 0 it first sends the present
// objects as Added, each with its own revision, and then a Bookmark.
//
// The channel is closed when ctx ends, when the watcher falls behind the
// history, or when the store is restored from a snapshot. In the last two
// cases watch again from the last revision seen, which may be ErrCompacted.
func (s *Store) WatchAll(ctx context.Context, selectors []Selector, from uint64) (<-chan Event, error) {
	w := &watcher{
		store:     s,
		selectors: slices.Clone(selectors),
		events:    make(chan Event, watchBuffer),
		wake:      make(chan struct{}, 1),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.state.Load()
	switch {
	case from == 0:
		w.initial = Snapshot{now}
		w.next, w.sent = s.history.end(), now.revision
	case from > now.revision:
		return nil, fmt.Errorf("watch from %d: %w: the store is at %d", from, ErrFuture, now.revision)
	case from < s.history.compacted:
		return nil, fmt.Errorf("watch from %d: %w: the history begins after %d", from, ErrCompacted, s.history.compacted)
	default:
		w.next, w.sent = s.history.after(from), from
	}
	w.epoch = s.epoch
	s.watchers = append(s.watchers, w)
	go w.run(ctx)
	return w.events, nil
}

// watcher is one WatchAll. Its goroutine ends with its context, so the caller
// that ends the context is the one that stops it.
type watcher struct {
	store     *Store
	selectors []Selector
	events    chan Event
	// wake holds a token when there may be something to send.
	wake chan struct{}
	// idle is set while a revision without events for this watcher should wake
	// it too, that is while a Bookmark may be sent.
	idle atomic.Bool

	// The goroutine's own.
	initial Snapshot // sent first, if any
	next    uint64   // sequence number of the next transaction to look at
	sent    uint64   // the revision that the receiver knows of
	epoch   uint64
}

// wakeFor is called with store.mu held.
func (w *watcher) wakeFor(events []Event) {
	if !w.idle.Load() && !slices.ContainsFunc(events, func(e Event) bool { return w.matches(e.Key) }) {
		return
	}
	w.wakeUp()
}

func (w *watcher) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watcher) matches(k object.Key) bool {
	for i := range w.selectors {
		if w.selectors[i].matches(k) {
			return true
		}
	}
	return false
}

func (w *watcher) run(ctx context.Context) {
	defer close(w.events)
	defer w.store.forget(w)
	if w.initial.state != nil {
		if !w.sendInitial(ctx) {
			return
		}
	}
	pause := time.NewTimer(0)
	defer pause.Stop()
	<-pause.C
	quiet := true // no Bookmark within the last interval
	for {
		w.idle.Store(quiet)
		batch, revision, ok := w.store.take(w)
		if !ok || !w.sendBatch(ctx, batch) {
			return
		}
		if len(batch) == watchBatch {
			continue
		}
		if quiet && revision > w.sent {
			if !w.send(ctx, Event{Type: Bookmark, Revision: revision}) {
				return
			}
			quiet = false
			pause.Reset(w.store.options.BookmarkInterval)
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-pause.C:
			quiet = true
		}
	}
}

func (w *watcher) sendInitial(ctx context.Context) bool {
	snapshot := w.initial
	w.initial = Snapshot{}
	for _, s := range w.selectors {
		for r := range snapshot.records(treePrefix(s)) {
			if !w.send(ctx, Event{Type: Added, Key: r.key, Object: r.object, Revision: r.revision}) {
				return false
			}
		}
	}
	return w.send(ctx, Event{Type: Bookmark, Revision: snapshot.Revision()})
}

func (w *watcher) sendBatch(ctx context.Context, batch []transaction) bool {
	for _, t := range batch {
		for _, e := range t.events {
			if w.matches(e.Key) && !w.send(ctx, e) {
				return false
			}
		}
	}
	return true
}

func (w *watcher) send(ctx context.Context, e Event) bool {
	select {
	case w.events <- e:
		w.sent = max(w.sent, e.Revision)
		return true
	case <-ctx.Done():
		return false
	}
}

// take returns the transactions that w has not looked at, at most watchBatch,
// and the store's revision. It is not ok when w must be closed.
func (s *Store) take(w *watcher) (batch []transaction, revision uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.epoch != s.epoch || w.next < s.history.first {
		return nil, 0, false
	}
	batch = s.history.from(w.next, watchBatch)
	w.next += uint64(len(batch))
	return batch, s.state.Load().revision, true
}

func (s *Store) forget(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.watchers, w); i >= 0 {
		last := len(s.watchers) - 1
		s.watchers[i] = s.watchers[last]
		s.watchers[last] = nil
		s.watchers = s.watchers[:last]
	}
}
