package consensus_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/cluster/consensus"
	"github.com/writ-dev/writ/cluster/seal"
	"github.com/writ-dev/writ/cluster/store"
	"github.com/writ-dev/writ/cluster/store/proposertest"
)

// holders returns the files below dir that hold text.
func holders(t testing.TB, dir, text string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const plaintext = "correct-horse-battery-staple"

// sealedNode is a member that seals with the keys of a file.
type sealedNode struct {
	*consensus.Node
	store *store.Store
	keys  *seal.Ring
}

func openSealed(t testing.TB, dir, keyFile string) sealedNode {
	t.Helper()
	keys, err := seal.OpenOrCreateFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	s := store.New(store.Options{})
	return sealedNode{mustOpen(t, consensus.Options{Dir: dir, Store: s, Keys: keys, SnapshotEntries: 20, SnapshotInterval: 5 * time.Millisecond}), s, keys}
}

func (n sealedNode) write(t testing.TB, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if _, err := n.Propose(t.Context(), put("o"+strconv.Itoa(i), plaintext+strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
}

func (n sealedNode) verify(t testing.TB, want int) {
	t.Helper()
	if got := n.store.View().Len(); got != want {
		t.Fatalf("%d objects, want %d", got, want)
	}
	for o := range n.store.View().All() {
		if !strings.HasPrefix(proposertest.Value(o), plaintext) {
			t.Fatalf("%s holds %q", o.Name(), proposertest.Value(o))
		}
	}
}

// TestSealed: nothing that was proposed can be read on disk, whether in the log
// or in snapshots, and all of it is there again after a restart.
func TestSealed(t *testing.T) {
	dir, keyFile := t.TempDir(), filepath.Join(t.TempDir(), "keys")
	for round := range 3 {
		n := openSealed(t, dir, keyFile)
		n.verify(t, 50*round)
		if !n.Sealed() {
			t.Error("it does not know that it is sealed")
		}
		n.write(t, 50*round, 50*round+50)
		mustClose(t, n.Node)
		if files := holders(t, dir, plaintext); len(files) > 0 {
			t.Fatalf("the plain text is in %v", files)
		}
	}
	if kept, _ := filepath.Glob(filepath.Join(dir, "snapshots", "*")); len(kept) == 0 {
		t.Error("no snapshot was taken")
	}
	if n, err := open(t, consensus.Options{Dir: dir}); err == nil {
		mustClose(t, n)
		t.Error("opened without keys")
	} else if !strings.Contains(err.Error(), "give its key file") {
		t.Error(err)
	}
	other, err := seal.OpenOrCreateFile(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := open(t, consensus.Options{Dir: dir, Keys: other}); err == nil {
		mustClose(t, n)
		t.Error("opened with another key")
	}
}

// TestReseal: a directory that was written without keys, and one whose key was
// rotated, hold nothing after resealing that the keys before could open, while
// others go on writing.
func TestReseal(t *testing.T) {
	dir, keyFile := t.TempDir(), filepath.Join(t.TempDir(), "keys")
	s := store.New(store.Options{})
	plain := sealedNode{mustOpen(t, consensus.Options{Dir: dir, Store: s}), s, nil}
	plain.write(t, 0, 30)
	mustClose(t, plain.Node)
	if len(holders(t, dir, plaintext)) == 0 {
		t.Fatal("without keys nothing is readable: the test cannot fail")
	}

	n := openSealed(t, dir, keyFile)
	n.verify(t, 30)
	if n.Sealed() {
		t.Error("it takes what was not sealed for sealed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	reseal := func(n sealedNode, from int) {
		t.Helper()
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() { n.write(t, from+25*w, from+25*w+25) })
		}
		if err := n.Reseal(ctx); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if !n.Sealed() {
			t.Error("it does not know that it is sealed")
		}
	}
	reseal(n, 30)
	if files := holders(t, dir, plaintext); len(files) > 0 {
		t.Fatalf("resealed, but the plain text is in %v", files)
	}

	if _, err := seal.Rotate(keyFile); err != nil {
		t.Fatal(err)
	}
	if changed, err := n.keys.Reload(keyFile); err != nil || !changed {
		t.Fatal(changed, err)
	}
	reseal(n, 130)
	mustClose(t, n.Node)
	if count, err := seal.Prune(keyFile); err != nil || count != 1 {
		t.Fatal(count, err)
	}
	n = openSealed(t, dir, keyFile)
	n.verify(t, 230)
	if files := holders(t, dir, plaintext); len(files) > 0 {
		t.Fatalf("rotated, but the plain text is in %v", files)
	}
	n.write(t, 230, 240)
	mustClose(t, n.Node)
}
