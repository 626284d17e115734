package cache

import (
	"fmt"
	"testing"
)

// TestTrim: what was not used for longest goes first, and what was not used for
// very long goes in any case.
func TestTrim(t *testing.T) {
	c, err := Open(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWriter(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		e := entry{answer: make([]byte, 999)}
		if err := w.add(c.key(fmt.Sprint(i)), today()-uint32(20-i), e.encode()); err != nil {
			t.Fatal(err)
		}
	}
	old := c.key("old")
	if err := w.add(old, today()-keepUnused-1, []byte{0}); err != nil {
		t.Fatal(err)
	}
	if err := w.finish(); err != nil {
		t.Fatal(err)
	}
	there := func() (all []bool) {
		s := c.Session(t.TempDir(), nil, nil)
		defer func() {
			closeAll(s.packs)
		}()
		for i := range 10 {
			_, _, ok := s.Recall(fmt.Sprint(i))
			all = append(all, ok)
		}
		return all
	}
	if err := c.tidy(nil); err != nil {
		t.Fatal(err)
	}
	for i, ok := range there() {
		if !ok {
			t.Errorf("entry %d is gone, and there is room", i)
		}
	}
	c.max = 9_000
	if err := c.tidy(map[key]bool{c.key("0"): true}); err != nil {
		t.Fatal(err)
	}
	for i, ok := range there() {
		if want := i == 0 || i > 3; ok != want {
			t.Errorf("entry %d is there: %v, want %v", i, ok, want)
		}
	}
	s, err := c.Stats()
	if err != nil || s.Entries != 7 {
		t.Errorf("stats %+v, %v: want 7 entries", s, err)
	}
}
