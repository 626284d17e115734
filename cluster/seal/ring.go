// Package seal keeps what a server writes to disk unreadable without its keys.
//
// A Ring holds the keys of one file. The first seals, all open: to rotate, put
// a new one in front, let everything be sealed again, and take the others out.
// Nothing is ever sealed with a key of the file itself. Each Ring derives its
// own data key from it, with a random salt and HKDF, and counts its nonces, so
// no nonce repeats however much is written; each stream has a data key of its
// own. The cipher is AES-256-GCM: what was changed or cut short does not open.
//
// A key file is text, one key a line, newest first:
//
//	# comments are allowed
//	writ-key-1 64 hexadecimal digits
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	keyWord  = "writ-key-1"
	keySize  = 32
	idSize   = 8
	saltSize = 16
	tagSize  = 16
)

// The errors of opening. Test with errors.Is.
var (
	// ErrNoKey means that the key that sealed something is not in the Ring.
	ErrNoKey = errors.New("sealed with a key that is not in the key file")
	// ErrDamaged means that something was changed or cut short after it was
	// sealed.
	ErrDamaged = errors.New("damaged: it is not what was sealed")
)

// ID names a key without telling it.
type ID [idSize]byte

// String is the first digits of the ID, which people compare.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

type key struct {
	id     ID
	secret []byte
}

func newKey(secret []byte) key {
	sum := sha256.Sum256(append([]byte("writ key id\x00"), secret...))
	return key{id: ID(sum[:idSize]), secret: secret}
}

// dataKey derives the key of one salt.
func (k key) dataKey(salt []byte) (cipher.AEAD, error) {
	secret, err := hkdf.Key(sha256.New, k.secret, salt, "writ data key", keySize)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Ring seals and opens. It is safe for concurrent use.
type Ring struct {
	now atomic.Pointer[ringState]
}

// ringState is the keys of one reading of the file, and what was derived.
type ringState struct {
	keys    []key
	salt    [saltSize]byte
	sealing cipher.AEAD
	counter atomic.Uint64

	mu      sync.Mutex
	derived map[derivedKey]cipher.AEAD // guarded by mu
}

type derivedKey struct {
	id   ID
	salt [saltSize]byte
}

// maxDerived bounds the data keys that are remembered; each start of a server
// makes one.
const maxDerived = 256

// OpenFile reads a key file.
func OpenFile(path string) (*Ring, error) {
	s, err := readFile(path)
	if err != nil {
		return nil, err
	}
	r := &Ring{}
	r.now.Store(s)
	return r, nil
}

// Reload reads the file again, and says whether another key seals now.
func (r *Ring) Reload(path string) (changed bool, err error) {
	s, err := readFile(path)
	if err != nil {
		return false, err
	}
	was := r.now.Load()
	if len(was.keys) == len(s.keys) {
		same := true
		for i := range s.keys {
			same = same && s.keys[i].id == was.keys[i].id
		}
		if same {
			return false, nil
		}
	}
	r.now.Store(s)
	return was.keys[0].id != s.keys[0].id, nil
}

// Primary names the key that seals.
func (r *Ring) Primary() ID { return r.now.Load().keys[0].id }

// IDs names all keys, that which seals first.
func (r *Ring) IDs() []ID {
	var out []ID
	for _, k := range r.now.Load().keys {
		out = append(out, k.id)
	}
	return out
}

func readFile(path string) (*ringState, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read key file: %w", err)
	}
	if err := checkMode(path); err != nil {
		return nil, err
	}
	keys, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return newState(keys)
}

func newState(keys []key) (*ringState, error) {
	s := &ringState{keys: keys, derived: map[derivedKey]cipher.AEAD{}}
	_, _ = rand.Read(s.salt[:]) // never fails, see crypto/rand
	var err error
	if s.sealing, err = keys[0].dataKey(s.salt[:]); err != nil {
		return nil, err
	}
	s.derived[derivedKey{keys[0].id, s.salt}] = s.sealing
	return s, nil
}

// parse reads the keys. Its errors never show one.
func parse(b []byte) ([]key, error) {
	var keys []key
	for n, line := range strings.Split(string(b), "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) != 2 || f[0] != keyWord {
			return nil, fmt.Errorf("line %d: want %q and %d hexadecimal digits", n+1, keyWord, 2*keySize)
		}
		secret, err := hex.DecodeString(f[1])
		if err != nil || len(secret) != keySize {
			return nil, fmt.Errorf("line %d: the key must be %d hexadecimal digits", n+1, 2*keySize)
		}
		k := newKey(secret)
		for _, other := range keys {
			if other.id == k.id {
				return nil, fmt.Errorf("line %d: the key %s is there twice", n+1, k.id)
			}
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, errors.New("it holds no key")
	}
	return keys, nil
}

// A sealed record is
//
//	magic | format | key id | salt | counter | ciphertext and tag
//
// The magic is none of the first bytes of a store.Command or a saved state.
const (
	magic      = 0xA5
	format     = 1
	headerSize = 2 + idSize + saltSize + 8
)

// IsSealed says whether b begins like a sealed record.
func IsSealed(b []byte) bool { return len(b) >= 2 && b[0] == magic && b[1] == format }

// Seal returns b sealed. context must be given again to open it: it says where
// the record belongs, so that one cannot be put in another's place.
func (r *Ring) Seal(b, context []byte) []byte {
	s := r.now.Load()
	out := make([]byte, headerSize, headerSize+len(b)+tagSize)
	out[0], out[1] = magic, format
	copy(out[2:], s.keys[0].id[:])
	copy(out[2+idSize:], s.salt[:])
	counter := s.counter.Add(1)
	binary.BigEndian.PutUint64(out[2+idSize+saltSize:], counter)
	return s.sealing.Seal(out, nonce(counter, false), b, context)
}

// Open returns what Seal was given.
func (r *Ring) Open(b, context []byte) ([]byte, error) {
	if !IsSealed(b) || len(b) < headerSize+tagSize {
		return nil, ErrDamaged
	}
	aead, err := r.now.Load().aead(ID(b[2:2+idSize]), [saltSize]byte(b[2+idSize:2+idSize+saltSize]))
	if err != nil {
		return nil, err
	}
	out, err := aead.Open(nil, nonce(binary.BigEndian.Uint64(b[2+idSize+saltSize:]), false), b[headerSize:], context)
	if err != nil {
		return nil, ErrDamaged
	}
	return out, nil
}

// aead returns the data key of a key and salt.
func (s *ringState) aead(id ID, salt [saltSize]byte) (cipher.AEAD, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := derivedKey{id, salt}
	if a, ok := s.derived[d]; ok {
		return a, nil
	}
	for _, k := range s.keys {
		if k.id != id {
			continue
		}
		a, err := k.dataKey(salt[:])
		if err != nil {
			return nil, err
		}
		if len(s.derived) >= maxDerived {
			clear(s.derived)
		}
		s.derived[d] = a
		return a, nil
	}
	return nil, fmt.Errorf("%w: key %s", ErrNoKey, id)
}

// nonce is unique under one data key: records count, and so do the chunks of a
// stream, whose last one differs.
func nonce(counter uint64, last bool) []byte {
	b := make([]byte, 12)
	if last {
		b[0] = 1
	}
	binary.BigEndian.PutUint64(b[4:], counter)
	return b
}

func encodeKeys(keys []key) []byte {
	var b bytes.Buffer
	b.WriteString("# Keys of a Writ server, newest first. Whoever has this file can read its data.\n")
	for _, k := range keys {
		fmt.Fprintf(&b, "%s %x\n", keyWord, k.secret)
	}
	return b.Bytes()
}
