package consensus

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/store"
)

func openIn(t *testing.T, dir string) (*Node, *store.Store, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s := store.New(store.Options{})
	n, err := Open(ctx, Options{Dir: dir, Store: s})
	return n, s, err
}

func write(name string) store.Command {
	return store.Command{Mutations: []store.Mutation{{
		Key:    object.Key{Kind: "Namespace", Name: name},
		Object: []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + name + `"}}`),
	}}}
}

func waitDone(t *testing.T, n *Node) {
	t.Helper()
	select {
	case <-n.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the node did not stop")
	}
}

// TestUnknownEntry puts an entry of a later version into the log.
func TestUnknownEntry(t *testing.T) {
	dir := t.TempDir()
	n, s, err := openIn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Propose(t.Context(), write("a")); err != nil {
		t.Fatal(err)
	}
	n.raft.Apply([]byte{77, 1, 2, 3}, 0)
	waitDone(t, n)
	if err := n.Err(); !errors.Is(err, store.ErrUnknownFormat) || !strings.Contains(err.Error(), "77") {
		t.Errorf("Err is %v, want ErrUnknownFormat naming 77", err)
	}
	before := s.View().Revision()
	if _, err := n.Propose(t.Context(), write("b")); !errors.Is(err, store.ErrUnknownFormat) {
		t.Errorf("propose after the stop: %v", err)
	}
	if s.View().Revision() != before {
		t.Error("something was applied after the stop")
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	// It stops again at every start, and never serves a state with a gap.
	for range 2 {
		n, _, err := openIn(t, dir)
		if err == nil {
			n.Close()
			t.Fatal("it was opened")
		}
		if !errors.Is(err, store.ErrUnknownFormat) || !strings.Contains(err.Error(), "log entry") {
			t.Errorf("open: %v", err)
		}
	}
}

// TestNoSnapshotAfterStop: a snapshot taken now would claim the entry that was
// not applied.
func TestNoSnapshotAfterStop(t *testing.T) {
	f := &fsm{store: store.New(store.Options{}), fail: func(error) {}}
	if _, ok := f.Apply(&raft.Log{Index: 5, Data: write("a").Encode()}).(store.Result); !ok {
		t.Fatal("a good entry was not applied")
	}
	if _, ok := f.Apply(&raft.Log{Index: 6, Data: []byte{77}}).(error); !ok {
		t.Fatal("a bad entry was applied")
	}
	if _, ok := f.Apply(&raft.Log{Index: 7, Data: write("b").Encode()}).(error); !ok {
		t.Error("an entry after the bad one was applied")
	}
	if _, err := f.Snapshot(); err == nil {
		t.Error("a snapshot was taken")
	}
	if err := f.Restore(io.NopCloser(&bytes.Buffer{})); err == nil {
		t.Error("a restore was accepted")
	}
}

func TestDamagedSnapshot(t *testing.T) {
	dir := t.TempDir()
	n, _, err := openIn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if _, err := n.Propose(t.Context(), write(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.raft.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	states, _ := filepath.Glob(filepath.Join(dir, "snapshots", "*", "state.bin"))
	if len(states) != 1 {
		t.Fatalf("%d snapshots, want 1", len(states))
	}
	b, err := os.ReadFile(states[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(states[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, _, err := openIn(t, dir); err == nil {
		n.Close()
		t.Error("a damaged snapshot was accepted")
	} else {
		t.Log(err)
	}
}

// TestFailedWrite: whatever the first failed write was, the node stops with it,
// and the next start goes on from what is on disk. TestFullDisk has a real one.
func TestFailedWrite(t *testing.T) {
	dir := t.TempDir()
	n, _, err := openIn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Propose(t.Context(), write("a")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no space left on device")
	if err := n.log.check("append to", broken); !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "KiB free") {
		t.Errorf("error %q does not name the directory and the space", err)
	}
	waitDone(t, n)
	if _, err := n.Propose(t.Context(), write("b")); !errors.Is(err, broken) {
		t.Errorf("propose after the failure: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	n, s, err := openIn(t, dir)
	if err != nil {
		t.Fatalf("open after the disk came back: %v", err)
	}
	defer n.Close()
	if s.View().Len() != 1 {
		t.Errorf("%d objects, want 1", s.View().Len())
	}
}

// TestBootstrapCutShort: a kill between the first two writes ever made.
func TestBootstrapCutShort(t *testing.T) {
	dir := t.TempDir()
	d, err := openDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := openLog(d, 1<<20, nil, raftLogger(slog.New(slog.DiscardHandler)), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.SetUint64([]byte("CurrentTerm"), 1), l.Close(), d.Close()); err != nil {
		t.Fatal(err)
	}
	n, _, err := openIn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Propose(t.Context(), write("a")); err != nil {
		t.Error(err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

// TestTransportOffersPreVote: Raft finds it by a type assertion, which a wrapper
// around the interface would break without a word.
func TestTransportOffersPreVote(t *testing.T) {
	if _, ok := any(newTransport("m")).(raft.WithPreVote); !ok {
		t.Error("the transport hides RequestPreVote")
	}
}
