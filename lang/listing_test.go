package lang_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/writ-dev/writ/lang"
)

// opens counts what is opened of a directory tree.
type opens struct {
	fs.FS
	n *int
}

func (o opens) Open(name string) (fs.File, error) {
	*o.n++
	return o.FS.Open(name)
}

func (o opens) Stat(name string) (fs.FileInfo, error)  { return fs.Stat(o.FS, name) }
func (o opens) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(o.FS, name) }
func (o opens) ReadLink(name string) (string, error)   { return fs.ReadLink(o.FS, name) }

func TestListings(t *testing.T) {
	dir := t.TempDir()
	touch := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	touch("a.cue")
	n := 0
	var l lang.Listings
	expect := func(what string, opened int, names ...string) {
		t.Helper()
		before := n
		r := lang.NewReader(lang.Program{FS: opens{os.DirFS(dir), &n}})
		r.Remember(&l)
		got, err := r.ReadNames(".", ".cue")
		if err != nil || !slices.Equal(got, names) {
			t.Errorf("%s: %v, %v, want %v", what, got, err, names)
		}
		if n-before != opened {
			t.Errorf("%s: opened %d times, want %d", what, n-before, opened)
		}
	}
	// What is new may change within one step of the clock.
	expect("new", 1, "a.cue")
	expect("still new", 1, "a.cue")
	time.Sleep(3 * time.Second)
	expect("settled", 1, "a.cue")
	expect("known", 0, "a.cue")
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	touch("b.cue")
	// Anyone can set this time; the other cannot be set.
	if err := os.Chtimes(dir, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	expect("a file more", 1, "a.cue", "b.cue")
	expect("a file more, again", 1, "a.cue", "b.cue")
}
