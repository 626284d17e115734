package provenance

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// place is an element of "at": nothing, one position, or two.
type place []int

// MarshalJSON satisfies json.Marshaler.
func (p place) MarshalJSON() ([]byte, error) {
	if len(p) == 0 {
		return []byte("0"), nil
	}
	b := []byte{'['}
	for i, n := range p {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']'), nil
}

// UnmarshalJSON satisfies json.Unmarshaler.
func (p *place) UnmarshalJSON(b []byte) error {
	*p = nil
	if string(b) == "0" {
		return nil
	}
	var n []int
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	if len(n) != 3 && len(n) != 6 {
		return errDamaged
	}
	*p = n
	return nil
}

// places are those of a document and of everything in it.
func (r *Record) places(v lang.Value, o render.Origin) []place {
	p := placer{record: r}
	p.add(o.Pos, diag.Position{}, o.Value().Pos)
	p.inside(v, o.Value(), o.Pos)
	return p.out
}

type placer struct {
	record *Record
	out    []place
}

// add adds a value that is written at own, in something that is written at
// around. At is the value's own place.
func (p *placer) add(own, around, at diag.Position) {
	switch {
	case at.IsValid() && lang.IsLibrary(at.File):
		p.out = append(p.out, slices.Concat(p.record.position(own), p.record.position(at)))
	case own != around:
		p.out = append(p.out, p.record.position(own))
	default:
		p.out = append(p.out, nil)
	}
}

// inside adds what is in a value of a document. Origin is the same in the value
// of the program; what is not there has no place of its own.
func (p *placer) inside(v, origin lang.Value, around diag.Position) {
	for i, item := range v.Items {
		var from lang.Value
		if i < len(origin.Items) {
			from = origin.Items[i]
		}
		own := userOwn(around, from.Pos)
		p.add(own, around, from.Pos)
		p.inside(item, from, own)
	}
	for _, f := range v.Fields {
		var from lang.Field
		if i := slices.IndexFunc(origin.Fields, func(o lang.Field) bool { return o.Name == f.Name }); i >= 0 {
			from = origin.Fields[i]
		}
		own := userOwn(userOwn(around, from.Value.Pos), from.Pos)
		p.add(own, around, from.Value.Pos)
		p.inside(f.Value, from.Value, own)
	}
}

// userOwn is pos when it is in the user's own files, else near, as for
// render.Origin.Field.
func userOwn(near, pos diag.Position) diag.Position {
	if pos.IsValid() && !lang.IsLibrary(pos.File) {
		return pos
	}
	return near
}

func (r *Record) position(p diag.Position) []int {
	i, fresh := r.files.of(p.File)
	if fresh {
		r.Files = append(r.Files, p.File)
	}
	return []int{i, p.Line, p.Column}
}

// reader gives the values of a document the places that "at" has.
type reader struct {
	record *Record
	at     []place
	bad    bool
}

// next is where the next value was written, and where the value itself comes
// from.
func (r *reader) next() (own, at diag.Position) {
	if len(r.at) == 0 {
		r.bad = true
		return own, at
	}
	p := r.at[0]
	r.at = r.at[1:]
	if len(p) >= 3 {
		own = r.position(p)
		at = own
	}
	if len(p) == 6 {
		at = r.position(p[3:])
	}
	return own, at
}

func (r *reader) position(p place) diag.Position {
	if p[0] < 0 || p[0] >= len(r.record.Files) {
		r.bad = true
		return diag.Position{}
	}
	return diag.Position{File: r.record.Files[p[0]], Line: p[1], Column: p[2]}
}

// inside gives the values in v their places.
func (r *reader) inside(v lang.Value) {
	for i := range v.Items {
		_, v.Items[i].Pos = r.next()
		r.inside(v.Items[i])
	}
	for i := range v.Fields {
		f := &v.Fields[i]
		f.Pos, f.Value.Pos = r.next()
		r.inside(f.Value)
	}
}
