package store_test

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/store"
)

func pod(name string) object.Key { return object.Key{Kind: "Pod", Namespace: "default", Name: name} }
func grant(name string) object.Key {
	return object.Key{Group: "writ.dev", Kind: "Grant", Namespace: "default", Name: name}
}

// put writes one object at the next revision and returns that.
func put(t testing.TB, s *store.Store, k object.Key) uint64 {
	t.Helper()
	return apply(t, s, store.Mutation{Key: k, Object: document(k, "")})
}

func apply(t testing.TB, s *store.Store, m ...store.Mutation) uint64 {
	t.Helper()
	r, err := s.Apply(s.View().Revision()+1, store.Command{Mutations: m})
	if err != nil || len(r.Failed) > 0 {
		t.Fatalf("apply: %v %v", r, err)
	}
	return r.Revision
}

// next returns the next event, or one without a type when the watch has ended.
func next(t testing.TB, events <-chan store.Event) store.Event {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("no event within 10 s")
		return store.Event{}
	}
}

// line is an event for comparison.
func line(e store.Event) string {
	if e.Type == store.Bookmark {
		return "BOOKMARK " + strconv.FormatUint(e.Revision, 10)
	}
	return string(e.Type) + " " + e.Key.String() + " " + e.Object.Meta().ResourceVersion
}

func expect(t testing.TB, events <-chan store.Event, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := line(next(t, events)); got != w {
			t.Fatalf("event %q, want %q", got, w)
		}
	}
}

func mustWatch(t testing.TB, s *store.Store, from uint64, selectors ...store.Selector) <-chan store.Event {
	t.Helper()
	events, err := s.WatchAll(t.Context(), selectors, from)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

var (
	pods   = store.Selector{Kind: "Pod"}
	grants = store.Selector{Group: "writ.dev", Kind: "Grant"}
)

func TestWatchFromPresent(t *testing.T) {
	s := store.New(store.Options{})
	put(t, s, pod("b"))
	put(t, s, pod("a"))
	put(t, s, grant("g"))
	events := mustWatch(t, s, 0, pods)
	expect(t, events, "ADDED Pod default/a 2", "ADDED Pod default/b 1", "BOOKMARK 3")
	put(t, s, pod("a"))
	expect(t, events, "MODIFIED Pod default/a 4")
	apply(t, s, store.Mutation{Key: pod("a"), Delete: true})
	deleted := next(t, events)
	if got, want := line(deleted), "DELETED Pod default/a 5"; got != want {
		t.Errorf("event %q, want %q", got, want)
	}
	if got := deleted.Previous.Meta().ResourceVersion; got != "4" {
		t.Errorf("previous state is of revision %s, want 4", got)
	}
}

// TestWatchSharesObjects: one encoding and one decoded form for all.
func TestWatchSharesObjects(t *testing.T) {
	s := store.New(store.Options{})
	first, second := mustWatch(t, s, 0, pods), mustWatch(t, s, 0, pods)
	expect(t, first, "BOOKMARK 0")
	expect(t, second, "BOOKMARK 0")
	put(t, s, pod("a"))
	read, _ := s.View().Get(pod("a"))
	for _, events := range []<-chan store.Event{first, second} {
		if e := next(t, events); e.Object != read {
			t.Error("a watcher got another object than the reader")
		}
	}
}

// TestWatchOrder: two kinds in one stream come in the order of transactions,
// and within one in the order of its mutations.
func TestWatchOrder(t *testing.T) {
	s := store.New(store.Options{})
	start := put(t, s, pod("old"))
	events := mustWatch(t, s, start, pods, grants)
	put(t, s, grant("g1"))
	apply(t, s,
		store.Mutation{Key: grant("g2"), Object: document(grant("g2"), "")},
		store.Mutation{Key: pod("p"), Object: document(pod("p"), "")})
	var got []string
	for len(got) < 3 {
		if e := next(t, events); e.Type != store.Bookmark {
			got = append(got, line(e))
		}
	}
	want := []string{"ADDED Grant.writ.dev default/g1 2", "ADDED Grant.writ.dev default/g2 3", "ADDED Pod default/p 3"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestBookmarks: a watch whose kind does not change learns at once how far the
// store has come, also by a transaction that was refused.
func TestBookmarks(t *testing.T) {
	s := store.New(store.Options{BookmarkInterval: time.Hour})
	events := mustWatch(t, s, put(t, s, pod("a")), grants)
	put(t, s, pod("b"))
	expect(t, events, "BOOKMARK 2") // at once, though the interval is an hour

	s = store.New(store.Options{BookmarkInterval: time.Millisecond})
	events = mustWatch(t, s, put(t, s, pod("a")), grants)
	if _, err := s.Apply(2, store.Command{Mutations: []store.Mutation{{Key: pod("a"), ExpectAbsent: true}}}); err != nil {
		t.Fatal(err)
	}
	expect(t, events, "BOOKMARK 2")
	last := uint64(0)
	for range 100 {
		last = put(t, s, pod("b"))
	}
	for e := next(t, events); e.Revision < last; e = next(t, events) {
		if e.Type != store.Bookmark {
			t.Fatalf("event %q", line(e))
		}
	}
}

func TestWatchRefusals(t *testing.T) {
	s := store.New(store.Options{HistoryEvents: 3})
	for range 10 {
		put(t, s, pod("a"))
	}
	for _, test := range []struct {
		from uint64
		want error
	}{
		{1, store.ErrCompacted}, {6, store.ErrCompacted}, {7, nil}, {10, nil}, {11, store.ErrFuture}, {1 << 63, store.ErrFuture},
	} {
		if _, err := s.Watch(t.Context(), "", "Pod", "", test.from); !errors.Is(err, test.want) {
			t.Errorf("watch from %d: %v, want %v", test.from, err, test.want)
		}
	}
	expect(t, mustWatch(t, s, 7, pods), "MODIFIED Pod default/a 8", "MODIFIED Pod default/a 9", "MODIFIED Pod default/a 10")
}

// TestHistoryBytes: the bound in bytes counts too, but the newest transaction
// is kept however large.
func TestHistoryBytes(t *testing.T) {
	s := store.New(store.Options{HistoryBytes: 1})
	put(t, s, pod("a"))
	put(t, s, pod("a"))
	expect(t, mustWatch(t, s, 1, pods), "MODIFIED Pod default/a 2")
	put(t, s, pod("a"))
	if _, err := s.Watch(t.Context(), "", "Pod", "", 1); !errors.Is(err, store.ErrCompacted) {
		t.Errorf("watch from 1: %v, want ErrCompacted", err)
	}
}

// TestSlowWatcher: one that does not read is closed; it holds up neither Apply
// nor others, and what it did get has no gap.
func TestSlowWatcher(t *testing.T) {
	s := store.New(store.Options{HistoryEvents: 50})
	slow, fast := mustWatch(t, s, 0, pods), mustWatch(t, s, 0, pods)
	expect(t, slow, "BOOKMARK 0")
	expect(t, fast, "BOOKMARK 0")
	last := put(t, s, pod("a"))
	if e := next(t, slow); e.Revision != last {
		t.Fatalf("slow watcher got %q at %d", line(e), last)
	}
	if e := next(t, fast); e.Revision != last {
		t.Fatalf("fast watcher got %q at %d", line(e), last)
	}
	for range 1000 {
		r := put(t, s, pod("a"))
		if e := next(t, fast); e.Revision != r {
			t.Fatalf("fast watcher got %q at %d", line(e), r)
		}
	}
	for e := range slow {
		if e.Revision != last+1 {
			t.Fatalf("slow watcher jumped from %d to %d", last, e.Revision)
		}
		last = e.Revision
	}
	if last >= 1000 {
		t.Errorf("slow watcher came to %d", last)
	}
}

func TestWatchEndsWithContext(t *testing.T) {
	s := store.New(store.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	events, err := s.Watch(ctx, "", "Pod", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, events, "BOOKMARK 0")
	cancel()
	if e := next(t, events); e.Type != "" {
		t.Errorf("event %q after the end", line(e))
	}
}

// TestWatchEndsWithRestore: the events between the two states are unknown.
func TestWatchEndsWithRestore(t *testing.T) {
	_, b := saved(t)
	s := store.New(store.Options{})
	events := mustWatch(t, s, 0, pods)
	expect(t, events, "BOOKMARK 0")
	if err := s.Restore(bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	if e := next(t, events); e.Type != "" {
		t.Errorf("event %q after the restore", line(e))
	}
	if _, err := s.Watch(t.Context(), "", "Pod", "", 1); !errors.Is(err, store.ErrCompacted) {
		t.Errorf("watch from before the restore: %v, want ErrCompacted", err)
	}
	put(t, s, pod("new"))
	if _, err := s.Watch(t.Context(), "", "Pod", "", s.View().Revision()-1); err != nil {
		t.Errorf("watch from the restore: %v", err)
	}
}

// TestConcurrent has writers, readers and watchers at once, for the race
// detector; every watcher must arrive at the final state.
func TestConcurrent(t *testing.T) {
	s := store.New(store.Options{HistoryEvents: 1 << 20})
	p := store.Local(s)
	const writers, each = 4, 200
	var done, readers sync.WaitGroup
	stop := make(chan struct{})
	watched := make([]map[object.Key]string, 8)
	for i := range watched {
		events := mustWatch(t, s, 0, pods)
		watched[i] = map[object.Key]string{}
		readers.Go(func() {
			for e := range events {
				switch e.Type {
				case store.Deleted:
					delete(watched[i], e.Key)
				case store.Added, store.Modified:
					watched[i][e.Key] = string(e.Object.JSON())
				}
				if e.Key == pod("last") {
					return
				}
			}
			t.Error("a watch ended early")
		})
	}
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			v := s.View()
			for o := range v.List("", "Pod", "") {
				if revisionOf(t, o) > v.Revision() {
					t.Errorf("%s is newer than its snapshot", o.Key())
				}
			}
		}
	})
	for w := range writers {
		done.Go(func() {
			for i := range each {
				k := pod("w" + strconv.Itoa(w) + "-" + strconv.Itoa(i%7))
				m := store.Mutation{Key: k, Object: document(k, strconv.Itoa(i))}
				if i%5 == 0 {
					m = store.Mutation{Key: k, Delete: true}
				}
				if _, err := p.Propose(t.Context(), store.Command{Mutations: []store.Mutation{m}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	put(t, s, pod("last"))
	close(stop)
	readers.Wait()
	want := documents(s.View())
	for i := range watched {
		if d := cmp.Diff(want, watched[i]); d != "" {
			t.Errorf("watcher %d (-want +got):\n%s", i, d)
		}
	}
}

func TestApplyRefusesOldIndex(t *testing.T) {
	s := store.New(store.Options{})
	put(t, s, pod("a"))
	if _, err := s.Apply(1, store.Command{Mutations: []store.Mutation{{Key: pod("a"), Delete: true}}}); err == nil {
		t.Error("index 1 was applied twice")
	}
	if _, ok := s.View().Get(pod("a")); !ok {
		t.Error("the refused transaction changed the store")
	}
}
