package consensus

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"github.com/hashicorp/raft-wal/types"
)

// TestCrashBetweenSegments builds the directory that a process leaves when it
// dies after its last append sealed a segment, before the next was listed.
func TestCrashBetweenSegments(t *testing.T) {
	dir, err := openDirectory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	open := func() *logStore {
		t.Helper()
		l, err := openLog(dir, 64<<10, nil, hclog.NewNullLogger(), func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := open()
	path := filepath.Join(dir.path, "wal")
	index := uint64(0)
	for segments(t, path) < 2 {
		index++
		if err := l.StoreLog(&raft.Log{Index: index, Term: 1, Data: make([]byte, 5000)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	index = forgetRotation(t, path)

	l = open()
	for range 20 {
		index++
		if err := l.StoreLog(&raft.Log{Index: index, Term: 1, Data: make([]byte, 5000)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open()
	defer l.Close()
	for i := uint64(1); i <= index; i++ {
		var got raft.Log
		if err := l.GetLog(i, &got); err != nil || got.Index != i || len(got.Data) != 5000 {
			t.Fatalf("entry %d is %d with %d bytes, %v", i, got.Index, len(got.Data), err)
		}
	}
}

func segments(t *testing.T, path string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(path, "*.wal"))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// forgetRotation takes the log back to before the next segment was listed and
// returns its last index.
func forgetRotation(t *testing.T, path string) uint64 {
	t.Helper()
	meta := &segmentMeta{}
	state, err := meta.BoltMetaDB.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	n := len(state.Segments)
	if n < 2 || state.Segments[n-2].SealTime.IsZero() {
		t.Fatalf("the log has %d segments", n)
	}
	state.Segments = append([]types.SegmentInfo(nil), state.Segments[:n-1]...)
	tail := &state.Segments[n-2]
	last := tail.MaxIndex
	tail.SealTime, tail.MaxIndex, tail.IndexStart = time.Time{}, 0, 0
	if err := meta.CommitState(state); err != nil {
		t.Fatal(err)
	}
	if err := meta.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(path, "*.wal"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(files[len(files)-1]); err != nil {
		t.Fatal(err)
	}
	return last
}
