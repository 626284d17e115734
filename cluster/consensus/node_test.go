package consensus_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/cluster/consensus"
	"github.com/writ-dev/writ/cluster/store"
	"github.com/writ-dev/writ/cluster/store/proposertest"
)

func open(t testing.TB, o consensus.Options) (*consensus.Node, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if o.Store == nil {
		o.Store = store.New(store.Options{})
	}
	return consensus.Open(ctx, o)
}

func mustOpen(t testing.TB, o consensus.Options) *consensus.Node {
	t.Helper()
	n, err := open(t, o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func mustClose(t testing.TB, n *consensus.Node) {
	t.Helper()
	if err := n.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func put(name, value string) store.Command {
	return store.Command{Mutations: []store.Mutation{{Key: proposertest.Key(name), Object: proposertest.Document(name, value)}}}
}

func TestProposer(t *testing.T) {
	proposertest.Run(t, func(t *testing.T) (store.Proposer, *store.Store) {
		s := store.New(store.Options{})
		n := mustOpen(t, consensus.Options{Dir: t.TempDir(), Store: s})
		t.Cleanup(func() { mustClose(t, n) })
		return n, s
	})
}

func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "at", "once")
	var last uint64
	for round := range 4 {
		s := store.New(store.Options{})
		start := time.Now()
		n := mustOpen(t, consensus.Options{Dir: dir, Store: s, SnapshotEntries: 20, SnapshotInterval: 5 * time.Millisecond})
		t.Logf("round %d: open took %v", round, time.Since(start))
		if got := s.View().Len(); got != 50*round {
			t.Fatalf("round %d: %d objects after opening, want %d", round, got, 50*round)
		}
		for o := range s.View().All() {
			if proposertest.Value(o) != o.Name() {
				t.Fatalf("%s holds %q", o.Name(), proposertest.Value(o))
			}
		}
		if s.View().Revision() != last {
			t.Fatalf("round %d: at revision %d after opening, was %d", round, s.View().Revision(), last)
		}
		for i := range 50 {
			name := "o" + strconv.Itoa(50*round+i)
			r, err := n.Propose(t.Context(), put(name, name))
			if err != nil {
				t.Fatal(err)
			}
			if r.Revision <= last {
				t.Fatalf("revision went from %d to %d", last, r.Revision)
			}
			last = r.Revision
		}
		mustClose(t, n)
		if err := n.Err(); !errors.Is(err, store.ErrClosed) {
			t.Errorf("Err after Close: %v", err)
		}
		if _, err := n.Propose(t.Context(), put("late", "")); !errors.Is(err, store.ErrClosed) {
			t.Errorf("propose after Close: %v, want ErrClosed", err)
		}
	}
	if kept, _ := filepath.Glob(filepath.Join(dir, "snapshots", "*")); len(kept) == 0 {
		t.Error("no snapshot was taken, so none was restored")
	}
}

func TestSecondOpen(t *testing.T) {
	dir := t.TempDir()
	n := mustOpen(t, consensus.Options{Dir: dir})
	defer mustClose(t, n)
	_, err := open(t, consensus.Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "in use by another server") {
		t.Errorf("error %v, want one that names %s and says it is in use", err, dir)
	}
	if _, err := n.Propose(t.Context(), put("a", "1")); err != nil {
		t.Errorf("the first was disturbed: %v", err)
	}
}

func TestOtherDirectories(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(dir string) error
		want  []string
	}{
		"newer version": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "version"), []byte("writ data 9\n"), 0o600)
		}, []string{"version 9", "version 1", "run the writ that wrote it"}},
		"something else": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "version"), []byte("etcd 3"), 0o600)
		}, []string{`"etcd 3"`, "no data directory of writ"}},
		"no version": {func(dir string) error { return os.Remove(filepath.Join(dir, "version")) },
			[]string{"no version file"}},
		"no member": {func(dir string) error { return os.Remove(filepath.Join(dir, "member")) },
			[]string{"no member file"}},
		"empty member": {func(dir string) error { return os.Truncate(filepath.Join(dir, "member"), 0) },
			[]string{"member", "empty"}},
		"no log": {func(dir string) error {
			segments, _ := filepath.Glob(filepath.Join(dir, "wal", "*.wal"))
			for _, s := range segments {
				if err := os.Remove(s); err != nil {
					return err
				}
			}
			return nil
		}, []string{"log is gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			n := mustOpen(t, consensus.Options{Dir: dir})
			if _, err := n.Propose(t.Context(), put("a", "1")); err != nil {
				t.Fatal(err)
			}
			mustClose(t, n)
			if err := test.spoil(dir); err != nil {
				t.Fatal(err)
			}
			n, err := open(t, consensus.Options{Dir: dir})
			if err == nil {
				mustClose(t, n)
				t.Fatal("it was opened")
			}
			for _, want := range append(test.want, dir) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
}

func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	s := store.New(store.Options{})
	n := mustOpen(t, consensus.Options{Dir: dir, Store: s, MinFree: 1 << 62})
	defer mustClose(t, n)
	_, err := n.Propose(t.Context(), put("a", "1"))
	if !errors.Is(err, store.ErrNoSpace) || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v, want ErrNoSpace naming %s", err, dir)
	}
	if n.Err() != nil || s.View().Len() != 0 {
		t.Errorf("the node stopped (%v) or wrote", n.Err())
	}
}

func TestContextWhileProposing(t *testing.T) {
	s := store.New(store.Options{})
	n := mustOpen(t, consensus.Options{Dir: t.TempDir(), Store: s, MaxWaiting: 4})
	defer mustClose(t, n)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*20*time.Microsecond)
			defer cancel()
			name := "o" + strconv.Itoa(i)
			_, err := n.Propose(ctx, put(name, name))
			switch {
			case err == nil:
				if _, ok := s.View().Get(proposertest.Key(name)); !ok {
					t.Errorf("%s was acknowledged but is not there", name)
				}
			case !errors.Is(err, context.DeadlineExceeded):
				t.Errorf("error %v, want the deadline", err)
			}
		})
	}
	wg.Wait()
	// What was given up came through or did not; the queue is free again.
	if err := n.Barrier(t.Context()); err != nil {
		t.Error(err)
	}
}
