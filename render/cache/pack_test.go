package cache

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// Packs that are written within one tick of the file system's clock are told
// apart: the youngest answer counts.
func TestTheYoungestAnswerCounts(t *testing.T) {
	dir := t.TempDir()
	c, err := Open(t.TempDir(), "build")
	if err != nil {
		t.Fatal(err)
	}
	tick := time.Now()
	for i := range 3 * maxPacks {
		s := c.Session(dir, os.DirFS(dir), nil)
		s.Remember("what", nil, fmt.Append(nil, i))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		packs, err := c.files()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range packs {
			if err := os.Chtimes(p.path, tick, tick); err != nil {
				t.Fatal(err)
			}
		}
		s = c.Session(dir, os.DirFS(dir), nil)
		if got, _, ok := s.Recall("what"); !ok || string(got) != fmt.Sprint(i) {
			t.Errorf("recalled %q, want %d", got, i)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
