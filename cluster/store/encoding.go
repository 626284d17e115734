package store

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// commandFormat is the first byte of an encoded Command. A change of the
// layout needs a new number, and Decode must go on reading the old ones.
const commandFormat = 1

// ErrUnknownFormat means that data was written by another version of this
// package. Whoever reads it must stop: skipping what one does not understand
// is how replicas come to differ.
var ErrUnknownFormat = errors.New("unknown format")

// The bits of a mutation's flags byte.
const (
	flagObject = 1 << iota
	flagDelete
	flagAbsent
	flagExists
	flagRevision
	flagsKnown = 1<<iota - 1
)

// Encode returns c as a log entry:
//
//	format byte | count | count × ( flags byte | group | kind | namespace | name | revision? | object? )
//
// Numbers are unsigned varints, strings and documents are preceded by their
// length.
func (c Command) Encode() []byte {
	size := 1 + binary.MaxVarintLen64
	for _, m := range c.Mutations {
		size += m.size()
	}
	b := append(make([]byte, 0, size), commandFormat)
	b = binary.AppendUvarint(b, uint64(len(c.Mutations)))
	for _, m := range c.Mutations {
		b = append(b, m.flags())
		for _, s := range [...]string{m.Key.Group, m.Key.Kind, m.Key.Namespace, m.Key.Name} {
			b = binary.AppendUvarint(b, uint64(len(s)))
			b = append(b, s...)
		}
		if m.ExpectRevision != 0 {
			b = binary.AppendUvarint(b, m.ExpectRevision)
		}
		if m.Object != nil {
			b = binary.AppendUvarint(b, uint64(len(m.Object)))
			b = append(b, m.Object...)
		}
	}
	return b
}

func (m Mutation) flags() byte {
	var f byte
	for _, x := range [...]struct {
		set bool
		bit byte
	}{
		{m.Object != nil, flagObject},
		{m.Delete, flagDelete},
		{m.ExpectAbsent, flagAbsent},
		{m.ExpectExists, flagExists},
		{m.ExpectRevision != 0, flagRevision},
	} {
		if x.set {
			f |= x.bit
		}
	}
	return f
}

// Decode reads what Encode wrote. The documents share b's memory. The error is
// ErrUnknownFormat when b is of another version.
func Decode(b []byte) (Command, error) {
	if len(b) == 0 {
		return Command{}, errors.New("decode command: it is empty")
	}
	if b[0] != commandFormat {
		return Command{}, fmt.Errorf("decode command: %w %d (this version reads %d)", ErrUnknownFormat, b[0], commandFormat)
	}
	r := reader{rest: b[1:]}
	count := r.uvarint()
	// The smallest mutation has five bytes: no count in b can ask for more
	// memory than b has earned.
	if r.short || count > uint64(len(r.rest))/5 {
		return Command{}, errors.New("decode command: it is cut short")
	}
	c := Command{Mutations: make([]Mutation, count)}
	for i := range c.Mutations {
		m := &c.Mutations[i]
		flags := r.byte()
		if flags&^byte(flagsKnown) != 0 {
			return Command{}, fmt.Errorf("decode command: %w: flags %#x", ErrUnknownFormat, flags)
		}
		m.Key.Group, m.Key.Kind = string(r.bytes()), string(r.bytes())
		m.Key.Namespace, m.Key.Name = string(r.bytes()), string(r.bytes())
		m.Delete = flags&flagDelete != 0
		m.ExpectAbsent = flags&flagAbsent != 0
		m.ExpectExists = flags&flagExists != 0
		if flags&flagRevision != 0 {
			m.ExpectRevision = r.uvarint()
		}
		if flags&flagObject != 0 {
			m.Object = r.bytes()
		}
		if r.short {
			return Command{}, errors.New("decode command: it is cut short")
		}
	}
	if len(r.rest) != 0 {
		return Command{}, fmt.Errorf("decode command: %d bytes too many", len(r.rest))
	}
	return c, nil
}

// reader takes values off the front of rest; after the first that is not there
// it is short and gives zeros.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.rest, r.short = nil, true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.short = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// bytes is never nil, so that an empty document stays one.
func (r *reader) bytes() []byte {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.rest, r.short = nil, true
	}
	if r.short {
		return []byte{}
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}
