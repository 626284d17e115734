// Package store is the cluster's state: a versioned, immutable tree of API
// objects held in memory. It is what every replica computes from the same log.
//
// One Apply is one transaction at one revision, the index of its log entry.
// The preconditions of all mutations are judged against the state before the
// transaction; if any does not hold, nothing is written. Apply is
// deterministic: it reads no clock, no randomness, no network and no map in
// iteration order, and it logs nothing.
//
// A Snapshot is a pointer, so taking one costs nothing and never holds up
// writers. Objects carry metadata.resourceVersion, put into the JSON once when
// the transaction is applied; all readers and watchers share one
// object.Object, hence one encoding and one decoded form.
//
// A watch reads a bounded history of transactions. Apply never waits for
// watchers: one that falls behind the history is closed. When transactions
// hold nothing for a watcher it is sent a Bookmark instead, at once when the
// store is quiet and at least every Options.BookmarkInterval when it is busy,
// so it knows how far it has come. The clock is read for that pacing only, in
// the watcher's goroutine.
//
//	s := store.New(store.Options{})
//	p := store.Local(s)
//	r, err := p.Propose(ctx, store.Command{Mutations: []store.Mutation{{Key: k, Object: b, ExpectAbsent: true}}})
//	for o := range s.View().List("apps", "Deployment", "default") { … }
//
// The store never writes to disk (Save and Restore stream to and from the
// caller) and never decides what an object may look like: cluster/registry is
// the one door to it.
package store

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"
)

// Options bound a Store. The zero value is useful.
type Options struct {
	// HistoryEvents and HistoryBytes bound the history that watches can start
	// from. Defaults: 65536 events, 64 MiB of JSON.
	HistoryEvents int
	HistoryBytes  int
	// BookmarkInterval is the shortest time between two Bookmarks of one
	// watch; the first after a quiet time is sent at once. Default 10 ms.
	BookmarkInterval time.Duration
}

// Store holds the state of one replica. Its methods may be called from any
// goroutine, except that Apply and Restore belong to the one goroutine that
// reads the log.
type Store struct {
	options Options
	// state is the newest snapshot. It is replaced with mu held, so that it
	// agrees with history, and read without.
	state atomic.Pointer[state]

	mu       sync.Mutex
	history  history
	watchers []*watcher // order is of no meaning
	epoch    uint64     // counts Restores; a watch does not outlive its epoch
}

// New returns an empty Store at revision 0.
func New(o Options) *Store {
	o.HistoryEvents = cmp.Or(o.HistoryEvents, 65536)
	o.HistoryBytes = cmp.Or(o.HistoryBytes, 64<<20)
	o.BookmarkInterval = cmp.Or(o.BookmarkInterval, 10*time.Millisecond)
	s := &Store{options: o, history: newHistory(o)}
	s.state.Store(emptyState())
	return s
}

// View returns the newest state. It costs a pointer load.
func (s *Store) View() Snapshot { return Snapshot{s.state.Load()} }
