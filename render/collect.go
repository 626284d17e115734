package render

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// collector finds the documents of a value.
type collector struct {
	namespace string
	docs      []Document
	errs      diag.List
}

// collect finds, identifies and orders the documents in v.
func collect(v lang.Value, o Options) ([]Document, error) {
	c := collector{namespace: o.Namespace}
	c.walk(v, "", diag.Position{})
	if len(c.docs) == 0 && len(c.errs) == 0 && !o.Optional {
		c.errs = diag.List{{
			Code: "RENDER003", Pos: cmp.Or(v.Pos, diag.Position{File: o.Entry}),
			Message: "the program has no document: its result is " + describe(v),
			Hint:    "a document is an object with apiVersion and kind; it may be nested in other objects and lists",
		}}
	}
	c.refuseDuplicates()
	if err := c.errs.Err(); err != nil {
		return nil, err
	}
	order(c.docs)
	return c.docs, nil
}

// walk looks for documents in v, which is at path. near is the position, in
// the user's own files, of the field that v is in.
func (c *collector) walk(v lang.Value, path string, near diag.Position) {
	near = own(near, v.Pos)
	switch v.Kind {
	case lang.List:
		for i, item := range v.Items {
			c.walk(item, api.IndexPath(path, i), near)
		}
	case lang.Object:
		if c.document(v, path, near) {
			return
		}
		for _, f := range v.Fields {
			c.walk(f.Value, api.FieldPath(path, f.Name), own(near, f.Pos))
		}
	}
}

// document takes v when it is a document, or a mistaken one.
func (c *collector) document(v lang.Value, path string, near diag.Position) bool {
	near = own(near, v.Pos)
	apiVersion, hasVersion := stringField(v, "apiVersion")
	kind, hasKind := stringField(v, "kind")
	_, hasMetadata := v.Field("metadata")
	switch {
	case hasVersion && hasKind:
	case hasMetadata && (hasVersion || hasKind):
		missing := "kind"
		if hasKind {
			missing = "apiVersion"
		}
		c.fail(near, path, "", "document has no "+missing, "add "+missing+" beside metadata")
		return true
	default:
		return false
	}
	items, hasItems := v.Field("items")
	if kind == "List" || hasItems && strings.HasSuffix(kind, "List") {
		c.list(items, path+".items", kind, near)
		return true
	}
	c.add(v, path, near, apiVersion, kind)
	return true
}

// list takes the items of a List, which must all be documents.
func (c *collector) list(items lang.Value, path, kind string, near diag.Position) {
	near = own(near, items.Pos)
	if items.Kind != lang.List && items.Kind != lang.Null {
		c.fail(near, path, "", "must be a list", "")
		return
	}
	for i, item := range items.Items {
		p := api.IndexPath(path, i)
		if item.Kind != lang.Object || !c.document(item, p, near) {
			c.fail(own(near, item.Pos), p, "", "an item of a "+kind+" must be a document", "give it apiVersion and kind")
		}
	}
}

// add makes a document of v.
func (c *collector) add(v lang.Value, path string, near diag.Position, apiVersion, kind string) {
	origin := NewOrigin(near, path, v)
	v = withoutNulls(v)
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		group = ""
	}
	meta, _ := v.Field("metadata")
	if meta.Kind != lang.Object {
		c.fail(near, path, "", kind+" has no metadata", "add metadata with a name")
		return
	}
	name, ok := stringField(meta, "name")
	if !ok {
		message, hint := kind+" has no name", "add metadata.name"
		if _, ok := meta.Field("generateName"); ok {
			hint = "replace metadata.generateName by a name: a document must be the same thing on every application"
		}
		c.fail(origin.Field(".metadata"), path, ".metadata", message, hint)
		return
	}
	if k, known := api.Known(group, kind); known && k.Namespaced {
		if ns, has := meta.Field("namespace"); !has || ns.Kind == lang.String && ns.Text == "" {
			meta = withField(meta, "namespace", lang.Value{Kind: lang.String, Text: c.namespace})
			v = withField(v, "metadata", meta)
		}
	}
	o, err := object.ParseHead(encode(v), encode(lang.Value{Kind: lang.Object, Fields: []lang.Field{
		{Name: "apiVersion", Value: lang.Value{Kind: lang.String, Text: apiVersion}},
		{Name: "kind", Value: lang.Value{Kind: lang.String, Text: kind}},
		{Name: "metadata", Value: meta},
	}}))
	if err != nil {
		p, message := splitPath(err.Error())
		message, hint, _ := strings.Cut(message, "; ")
		c.errs = append(c.errs, diag.Diagnostic{
			Code: "RENDER004", Pos: origin.Field(p), Object: kind + " " + name, Path: p, Message: message, Hint: hint,
		})
		return
	}
	c.docs = append(c.docs, Document{Object: o, Origin: origin})
}

// encode makes canonical JSON, byte for byte what object.Marshal makes of the
// same document.
func encode(v lang.Value) []byte {
	b := v.AppendJSON(nil)
	for _, separator := range []string{"\u2028", "\u2029"} {
		if bytes.Contains(b, []byte(separator)) {
			b = bytes.ReplaceAll(b, []byte(separator), fmt.Appendf(nil, `\u%x`, []rune(separator)[0]))
		}
	}
	return b
}

// withoutNulls is v without the null members of its objects: null means
// absent, in every later step alike. A value that has none is not copied.
func withoutNulls(v lang.Value) lang.Value {
	v, _ = dropNulls(v)
	return v
}

func dropNulls(v lang.Value) (_ lang.Value, changed bool) {
	switch v.Kind {
	case lang.List:
		var items []lang.Value
		for i, item := range v.Items {
			item, other := dropNulls(item)
			if other && items == nil {
				items = slices.Clone(v.Items)
			}
			if other {
				items[i] = item
			}
		}
		if items == nil {
			return v, false
		}
		v.Items = items
	case lang.Object:
		var fields []lang.Field // when it is not nil, the first i fields of v as they are to be
		for i, f := range v.Fields {
			value, other := dropNulls(f.Value)
			if (other || value.Kind == lang.Null) && !changed {
				fields, changed = append(make([]lang.Field, 0, len(v.Fields)), v.Fields[:i]...), true
			}
			if changed && value.Kind != lang.Null {
				fields = append(fields, lang.Field{Name: f.Name, Pos: f.Pos, Value: value})
			}
		}
		if !changed {
			return v, false
		}
		v.Fields = fields
	default:
		return v, false
	}
	return v, true
}

// withField is a copy of an object with one member set.
func withField(v lang.Value, name string, value lang.Value) lang.Value {
	i, found := slices.BinarySearchFunc(v.Fields, name, func(f lang.Field, name string) int { return strings.Compare(f.Name, name) })
	fields := slices.Clone(v.Fields)
	if !found {
		fields = slices.Insert(fields, i, lang.Field{Name: name})
	}
	fields[i].Value = value
	v.Fields = fields
	return v
}

func (c *collector) fail(pos diag.Position, path, sub, message, hint string) {
	c.errs = append(c.errs, diag.Diagnostic{Code: "RENDER004", Pos: pos, Path: path + sub, Message: message, Hint: hint})
}

// refuseDuplicates reports every document whose identity another one has.
func (c *collector) refuseDuplicates() {
	first := make(map[object.Key]diag.Position, len(c.docs))
	for _, d := range c.docs {
		k := d.Object.Key()
		pos, dup := first[k]
		if !dup {
			first[k] = d.Origin.Pos
			continue
		}
		c.errs = append(c.errs, diag.Diagnostic{
			Code: "RENDER005", Pos: d.Origin.Pos, Object: k.String(),
			Message: "is written twice",
			Notes:   []diag.Note{{Pos: pos, Text: "the other one"}},
			Hint:    "give one of them another name or namespace, or remove it",
		})
	}
}

// order sorts documents canonically: apply order first, so that what others
// need comes before them.
func order(docs []Document) {
	type ranked struct {
		rank int
		key  object.Key
		doc  Document
	}
	all := make([]ranked, len(docs))
	for i, d := range docs {
		k := d.Object.Key()
		all[i] = ranked{rank(k), k, d}
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		return cmp.Or(
			cmp.Compare(a.rank, b.rank),
			strings.Compare(a.key.Group, b.key.Group),
			strings.Compare(a.key.Kind, b.key.Kind),
			strings.Compare(a.key.Namespace, b.key.Namespace),
			strings.Compare(a.key.Name, b.key.Name),
		)
	})
	for i, r := range all {
		docs[i] = r.doc
	}
}

func rank(k object.Key) int {
	i := slices.IndexFunc(api.Kinds, func(s api.Kind) bool { return s.Group == k.Group && s.Kind == k.Kind })
	if i < 0 {
		return len(api.Kinds)
	}
	return i
}

// digest is over the canonical documents, one a line.
func digest(docs []Document) string {
	h := sha256.New()
	for _, d := range docs {
		h.Write(d.Object.JSON())
		h.Write([]byte{'\n'})
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func stringField(v lang.Value, name string) (string, bool) {
	f, ok := v.Field(name)
	return f.Text, ok && f.Kind == lang.String && f.Text != ""
}

func describe(v lang.Value) string {
	switch v.Kind {
	case lang.Null:
		return "null"
	case lang.Bool, lang.Number:
		return v.Text
	case lang.String:
		return "a string"
	case lang.List:
		return fmt.Sprintf("a list of %d", len(v.Items))
	}
	if len(v.Fields) == 0 {
		return "an empty object"
	}
	names := make([]string, 0, 5)
	for i, f := range v.Fields {
		if i == 4 {
			names = append(names, "...")
			break
		}
		names = append(names, f.Name)
	}
	return "an object with the fields " + strings.Join(names, ", ")
}
