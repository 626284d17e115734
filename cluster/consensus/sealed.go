package consensus

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/raft"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/seal"
	"github.com/writ-dev/writ/cluster/store"
)

// sealedFile names the key with which everything in the directory is sealed.
// While entries or snapshots of an older key may be left it names that one, or
// is absent.
const sealedFile = "sealed"

// SealedWith names the key that the data in a directory is sealed with, if it
// is.
func SealedWith(dir string) (id string, ok bool) {
	b, err := os.ReadFile(filepath.Join(dir, sealedFile))
	return strings.TrimSpace(string(b)), err == nil
}

// checkSealed reports whether everything in the directory is sealed with the
// first key, and refuses a sealed directory when there are no keys.
func (d *directory) checkSealed(keys *seal.Ring, empty bool) (done bool, err error) {
	b, err := os.ReadFile(d.file(sealedFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if keys == nil || !empty {
			return keys == nil, nil
		}
		return true, d.write(sealedFile, keys.Primary().String()+"\n")
	case err != nil:
		return false, fmt.Errorf("open data directory: %w", err)
	case keys == nil:
		return false, fmt.Errorf("open data directory %s: it is sealed with the key %s; give its key file", d.path, strings.TrimSpace(string(b)))
	}
	return strings.TrimSpace(string(b)) == keys.Primary().String(), nil
}

// place is what a sealed entry is bound to: no entry opens at another index.
func place(l *raft.Log) []byte {
	b := binary.BigEndian.AppendUint64([]byte("log\x00"), l.Index)
	return binary.BigEndian.AppendUint64(b, l.Term)
}

// sealEntries returns the entries as they are written to disk.
func sealEntries(keys *seal.Ring, entries []*raft.Log) []*raft.Log {
	out := make([]*raft.Log, len(entries))
	for i, l := range entries {
		if l.Type != raft.LogCommand {
			out[i] = l // Raft's own: members and barriers, nobody's data.
			continue
		}
		sealed := *l
		sealed.Data = keys.Seal(l.Data, place(l))
		out[i] = &sealed
	}
	return out
}

// openEntry undoes sealEntries; an entry that was written without keys stays
// as it is.
func openEntry(keys *seal.Ring, l *raft.Log) error {
	if l.Type != raft.LogCommand || !seal.IsSealed(l.Data) {
		return nil
	}
	if keys == nil {
		return fmt.Errorf("log entry %d is sealed, and there is no key file", l.Index)
	}
	b, err := keys.Open(l.Data, place(l))
	if err != nil {
		return fmt.Errorf("log entry %d: %w", l.Index, err)
	}
	l.Data = b
	return nil
}

// sealedSnapshots seals snapshots on their way to disk.
type sealedSnapshots struct {
	raft.SnapshotStore
	keys *seal.Ring
}

// Create implements raft.SnapshotStore.
func (s *sealedSnapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration, configurationIndex uint64, trans raft.Transport) (raft.SnapshotSink, error) {
	sink, err := s.SnapshotStore.Create(version, index, term, configuration, configurationIndex, trans)
	if err != nil || s.keys == nil {
		return sink, err
	}
	w, err := s.keys.NewWriter(sink)
	if err != nil {
		return nil, errors.Join(err, sink.Cancel())
	}
	return &sealedSink{SnapshotSink: sink, w: w}, nil
}

type sealedSink struct {
	raft.SnapshotSink
	w *seal.Writer
}

// Write implements io.Writer.
func (s *sealedSink) Write(b []byte) (int, error) { return s.w.Write(b) }

// Close implements raft.SnapshotSink.
func (s *sealedSink) Close() error {
	if err := s.w.Close(); err != nil {
		return errors.Join(err, s.Cancel())
	}
	return s.SnapshotSink.Close()
}

// Open implements raft.SnapshotStore.
func (s *sealedSnapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	meta, from, err := s.SnapshotStore.Open(id)
	if err != nil || s.keys == nil {
		return meta, from, err
	}
	plain, _, err := s.keys.NewReader(from)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open snapshot %s: %w", id, err), from.Close())
	}
	return meta, &openedSnapshot{plain, from}, nil
}

type openedSnapshot struct {
	io.Reader
	io.Closer
}

// Sealed says whether everything on disk is sealed with the first key.
func (n *Node) Sealed() bool { return n.sealed.Load() }

// Reseal makes everything on disk sealed with the first key, and with no other
// any more. Proposals wait meanwhile, for about as long as a snapshot takes: the
// log's files go only when nothing in them is needed.
func (n *Node) Reseal(ctx context.Context) error {
	keys := n.options.Keys
	if keys == nil {
		return errors.New("reseal: there are no keys")
	}
	n.resealing.Lock()
	defer n.resealing.Unlock()
	primary := keys.Primary()
	resume, err := n.pause(ctx)
	if err != nil {
		return fmt.Errorf("reseal: wait for proposals: %w", err)
	}
	err = n.replaceLog(ctx)
	resume()
	if err != nil {
		return fmt.Errorf("reseal: %w", err)
	}
	// What is left are the snapshots before that one.
	files, err := raft.NewFileSnapshotStoreWithLogger(n.dir.path, 1, raftLogger(n.options.Logger))
	if err != nil {
		return fmt.Errorf("reseal: open snapshots: %w", err)
	}
	if err := files.ReapSnapshots(); err != nil {
		return fmt.Errorf("reseal: remove older snapshots: %w", err)
	}
	if keys.Primary() != primary {
		return errors.New("reseal: the key changed meanwhile")
	}
	if err := n.dir.write(sealedFile, primary.String()+"\n"); err != nil {
		return err
	}
	n.sealed.Store(true)
	return nil
}

// pause waits for the proposals under way and holds up further ones.
func (n *Node) pause(ctx context.Context) (resume func(), err error) {
	held := 0
	resume = func() {
		for range held {
			<-n.slots
		}
	}
	for held < cap(n.slots) {
		select {
		case n.slots <- struct{}{}:
			held++
		case <-n.ended:
			resume()
			return nil, n.Err()
		case <-ctx.Done():
			resume()
			return nil, ctx.Err()
		}
	}
	return resume, nil
}

// nothing is a command that changes nothing. Raft's own entries do not count as
// applied to the state, so one of these must be the last before a snapshot that
// is to replace the whole log.
var nothing = store.Command{Mutations: []store.Mutation{{Key: object.Key{Group: "consensus", Kind: "Nothing", Name: "nothing"}, ExpectAbsent: true}}}

// replaceLog takes a snapshot and drops the log. Nobody may propose.
func (n *Node) replaceLog(ctx context.Context) error {
	wait := func(begin func() raft.Future) error { return n.await(ctx, begin, func() {}) }
	if err := wait(func() raft.Future { return n.raft.Apply(nothing.Encode(), 0) }); err != nil {
		return err
	}
	usual := n.raft.ReloadableConfig()
	none := usual
	none.TrailingLogs = 0
	if err := n.raft.ReloadConfig(none); err != nil {
		return err
	}
	defer func() { _ = n.raft.ReloadConfig(usual) }() // it was valid before
	if err := wait(func() raft.Future { return n.raft.Snapshot() }); err != nil {
		return fmt.Errorf("take snapshot: %w", err)
	}
	first, err := n.log.FirstIndex()
	if err != nil {
		return err
	}
	last, err := n.log.LastIndex()
	if err != nil {
		return err
	}
	if first != 0 && first <= last {
		return fmt.Errorf("the log still holds entries %d to %d", first, last)
	}
	return nil
}
