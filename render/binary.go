package render

import (
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

var errBinary = errors.New("damaged binary bundle")

// AppendBinary appends b in binary form, for a cache: what Render returned, but
// for Reads. It is for processes of one build.
func (b *Bundle) AppendBinary(out []byte) ([]byte, error) {
	inputs, err := json.Marshal(b.Inputs)
	if err != nil {
		return nil, err
	}
	out = appendBytes(out, b.Digest)
	out = appendBytes(out, inputs)
	out = binary.AppendUvarint(out, uint64(len(b.Documents)))
	for _, d := range b.Documents {
		k := d.Object.Key()
		for _, s := range []string{d.Object.APIVersion(), k.Group, k.Kind, k.Namespace, k.Name, d.Origin.Path, d.Origin.Pos.File} {
			out = appendBytes(out, s)
		}
		out = binary.AppendUvarint(out, uint64(d.Origin.Pos.Line))
		out = binary.AppendUvarint(out, uint64(d.Origin.Pos.Column))
		out = appendBytes(out, d.Object.JSON())
		out = appendBytes(out, d.Origin.Value().AppendBinary(nil))
	}
	return out, nil
}

// ParseBinary reads what AppendBinary wrote and returns what follows it. The
// bundle shares memory with b, which must not change. The values of origins are
// not looked at before they are asked for. Damaged input is an error.
func ParseBinary(b []byte) (_ *Bundle, rest []byte, err error) {
	d := binaryDecoder{b: b}
	out := &Bundle{Digest: d.text()}
	if err := json.Unmarshal(d.bytes(), &out.Inputs); err != nil {
		return nil, nil, errBinary
	}
	n := d.count()
	if n > len(d.b) { // each takes more than a byte
		return nil, nil, errBinary
	}
	out.Documents = make([]Document, 0, n)
	for range n {
		apiVersion := d.text()
		k := object.Key{Group: d.text(), Kind: d.text(), Namespace: d.text(), Name: d.text()}
		o := Origin{Path: d.text(), Pos: diag.Position{File: d.text(), Line: d.count(), Column: d.count()}}
		doc := d.bytes()
		o.value = &originValue{packed: d.bytes()}
		if d.bad {
			return nil, nil, errBinary
		}
		out.Documents = append(out.Documents, Document{Object: object.Known(doc, apiVersion, k), Origin: o})
	}
	if d.bad {
		return nil, nil, errBinary
	}
	return out, d.b, nil
}

func appendBytes[T string | []byte](out []byte, s T) []byte {
	return append(binary.AppendUvarint(out, uint64(len(s))), s...)
}

type binaryDecoder struct {
	b   []byte
	bad bool
}

// count is a number that is no larger than a damaged one may be without harm.
func (d *binaryDecoder) count() int {
	n, size := binary.Uvarint(d.b)
	if size <= 0 || n > lang.MaxTotalSize {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[size:]
	return int(n)
}

func (d *binaryDecoder) bytes() []byte {
	n := d.count()
	if n > len(d.b) {
		d.bad, d.b = true, nil
		return nil
	}
	s := d.b[:n:n]
	d.b = d.b[n:]
	return s
}

func (d *binaryDecoder) text() string { return string(d.bytes()) }
