package lang

import (
	"encoding/binary"
	"errors"

	"github.com/writ-dev/writ/lang/diag"
)

// The binary form of a Value is its nodes in depth-first order. Each begins
// with its kind and where it is: the file as a number, and how far line and
// column are from those of the node before, so that most nodes take few bytes.
// A file is named where it first occurs. It is for processes of one build and
// for caches that know which build wrote them.

var errBinary = errors.New("damaged binary value")

// AppendBinary appends v in binary form.
func (v Value) AppendBinary(b []byte) []byte {
	e := binaryEncoder{b: b, files: map[string]uint64{}}
	e.value(v)
	return e.b
}

type binaryEncoder struct {
	b     []byte
	files map[string]uint64
	last  diag.Position
}

func (e *binaryEncoder) value(v Value) {
	e.b = append(e.b, byte(v.Kind))
	e.position(v.Pos)
	switch v.Kind {
	case Null:
	case Bool, Number, String:
		e.text(v.Text)
	case List:
		e.b = binary.AppendUvarint(e.b, uint64(len(v.Items)))
		for _, item := range v.Items {
			e.value(item)
		}
	case Object:
		e.b = binary.AppendUvarint(e.b, uint64(len(v.Fields)))
		for _, f := range v.Fields {
			e.text(f.Name)
			e.position(f.Pos)
			e.value(f.Value)
		}
	}
}

func (e *binaryEncoder) text(s string) {
	e.b = binary.AppendUvarint(e.b, uint64(len(s)))
	e.b = append(e.b, s...)
}

func (e *binaryEncoder) position(p diag.Position) {
	n, known := e.files[p.File]
	if !known {
		n = uint64(len(e.files))
		e.files[p.File] = n
	}
	e.b = binary.AppendUvarint(e.b, n)
	if !known {
		e.text(p.File)
	}
	e.b = binary.AppendVarint(e.b, int64(p.Line-e.last.Line))
	e.b = binary.AppendVarint(e.b, int64(p.Column-e.last.Column))
	e.last = p
}

// ParseBinary reads what AppendBinary wrote. The value shares memory with b,
// which must not change. Damaged input is an error, never a panic.
func ParseBinary(b []byte) (Value, error) {
	d := binaryDecoder{text: string(b)}
	v := d.value(0)
	if d.bad || d.at != len(d.text) {
		return Value{}, errBinary
	}
	return v, nil
}

type binaryDecoder struct {
	text  string
	at    int
	bad   bool
	files []string
	last  diag.Position
}

func (d *binaryDecoder) value(depth int) Value {
	if d.at >= len(d.text) || depth > 2*MaxDepth {
		d.bad = true
		return Value{}
	}
	v := Value{Kind: Kind(d.text[d.at])}
	d.at++
	v.Pos = d.position()
	switch v.Kind {
	case Null:
	case Bool, Number, String:
		v.Text = d.string()
	case List:
		v.Items = make([]Value, 0, d.count())
		for range cap(v.Items) {
			if d.bad {
				break
			}
			v.Items = append(v.Items, d.value(depth+1))
		}
	case Object:
		v.Fields = make([]Field, 0, d.count())
		for range cap(v.Fields) {
			if d.bad {
				break
			}
			f := Field{Name: d.string()}
			f.Pos = d.position()
			f.Value = d.value(depth + 1)
			v.Fields = append(v.Fields, f)
		}
	default:
		d.bad = true
	}
	return v
}

// count is a number of elements, of which each takes a byte at least.
func (d *binaryDecoder) count() int {
	n := d.uint()
	if n > uint64(len(d.text)-d.at) {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *binaryDecoder) string() string {
	n := d.count()
	if d.bad {
		return ""
	}
	s := d.text[d.at : d.at+n]
	d.at += n
	return s
}

func (d *binaryDecoder) position() diag.Position {
	n := d.uint()
	switch {
	case n == uint64(len(d.files)):
		d.files = append(d.files, d.string())
	case n > uint64(len(d.files)):
		d.bad = true
	}
	if d.bad {
		return diag.Position{}
	}
	d.last = diag.Position{File: d.files[n], Line: d.last.Line + d.int(), Column: d.last.Column + d.int()}
	return d.last
}

func (d *binaryDecoder) uint() uint64 {
	var n uint64
	for shift := 0; shift < 64 && d.at < len(d.text); shift += 7 {
		c := d.text[d.at]
		d.at++
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return n
		}
	}
	d.bad = true
	return 0
}

func (d *binaryDecoder) int() int {
	n := d.uint()
	return int(int64(n>>1) ^ -int64(n&1))
}
