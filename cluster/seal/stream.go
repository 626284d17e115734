package seal

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A sealed stream is
//
//	streamMagic | format | key id | salt | chunks
//
// and a chunk its length in 4 bytes, and ciphertext and tag of up to chunkSize
// bytes. The last chunk is marked in its nonce, so a stream that was cut at a
// chunk does not open either.
const (
	streamMagic = "WRITSEAL\n"
	chunkSize   = 64 << 10
)

// Writer seals a stream. Close it to write its end; the writer below stays
// open.
type Writer struct {
	to      io.Writer
	aead    cipher.AEAD
	plain   []byte
	sealed  []byte
	counter uint64
	closed  bool
}

// NewWriter begins a sealed stream.
func (r *Ring) NewWriter(to io.Writer) (*Writer, error) {
	s := r.now.Load()
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails, see crypto/rand
	aead, err := s.keys[0].dataKey(salt)
	if err != nil {
		return nil, err
	}
	head := append([]byte(streamMagic), format)
	head = append(append(head, s.keys[0].id[:]...), salt...)
	if _, err := to.Write(head); err != nil {
		return nil, err
	}
	return &Writer{to: to, aead: aead, plain: make([]byte, 0, chunkSize)}, nil
}

// Write implements io.Writer.
func (w *Writer) Write(b []byte) (int, error) {
	if w.closed {
		return 0, errors.New("write to a closed stream")
	}
	n := 0
	for len(b) > 0 {
		// A full chunk waits until it is known not to be the last.
		if len(w.plain) == chunkSize {
			if err := w.flush(false); err != nil {
				return n, err
			}
		}
		take := min(len(b), chunkSize-len(w.plain))
		w.plain = append(w.plain, b[:take]...)
		b, n = b[take:], n+take
	}
	return n, nil
}

func (w *Writer) flush(last bool) error {
	w.sealed = append(w.sealed[:0], 0, 0, 0, 0)
	w.sealed = w.aead.Seal(w.sealed, nonce(w.counter, last), w.plain, nil)
	binary.BigEndian.PutUint32(w.sealed, uint32(len(w.sealed)-4))
	w.counter++
	w.plain = w.plain[:0]
	_, err := w.to.Write(w.sealed)
	return err
}

// Close writes the last chunk.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	return w.flush(true)
}

// NewReader returns what is in a stream, sealed or not, and whether it is. A
// stream that is not is read as it is.
func (r *Ring) NewReader(from io.Reader) (plain io.Reader, sealed bool, err error) {
	head := make([]byte, len(streamMagic)+1+idSize+saltSize)
	n, err := io.ReadFull(from, head)
	if !bytes.HasPrefix(head[:n], []byte(streamMagic)) {
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && err != io.EOF {
			return nil, false, err
		}
		return io.MultiReader(bytes.NewReader(head[:n]), from), false, nil
	}
	if err != nil {
		return nil, true, ErrDamaged
	}
	head = head[len(streamMagic):]
	if head[0] != format {
		return nil, true, fmt.Errorf("sealed in format %d, and this version reads %d", head[0], format)
	}
	aead, err := r.now.Load().aead(ID(head[1:1+idSize]), [saltSize]byte(head[1+idSize:]))
	if err != nil {
		return nil, true, err
	}
	return &reader{from: from, aead: aead}, true, nil
}

type reader struct {
	from    io.Reader
	aead    cipher.AEAD
	plain   []byte
	buf     []byte
	counter uint64
	err     error
}

// Read implements io.Reader.
func (r *reader) Read(b []byte) (int, error) {
	for len(r.plain) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.next()
	}
	n := copy(b, r.plain)
	r.plain = r.plain[n:]
	return n, nil
}

// next opens one chunk into plain, and sets err when there is no further one.
func (r *reader) next() {
	var size [4]byte
	if _, err := io.ReadFull(r.from, size[:]); err != nil {
		r.err = ErrDamaged // the end comes after the last chunk only
		return
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < tagSize || n > chunkSize+tagSize {
		r.err = ErrDamaged
		return
	}
	if cap(r.buf) < int(n) {
		r.buf = make([]byte, chunkSize+tagSize)
	}
	chunk := r.buf[:n]
	if _, err := io.ReadFull(r.from, chunk); err != nil {
		r.err = ErrDamaged
		return
	}
	if plain, err := r.aead.Open(nil, nonce(r.counter, false), chunk, nil); err == nil {
		r.plain = plain
		r.counter++
		return
	}
	plain, err := r.aead.Open(nil, nonce(r.counter, true), chunk, nil)
	if err != nil {
		r.err = ErrDamaged
		return
	}
	r.plain, r.err = plain, io.EOF
	if n, _ := io.ReadFull(r.from, size[:1]); n != 0 {
		r.plain, r.err = nil, ErrDamaged
	}
}
