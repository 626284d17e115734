package consensus

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	walfs "github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// segmentMeta is the list of the log's segments. When it is loaded it finishes
// what a crash may have left half done: a segment is sealed by the append that
// fills it, and only then is the list told, and the next segment made. A
// process that dies in between leaves a sealed segment at the end of the list,
// on which raft-wal v0.4.0 would refuse every append for ever.
type segmentMeta struct {
	metadb.BoltMetaDB
	segmentSize int
}

// Load implements types.MetaStore.
func (m *segmentMeta) Load(dir string) (types.PersistentState, error) {
	state, err := m.BoltMetaDB.Load(dir)
	if err != nil || len(state.Segments) == 0 {
		return state, err
	}
	tail := &state.Segments[len(state.Segments)-1]
	if !tail.SealTime.IsZero() {
		return state, nil
	}
	writer, err := segment.NewFiler(dir, walfs.New()).RecoverTail(*tail)
	if errors.Is(err, fs.ErrNotExist) {
		return state, nil // raft-wal makes it
	}
	if err != nil {
		return state, fmt.Errorf("recover last segment: %w", err)
	}
	sealed, indexStart, err := writer.Sealed()
	last := writer.LastIndex()
	if err := errors.Join(err, writer.Close()); err != nil {
		return state, fmt.Errorf("recover last segment: %w", err)
	}
	if !sealed {
		return state, nil
	}
	now := time.Now()
	tail.SealTime, tail.MaxIndex, tail.IndexStart = now, last, indexStart
	state.Segments = append(state.Segments, types.SegmentInfo{
		ID: state.NextSegmentID, BaseIndex: last + 1, MinIndex: last + 1,
		SizeLimit: uint32(m.segmentSize), Codec: tail.Codec, CreateTime: now,
	})
	state.NextSegmentID++
	if err := m.CommitState(state); err != nil {
		return state, fmt.Errorf("list the segment after %d: %w", last, err)
	}
	return state, nil
}
