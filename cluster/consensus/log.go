package consensus

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/types"

	"github.com/writ-dev/writ/cluster/seal"
)

// logStore is the write-ahead log, for entries and for Raft's few variables.
// After a failed write raft-wal's memory and its file may differ, so the first
// failure stops the Node: the next start reads what really is on disk.
type logStore struct {
	*wal.WAL
	dir  *directory
	meta *segmentMeta
	keys *seal.Ring // nil writes entries as they are
	fail func(error)
}

func openLog(dir *directory, segmentSize int, keys *seal.Ring, logger hclog.Logger, fail func(error)) (*logStore, error) {
	path := filepath.Join(dir.path, "wal")
	if err := makeDir(path); err != nil {
		return nil, err
	}
	// raft-wal's Close leaves the meta database it opens itself open and
	// locked, so it is given one that can be closed here.
	meta := &segmentMeta{segmentSize: segmentSize}
	w, err := wal.Open(path, wal.WithMetaStore(meta), wal.WithSegmentSize(segmentSize), wal.WithLogger(logger.Named("wal")))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open log %s: %w", path, err), closeMeta(meta))
	}
	return &logStore{WAL: w, dir: dir, meta: meta, keys: keys, fail: fail}, nil
}

// StoreLog implements raft.LogStore.
func (l *logStore) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

// StoreLogs appends entries and syncs them with one write.
func (l *logStore) StoreLogs(entries []*raft.Log) error {
	if l.keys != nil {
		entries = sealEntries(l.keys, entries)
	}
	return l.check("append to", l.WAL.StoreLogs(entries))
}

// GetLog reads an entry. One that cannot be opened stops the Node.
func (l *logStore) GetLog(index uint64, entry *raft.Log) error {
	if err := l.WAL.GetLog(index, entry); err != nil {
		return err
	}
	if err := openEntry(l.keys, entry); err != nil {
		l.fail(err)
		return err
	}
	return nil
}

// DeleteRange drops entries from one end of the log.
func (l *logStore) DeleteRange(first, last uint64) error {
	return l.check("truncate", l.WAL.DeleteRange(first, last))
}

// Set implements raft.StableStore.
func (l *logStore) Set(key, value []byte) error {
	return l.check("write variable of", l.WAL.Set(key, value))
}

// SetUint64 implements raft.StableStore.
func (l *logStore) SetUint64(key []byte, value uint64) error {
	return l.check("write variable of", l.WAL.SetUint64(key, value))
}

func (l *logStore) check(what string, err error) error {
	if err == nil || errors.Is(err, wal.ErrClosed) {
		return err
	}
	if errors.Is(err, types.ErrSealed) {
		// raft-wal makes the next segment in the background and tells nobody
		// when it cannot.
		err = fmt.Errorf("the next segment could not be made: %w", err)
	}
	err = fmt.Errorf("%s log in %s (%s): %w", what, l.dir.path, l.dir.describeFree(), err)
	l.fail(err)
	return err
}

// Close closes the files. Raft must have stopped.
func (l *logStore) Close() error {
	if err := errors.Join(l.WAL.Close(), closeMeta(l.meta)); err != nil {
		return fmt.Errorf("close log in %s: %w", l.dir.path, err)
	}
	return nil
}

func closeMeta(m *segmentMeta) error {
	if err := m.Close(); err != nil && !errors.Is(err, metadb.ErrUnintialized) {
		return err
	}
	return nil
}
