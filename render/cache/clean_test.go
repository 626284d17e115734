package cache

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestClean: what the cache wrote is removed, in every format that there was,
// and what it did not write stays, however old it is.
func TestClean(t *testing.T) {
	dir := t.TempDir()
	key := strings.Repeat("0f", 31)
	old := time.Now().Add(-100 * time.Hour)
	for _, name := range []string{"notes.txt", "ab/" + key, "cd/" + key, "cd/new-1", "cd/mine", "ef/0", "src/" + key, "new-gone"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Open(dir, "build")
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session(dir, os.DirFS(dir), nil)
	s.Remember("what", nil, []byte("that"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	packs, err := filepath.Glob(filepath.Join(dir, packPrefix+"*"))
	if err != nil || len(packs) != 1 {
		t.Fatalf("packs %v, %v", packs, err)
	}
	if err := c.Clean(); err != nil {
		t.Fatal(err)
	}
	var left []string
	err = fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			left = append(left, path)
		}
		return err
	})
	if want := []string{"cd/mine", "ef/0", "notes.txt", "src/" + key}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left are %v, %v; want %v", left, err, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "ab")); err == nil {
		t.Error("an empty directory of the old format is left")
	}
}
