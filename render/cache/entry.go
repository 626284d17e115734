package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/writ-dev/writ/lang"
)

// entry is a result with what it depends on.
type entry struct {
	// result has no value: that is apart, in binary form.
	Result lang.Result `json:"result"`
	// Marks are of the result's reads, in their order.
	Marks []mark `json:"marks"`
	value []byte
}

// An entry's file is a checksum of the rest, the length of the JSON, the JSON
// and the value.

func (e *entry) encode() ([]byte, error) {
	head, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	b := make([]byte, sha256.Size, sha256.Size+8+len(head)+len(e.value))
	b = binary.BigEndian.AppendUint64(b, uint64(len(head)))
	b = append(b, head...)
	b = append(b, e.value...)
	sum := sha256.Sum256(b[sha256.Size:])
	copy(b, sum[:])
	return b, nil
}

var errDamaged = errors.New("damaged cache entry")

func decode(b []byte) (*entry, error) {
	if len(b) < sha256.Size+8 || sha256.Sum256(b[sha256.Size:]) != [sha256.Size]byte(b[:sha256.Size]) {
		return nil, errDamaged
	}
	b = b[sha256.Size:]
	n := binary.BigEndian.Uint64(b)
	if b = b[8:]; n > uint64(len(b)) {
		return nil, errDamaged
	}
	e := &entry{value: b[n:]}
	if err := json.Unmarshal(b[:n], e); err != nil {
		return nil, err
	}
	if len(e.Marks) != len(e.Result.Reads) {
		return nil, errDamaged
	}
	return e, nil
}
