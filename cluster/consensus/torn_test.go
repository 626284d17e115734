package consensus_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/writ-dev/writ/cluster/consensus"
	"github.com/writ-dev/writ/cluster/store"
	"github.com/writ-dev/writ/cluster/store/proposertest"
)

// TestTornWrite cuts the last write to the log at several places, as a power
// cut during it may: what was acknowledged before is there, the last write is
// there whole or not at all, and the log goes on.
func TestTornWrite(t *testing.T) {
	dir := t.TempDir()
	n := mustOpen(t, consensus.Options{Dir: dir, SegmentSize: 1 << 20})
	for i := range 5 {
		if _, err := n.Propose(t.Context(), put("o"+strconv.Itoa(i), padding)); err != nil {
			t.Fatal(err)
		}
	}
	segments, err := filepath.Glob(filepath.Join(dir, "wal", "*.wal"))
	if err != nil || len(segments) != 1 {
		t.Fatalf("segments %v, want one (%v)", segments, err)
	}
	before := readFile(t, segments[0])
	if _, err := n.Propose(t.Context(), put("last", padding)); err != nil {
		t.Fatal(err)
	}
	after := readFile(t, segments[0])
	mustClose(t, n)
	first, end := changed(before, after)
	if end-first < len(padding) {
		t.Fatalf("the last write changed bytes %d to %d only", first, end)
	}
	for cut := first; cut <= end; cut += (end-first)/10 + 1 {
		torn := bytes.Clone(after)
		copy(torn[cut:end], before[cut:end])
		if err := os.WriteFile(segments[0], torn, 0o600); err != nil {
			t.Fatal(err)
		}
		checkTorn(t, dir, fmt.Sprintf("cut after %d of %d bytes", cut-first, end-first))
	}
}

func checkTorn(t *testing.T, dir, what string) {
	t.Helper()
	s := store.New(store.Options{})
	n, err := open(t, consensus.Options{Dir: dir, Store: s, SegmentSize: 1 << 20})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer mustClose(t, n)
	for i := range 5 {
		if o, ok := s.View().Get(proposertest.Key("o" + strconv.Itoa(i))); !ok || proposertest.Value(o) != padding {
			t.Errorf("%s: object %d is lost", what, i)
		}
	}
	if o, ok := s.View().Get(proposertest.Key("last")); ok && proposertest.Value(o) != padding {
		t.Errorf("%s: the last write is there in part", what)
	}
	if _, err := n.Propose(t.Context(), put("next", padding)); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// changed returns the range in which a and b, of equal length, differ.
func changed(a, b []byte) (first, end int) {
	for first < len(a) && a[first] == b[first] {
		first++
	}
	for end = len(a); end > first && a[end-1] == b[end-1]; end-- {
	}
	return first, end
}

// TestCloseWhileProposing: every proposal gets an answer, and the answer is
// true after the next start.
func TestCloseWhileProposing(t *testing.T) {
	dir := t.TempDir()
	n := mustOpen(t, consensus.Options{Dir: dir})
	var wg sync.WaitGroup
	var mu sync.Mutex
	acknowledged, refused := map[string]bool{}, map[string]bool{}
	started := make(chan struct{})
	var once sync.Once
	for c := range 16 {
		wg.Go(func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("c%d-%d", c, i)
				_, err := n.Propose(t.Context(), put(name, ""))
				mu.Lock()
				acknowledged[name] = err == nil
				refused[name] = errors.Is(err, store.ErrClosed) && !errors.Is(err, store.ErrOutcomeUnknown) || errors.Is(err, store.ErrNotLeader)
				if err != nil && !refused[name] && !errors.Is(err, store.ErrOutcomeUnknown) {
					t.Errorf("propose while closing: %v", err)
				}
				mu.Unlock()
				if err != nil {
					return
				}
				if i == 10 {
					once.Do(func() { close(started) })
				}
			}
		})
	}
	<-started
	mustClose(t, n)
	wg.Wait()
	s := store.New(store.Options{})
	n = mustOpen(t, consensus.Options{Dir: dir, Store: s})
	defer mustClose(t, n)
	for name := range acknowledged {
		_, there := s.View().Get(proposertest.Key(name))
		if acknowledged[name] && !there {
			t.Errorf("%s was acknowledged but is not there", name)
		}
		if refused[name] && there {
			t.Errorf("%s was refused but is there", name)
		}
	}
}
