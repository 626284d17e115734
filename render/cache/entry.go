package cache

import (
	"encoding/binary"
	"encoding/hex"
	"errors"

	"github.com/writ-dev/writ/lang"
)

// entry is one answer and what it depends on.
type entry struct {
	reads []lang.Read
	// marks are of the reads, in their order.
	marks  []lang.Mark
	answer []byte
}

// An entry is the number of reads, the reads, and the answer. A read is its
// file, how long its digest is and the digest, and the mark.

func (e *entry) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(len(e.reads)))
	for i, r := range e.reads {
		b = binary.AppendUvarint(b, uint64(len(r.File)))
		b = append(b, r.File...)
		digest, _ := hex.DecodeString(r.SHA256) // evaluators write nothing else
		b = append(b, byte(len(digest)))
		b = append(b, digest...)
		b = appendMark(b, e.marks[i])
	}
	return append(b, e.answer...)
}

func appendMark(b []byte, m lang.Mark) []byte {
	absent := byte(0)
	if m.Absent {
		absent = 1
	}
	b = append(b, absent)
	for _, n := range []int64{m.Size, m.Modified, m.Status, int64(m.Inode), int64(m.Device)} {
		b = binary.AppendVarint(b, n)
	}
	return b
}

var errDamaged = errors.New("damaged cache entry")

// decode reads what encode wrote. The entry shares memory with b.
func decode(b []byte) (*entry, error) {
	d := decoder{b: b}
	n := d.uvarint()
	if n > uint64(len(b)) {
		return nil, errDamaged
	}
	e := &entry{reads: make([]lang.Read, n), marks: make([]lang.Mark, n)}
	for i := range e.reads {
		e.reads[i].File = string(d.bytes(d.uvarint()))
		e.reads[i].SHA256 = hex.EncodeToString(d.bytes(uint64(d.byte())))
		m := &e.marks[i]
		m.Absent = d.byte() != 0
		m.Size, m.Modified, m.Status = d.varint(), d.varint(), d.varint()
		m.Inode, m.Device = uint64(d.varint()), uint64(d.varint())
		if d.bad {
			return nil, errDamaged
		}
	}
	e.answer = d.b
	if d.bad {
		return nil, errDamaged
	}
	return e, nil
}

// decoder takes values off the front of b until something is wrong.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) bytes(n uint64) []byte {
	if d.bad || n > uint64(len(d.b)) {
		d.bad = true
		return nil
	}
	out := d.b[:n:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) byte() byte {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uvarint() uint64 {
	n, size := binary.Uvarint(d.b)
	if d.bytes(uint64(max(size, 0))); size <= 0 {
		d.bad = true
	}
	return n
}

func (d *decoder) varint() int64 {
	n, size := binary.Varint(d.b)
	if d.bytes(uint64(max(size, 0))); size <= 0 {
		d.bad = true
	}
	return n
}
