// Package render turns a directory of configuration into a Bundle: ordered,
// canonical documents with a digest, each remembering where it was written.
// After render everything is data.
//
// A document is any object in the program's result that has an apiVersion and
// a kind, however deeply nested; the items of a List are documents of their
// own. A null field means the same as no field. Render never talks to a
// cluster and validates nothing but identity: see render/check.
package render

import (
	"sync"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// Document is one API object and where it came from.
type Document struct {
	Object object.Object
	Origin Origin
}

// Bundle is the result of rendering: documents sorted by apply order, then
// group, kind, namespace and name. Digest is "sha256:" and hex over the
// canonical documents only, so it is equal wherever the same documents are
// rendered. Inputs are those that the program has.
type Bundle struct {
	Documents []Document
	Digest    string
	Inputs    map[string]string
	Reads     []lang.Read
}

// Origin maps the fields of a document to source positions.
type Origin struct {
	// Pos is where the document itself starts.
	Pos diag.Position
	// Path is where the document is in the program's value.
	Path string

	value *originValue
}

// originValue is an evaluated tree. One that comes from the cache is unpacked
// when it is first asked for: most often nobody asks.
type originValue struct {
	once   sync.Once
	packed []byte
	value  lang.Value
}

// NewOrigin is the origin of a document that is v, at path in the program's
// value.
func NewOrigin(pos diag.Position, path string, v lang.Value) Origin {
	return Origin{Pos: pos, Path: path, value: &originValue{value: v}}
}

// Value returns the evaluated tree with the position of every field. The zero
// Origin's is null.
func (o Origin) Value() lang.Value {
	if o.value == nil {
		return lang.Value{}
	}
	o.value.once.Do(func() {
		if o.value.packed != nil {
			// A checksum was right: only a fault in Writ makes this fail, and
			// then positions are missing.
			o.value.value, _ = lang.ParseBinary(o.value.packed)
		}
	})
	return o.value.value
}

// FromObjects is a bundle of documents that come from no sources at hand, such
// as those that were applied before.
func FromObjects(objects []object.Object) *Bundle {
	docs := make([]Document, len(objects))
	for i, o := range objects {
		docs[i] = Document{Object: o}
	}
	order(docs)
	return &Bundle{Documents: docs, Digest: digest(docs)}
}

// Find returns the document with the given key.
func (b *Bundle) Find(k object.Key) (Document, bool) {
	for _, d := range b.Documents {
		if d.Object.Key() == k {
			return d, true
		}
	}
	return Document{}, false
}
