package render

import (
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
	if len(c.docs) == 0 && len(c.errs) == 0 {
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
	slices.SortStableFunc(c.docs, compareDocuments)
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
	origin := Origin{Pos: near, Path: path, Value: v}
	tree, _ := toTree(v).(map[string]any)
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		group = ""
	}
	meta, ok := tree["metadata"].(map[string]any)
	if !ok {
		c.fail(near, path, "", kind+" has no metadata", "add metadata with a name")
		return
	}
	if name, ok := meta["name"].(string); !ok || name == "" {
		message, hint := kind+" has no name", "add metadata.name"
		if _, ok := meta["generateName"]; ok {
			hint = "replace metadata.generateName by a name: a document must be the same thing on every application"
		}
		c.fail(origin.Field(".metadata"), path, ".metadata", message, hint)
		return
	}
	if k, served := api.Lookup(group, kind); served && k.Namespaced {
		if ns, has := meta["namespace"]; !has || ns == "" {
			meta["namespace"] = c.namespace
		}
	}
	o, err := object.FromTree(tree)
	if err != nil {
		p, message := splitPath(err.Error())
		message, hint, _ := strings.Cut(message, "; ")
		c.errs = append(c.errs, diag.Diagnostic{
			Code: "RENDER004", Pos: origin.Field(p), Object: kind + " " + meta["name"].(string), Path: p, Message: message, Hint: hint,
		})
		return
	}
	c.docs = append(c.docs, Document{Object: o, Origin: origin})
}

func (c *collector) fail(pos diag.Position, path, sub, message, hint string) {
	c.errs = append(c.errs, diag.Diagnostic{Code: "RENDER004", Pos: pos, Path: path + sub, Message: message, Hint: hint})
}

// refuseDuplicates reports every document whose identity another one has.
func (c *collector) refuseDuplicates() {
	first := map[object.Key]diag.Position{}
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

// compareDocuments is the canonical order: apply order first, so that what
// others need comes before them.
func compareDocuments(a, b Document) int {
	ka, kb := a.Object.Key(), b.Object.Key()
	return cmp.Or(
		cmp.Compare(rank(ka), rank(kb)),
		strings.Compare(ka.Group, kb.Group),
		strings.Compare(ka.Kind, kb.Kind),
		strings.Compare(ka.Namespace, kb.Namespace),
		strings.Compare(ka.Name, kb.Name),
	)
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
