package cache

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/writ-dev/writ/lang"
)

// TestTrim: what was not used for longest goes first.
func TestTrim(t *testing.T) {
	c, err := Open(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		key := c.key("yaml", lang.Program{Entry: fmt.Sprint(i)})
		c.write(key, &entry{value: make([]byte, 1000)})
		used := time.Now().Add(time.Duration(i-20) * time.Hour)
		if err := os.Chtimes(c.path(key), used, used); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Stats()
	if err != nil {
		t.Fatal(err)
	}
	c.max = s.Bytes - 1
	if err := c.trim(); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		key := c.key("yaml", lang.Program{Entry: fmt.Sprint(i)})
		if got, want := c.read(key) != nil, i >= 3; got != want {
			t.Errorf("entry %d is there: %v, want %v", i, got, want)
		}
	}
}
