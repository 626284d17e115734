package render

import (
	"maps"
	"reflect"
	"slices"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
)

// Difference is one document that two bundles do not have in common.
type Difference struct {
	Key object.Key
	// Path is the first field that differs; empty when only one bundle has the
	// document.
	Path string
	// Old and New are decoded JSON; nil where there is nothing.
	Old, New any
	// OldPos and NewPos are where they were written.
	OldPos, NewPos diag.Position
}

// Compare lists the documents in which new differs from old, in the order of
// bundles. Equal bundles have none, and only they.
func Compare(old, new *Bundle) []Difference {
	index := func(b *Bundle) map[object.Key]Document {
		m := make(map[object.Key]Document, len(b.Documents))
		for _, d := range b.Documents {
			m[d.Object.Key()] = d
		}
		return m
	}
	before, after := index(old), index(new)
	var out []Difference
	for _, d := range old.Documents {
		k := d.Object.Key()
		n, ok := after[k]
		if !ok {
			out = append(out, Difference{Key: k, Old: d.Object.Tree(), OldPos: d.Origin.Pos})
			continue
		}
		if path, a, b, differs := firstDifference("", d.Object.Tree(), n.Object.Tree()); differs {
			out = append(out, Difference{Key: k, Path: path, Old: a, New: b, OldPos: d.Origin.Field(path), NewPos: n.Origin.Field(path)})
		}
	}
	for _, d := range new.Documents {
		if _, ok := before[d.Object.Key()]; !ok {
			out = append(out, Difference{Key: d.Object.Key(), New: d.Object.Tree(), NewPos: d.Origin.Pos})
		}
	}
	return out
}

// firstDifference compares decoded JSON, fields in the order of their names.
func firstDifference(path string, a, b any) (at string, x, y any, differs bool) {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			break
		}
		names := map[string]bool{}
		for n := range a {
			names[n] = true
		}
		for n := range b {
			names[n] = true
		}
		for _, n := range slices.Sorted(maps.Keys(names)) {
			if at, x, y, differs := firstDifference(api.FieldPath(path, n), a[n], b[n]); differs {
				return at, x, y, true
			}
		}
		return "", nil, nil, false
	case []any:
		b, ok := b.([]any)
		if !ok {
			break
		}
		for i := range max(len(a), len(b)) {
			var x, y any
			if i < len(a) {
				x = a[i]
			}
			if i < len(b) {
				y = b[i]
			}
			if at, x, y, differs := firstDifference(api.IndexPath(path, i), x, y); differs {
				return at, x, y, true
			}
		}
		return "", nil, nil, false
	}
	return path, a, b, !reflect.DeepEqual(a, b)
}
