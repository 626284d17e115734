package cache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// What one run adds is one file, a pack: a thousand small files take longer to
// write and to find than what is in them takes to make. A pack is its entries
// one after the other, then the index, then the trailer. It is written under
// another name and never changes. When there are many, one run puts the entries
// of all into one; of entries with the same key the one of the youngest pack
// counts.

const (
	packPrefix = "pack-"
	newPrefix  = "new-"
	magic      = "writ cache 1\n"
	// trailerSize is the number of index records, the index's checksum, magic.
	trailerSize = 8 + 4 + len(magic)
	// recordSize is key, offset, length, checksum of the entry, day of last use.
	recordSize = len(key{}) + 8 + 8 + 4 + 4
)

// key is a digest of a question.
type key [32]byte

// record says where an entry is.
type record struct {
	key            key
	offset, length int64
	sum            uint32
	used           uint32 // days since 1970
}

// pack is an open pack.
type pack struct {
	path    string
	file    *os.File
	size    int64
	records []record
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func today() uint32 { return uint32(time.Now().Unix() / (24 * 60 * 60)) }

// openPack reads a pack's index.
func openPack(path string) (p *pack, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	p = &pack{path: path, file: f, size: info.Size()}
	trailer := make([]byte, trailerSize)
	if _, err := f.ReadAt(trailer, p.size-int64(trailerSize)); err != nil {
		return nil, errDamaged
	}
	n := binary.BigEndian.Uint64(trailer)
	if string(trailer[12:]) != magic || n > uint64(p.size)/uint64(recordSize) {
		return nil, errDamaged
	}
	index := make([]byte, int(n)*recordSize)
	start := p.size - int64(trailerSize) - int64(len(index))
	if _, err := f.ReadAt(index, start); err != nil || checksum(index) != binary.BigEndian.Uint32(trailer[8:]) {
		return nil, errDamaged
	}
	p.records = make([]record, n)
	for i := range p.records {
		b := index[i*recordSize:]
		r := record{
			key:    key(b),
			offset: int64(binary.BigEndian.Uint64(b[32:])), length: int64(binary.BigEndian.Uint64(b[40:])),
			sum: binary.BigEndian.Uint32(b[48:]), used: binary.BigEndian.Uint32(b[52:]),
		}
		if r.offset < 0 || r.length < 0 || r.offset > start || r.length > start-r.offset {
			return nil, errDamaged
		}
		p.records[i] = r
	}
	return p, nil
}

// read returns the bytes of an entry.
func (p *pack) read(r record) ([]byte, error) {
	b := make([]byte, r.length)
	if _, err := p.file.ReadAt(b, r.offset); err != nil {
		return nil, err
	}
	if checksum(b) != r.sum {
		return nil, errDamaged
	}
	return b, nil
}

// writer makes a pack.
type writer struct {
	file    *os.File
	at      int64
	records []record
	buffer  bytes.Buffer
}

func newWriter(dir string) (*writer, error) {
	f, err := os.CreateTemp(dir, newPrefix+"*")
	return &writer{file: f}, err
}

func (w *writer) add(k key, used uint32, b []byte) error {
	w.records = append(w.records, record{k, w.at, int64(len(b)), checksum(b), used})
	w.at += int64(len(b))
	w.buffer.Write(b)
	if w.buffer.Len() < 1<<20 {
		return nil
	}
	_, err := w.buffer.WriteTo(w.file)
	return err
}

// finish ends the pack and gives it its name; after an error there is none.
func (w *writer) finish() error {
	index := make([]byte, 0, len(w.records)*recordSize)
	for _, r := range w.records {
		index = append(index, r.key[:]...)
		index = binary.BigEndian.AppendUint64(index, uint64(r.offset))
		index = binary.BigEndian.AppendUint64(index, uint64(r.length))
		index = binary.BigEndian.AppendUint32(index, r.sum)
		index = binary.BigEndian.AppendUint32(index, r.used)
	}
	w.buffer.Write(index)
	trailer := binary.BigEndian.AppendUint64(nil, uint64(len(w.records)))
	trailer = binary.BigEndian.AppendUint32(trailer, checksum(index))
	w.buffer.Write(append(trailer, magic...))
	_, err := w.buffer.WriteTo(w.file)
	if err = errors.Join(err, w.file.Close()); err == nil {
		dir, name := filepath.Split(w.file.Name())
		// The times that file systems keep are too coarse to tell packs apart
		// that are written one right after the other.
		age := fmt.Sprintf("%016x-", time.Now().UnixNano())
		err = os.Rename(w.file.Name(), filepath.Join(dir, packPrefix+age+strings.TrimPrefix(name, newPrefix)))
	}
	if err != nil {
		_ = os.Remove(w.file.Name())
	}
	return err
}

// abandon removes what is written so far.
func (w *writer) abandon() error {
	return errors.Join(w.file.Close(), os.Remove(w.file.Name()))
}

// file is one file of the cache.
type file struct {
	path string
	size int64
	time time.Time
}

// files lists the cache's files, packs with the youngest first. What else is in
// the directory is somebody else's.
func (c *Cache) files() ([]file, error) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, err
	}
	var all []file
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), packPrefix) && !strings.HasPrefix(e.Name(), newPrefix) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			continue
		}
		all = append(all, file{filepath.Join(c.dir, e.Name()), info.Size(), info.ModTime()})
	}
	slices.SortFunc(all, func(a, b file) int { return strings.Compare(b.path, a.path) })
	return all, nil
}

// open opens the packs, the youngest first. Damaged ones are removed.
func (c *Cache) open() ([]*pack, error) {
	files, err := c.files()
	if err != nil {
		return nil, err
	}
	var packs []*pack
	for _, f := range files {
		if !strings.HasPrefix(filepath.Base(f.path), packPrefix) {
			if time.Since(f.time) > time.Hour { // whoever wrote it is gone
				_ = os.Remove(f.path)
			}
			continue
		}
		p, err := openPack(f.path)
		if errors.Is(err, errDamaged) {
			_ = os.Remove(f.path)
		}
		if err == nil {
			packs = append(packs, p)
		}
	}
	return packs, nil
}
