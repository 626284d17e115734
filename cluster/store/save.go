package store

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/writ-dev/writ/cluster/object"
)

// A saved state is
//
//	magic | version | revision | records | trailer
//
// where version is 4 and revision 8 bytes, big-endian, and a record is a type
// byte, a length (unsigned varint) and that many bytes. The trailer is the last
// record: the count of the records before it and the SHA-256 of every byte
// before it. Objects are in the order of the tree, so equal states have equal
// bytes.
const (
	saveMagic   = "WRITSTATE\n"
	saveVersion = 1

	recordObject  = 1 // revision (unsigned varint), then the document
	recordTrailer = 255

	trailerSize = 8 + sha256.Size
	// maxRecord is above what any accepted Command can hold.
	maxRecord = MaxCommand + 1024
)

// Save writes the whole state. It holds up nobody; the state does not change
// while it is written.
func (s Snapshot) Save(w io.Writer) error {
	buf := bufio.NewWriterSize(w, 1<<16)
	digest := sha256.New()
	out := io.MultiWriter(buf, digest)

	head := append([]byte(saveMagic), 0, 0, 0, 0)
	binary.BigEndian.PutUint32(head[len(saveMagic):], saveVersion)
	head = binary.BigEndian.AppendUint64(head, s.Revision())
	if _, err := out.Write(head); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	var count uint64
	var scratch []byte
	for r := range s.records(nil) {
		revision := binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen64), r.revision)
		doc := r.object.JSON()
		scratch = append(scratch[:0], recordObject)
		scratch = binary.AppendUvarint(scratch, uint64(len(revision)+len(doc)))
		scratch = append(append(scratch, revision...), doc...)
		if _, err := out.Write(scratch); err != nil {
			return fmt.Errorf("save state: %w", err)
		}
		count++
	}
	trailer := []byte{recordTrailer, trailerSize}
	trailer = binary.BigEndian.AppendUint64(trailer, count)
	trailer = digest.Sum(trailer)
	if _, err := buf.Write(trailer); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	return nil
}

// Restore replaces the whole state by one that Save wrote. If the stream is
// short, damaged, or of another version the error says so and nothing changes.
// All watches are closed, and the history begins anew.
func (s *Store) Restore(r io.Reader) error {
	next, err := load(r)
	if err != nil {
		return fmt.Errorf("restore state: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Store(next)
	s.history.reset(next.revision)
	s.epoch++
	for _, w := range s.watchers {
		w.wakeUp()
	}
	return nil
}

func load(r io.Reader) (*state, error) {
	l := loader{in: bufio.NewReaderSize(r, 1<<16), digest: sha256.New()}
	head := make([]byte, len(saveMagic)+4+8)
	if err := l.read(head); err != nil {
		return nil, fmt.Errorf("read header: %w", err)
	}
	if !bytes.HasPrefix(head, []byte(saveMagic)) {
		return nil, errors.New("this is not a saved state")
	}
	if v := binary.BigEndian.Uint32(head[len(saveMagic):]); v != saveVersion {
		return nil, fmt.Errorf("%w %d (this version reads %d)", ErrUnknownFormat, v, saveVersion)
	}
	revision := binary.BigEndian.Uint64(head[len(saveMagic)+4:])
	txn := iradix.New[*record]().Txn()
	var last []byte
	for count := uint64(0); ; count++ {
		kind, err := l.byte()
		if err != nil {
			return nil, fmt.Errorf("read record %d: %w", count, err)
		}
		switch kind {
		case recordObject:
			rec, err := l.object(revision)
			if err != nil {
				return nil, fmt.Errorf("read record %d: %w", count, err)
			}
			key := treeKey(rec.key)
			if bytes.Compare(key, last) <= 0 {
				return nil, fmt.Errorf("read record %d: %s is out of order", count, rec.key)
			}
			last = key
			txn.Insert(key, rec)
		case recordTrailer:
			if err := l.trailer(count); err != nil {
				return nil, err
			}
			return &state{tree: txn.CommitOnly(), revision: revision}, nil
		default:
			return nil, fmt.Errorf("read record %d: %w: type %d", count, ErrUnknownFormat, kind)
		}
	}
}

// loader reads a saved state and keeps the digest of what it has read.
type loader struct {
	in     *bufio.Reader
	digest hash.Hash
	one    [1]byte
}

// read fills b; an end of the stream is io.ErrUnexpectedEOF.
func (l *loader) read(b []byte) error {
	if _, err := io.ReadFull(l.in, b); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	l.digest.Write(b)
	return nil
}

func (l *loader) byte() (byte, error) {
	// The trailer's type is not part of the digest that the trailer holds.
	b, err := l.in.ReadByte()
	if err != nil {
		return 0, io.ErrUnexpectedEOF
	}
	if b != recordTrailer {
		l.one[0] = b
		l.digest.Write(l.one[:])
	}
	return b, nil
}

// ReadByte lets binary.ReadUvarint read through l.
func (l *loader) ReadByte() (byte, error) {
	err := l.read(l.one[:])
	return l.one[0], err
}

func (l *loader) object(newest uint64) (*record, error) {
	size, err := binary.ReadUvarint(l)
	if err != nil {
		return nil, err
	}
	if size > maxRecord {
		return nil, fmt.Errorf("it has %d bytes, more than %d", size, maxRecord)
	}
	b := make([]byte, size)
	if err := l.read(b); err != nil {
		return nil, err
	}
	revision, n := binary.Uvarint(b)
	if n <= 0 || revision == 0 || revision > newest {
		return nil, errors.New("its revision makes no sense")
	}
	o, err := object.Parse(b[n:])
	if err != nil {
		return nil, err
	}
	return &record{key: o.Key(), object: o, revision: revision}, nil
}

func (l *loader) trailer(count uint64) error {
	want := l.digest.Sum(binary.BigEndian.AppendUint64(nil, count))
	got := make([]byte, 1+trailerSize)
	if err := l.read(got); err != nil {
		return fmt.Errorf("read trailer: %w", err)
	}
	if got[0] != trailerSize || !bytes.Equal(got[1:], want) {
		return errors.New("count or digest is wrong: the saved state is damaged")
	}
	if _, err := l.in.ReadByte(); err != io.EOF {
		return errors.New("there is more after the trailer")
	}
	return nil
}
