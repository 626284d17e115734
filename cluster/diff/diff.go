// Package diff compares and merges API objects the way the API means them:
// quantities by value, keyed lists by key, zero, empty and null like absent
// where the type makes no difference. What a type means is read from the Go
// types of the kinds served. It is pure, and numbers stay exact throughout.
package diff

import (
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/writ-dev/writ/cluster/api"
)

// Change is one field that differs. Path is like
// ".spec.template.spec.containers[name=web].image": a list with a merge key
// names its element by key, any other list by index. Old and New are decoded
// JSON (json.Number for numbers); nil means absent.
type Change struct {
	Path string `json:"path"`
	Old  any    `json:"old,omitempty"`
	New  any    `json:"new,omitempty"`
}

// Compare lists the fields in which new differs from old, sorted by the names
// on the way to them. A subtree that is added or removed is one change.
func Compare(k api.Kind, old, new map[string]any) []Change {
	var c comparison
	c.objects(rootShape(k), "", old, new)
	return c.changes
}

// comparison collects changes.
type comparison struct {
	changes []Change
}

func (c *comparison) add(path string, old, new any) {
	c.changes = append(c.changes, Change{Path: path, Old: old, New: new})
}

func (c *comparison) values(s shape, path string, old, new any) {
	if absent(s, old) && absent(s, new) {
		return
	}
	switch o := old.(type) {
	case map[string]any:
		if n, ok := new.(map[string]any); ok && !isLeaf(s.typ) {
			c.objects(s, path, o, n)
			return
		}
	case []any:
		if n, ok := new.([]any); ok {
			c.lists(s, path, o, n)
			return
		}
	}
	if !sameScalar(s, old, new) {
		c.add(path, old, new)
	}
}

func (c *comparison) objects(s shape, path string, old, new map[string]any) {
	for _, name := range memberNames(old, new) {
		c.values(s.member(name), api.FieldPath(path, name), old[name], new[name])
	}
}

func (c *comparison) lists(s shape, path string, old, new []any) {
	oldIndex, ok1 := keyed(s.keys, old)
	newIndex, ok2 := keyed(s.keys, new)
	if !ok1 || !ok2 {
		c.positional(s, path, old, new)
		return
	}
	for _, element := range new {
		key := elementKey(s.keys, element)
		at := path + "[" + key + "]"
		if i, ok := oldIndex[key]; ok {
			c.values(s.element(), at, old[i], element)
		} else {
			c.add(at, nil, element)
		}
	}
	for _, element := range old {
		key := elementKey(s.keys, element)
		if _, ok := newIndex[key]; !ok {
			c.add(path+"["+key+"]", element, nil)
		}
	}
	if order(s.keys, old, newIndex) != order(s.keys, new, oldIndex) {
		c.add(path+"[order]", keyList(s.keys, old), keyList(s.keys, new))
	}
}

// positional compares lists whose elements have no identity.
func (c *comparison) positional(s shape, path string, old, new []any) {
	for i := range max(len(old), len(new)) {
		at := api.IndexPath(path, i)
		switch {
		case i >= len(old):
			c.add(at, nil, new[i])
		case i >= len(new):
			c.add(at, old[i], nil)
		default:
			c.values(s.element(), at, old[i], new[i])
		}
	}
}

// order is the sequence of those elements that the other list has too.
func order(keys []string, list []any, other map[string]int) string {
	text := ""
	for _, element := range list {
		k := elementKey(keys, element)
		if _, ok := other[k]; ok {
			text += k + "\n"
		}
	}
	return text
}

func keyList(keys []string, list []any) []any {
	names := make([]any, len(list))
	for i, element := range list {
		names[i] = elementKey(keys, element)
	}
	return names
}

// Equal reports whether two objects mean the same.
func Equal(k api.Kind, a, b map[string]any) bool { return len(Compare(k, a, b)) == 0 }

// absent reports whether v means the same as no value at all.
func absent(s shape, v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case map[string]any:
		// An empty struct behind a pointer, such as emptyDir: {}, is a choice.
		t := s.typ
		if t != nil && t.Kind() == reflect.Struct && s.optional {
			for name, member := range x {
				if !absent(s.member(name), member) {
					return false
				}
			}
			return true
		}
		return len(x) == 0 && t != nil && t.Kind() == reflect.Map
	case []any:
		return len(x) == 0 && s.typ != nil
	case bool:
		return s.optional && !x
	case string:
		return s.optional && x == "" && s.typ.Kind() == reflect.String
	case json.Number:
		return s.optional && x.String() == "0" && !isLeaf(s.typ)
	}
	return false
}

func sameScalar(s shape, a, b any) bool {
	ta, ok1 := scalarText(a)
	tb, ok2 := scalarText(b)
	if !ok1 || !ok2 {
		return reflect.DeepEqual(a, b)
	}
	if s.isQuantity() {
		qa, err1 := resource.ParseQuantity(ta)
		qb, err2 := resource.ParseQuantity(tb)
		if err1 == nil && err2 == nil {
			return qa.Cmp(qb) == 0
		}
	}
	if reflect.TypeOf(a) != reflect.TypeOf(b) {
		return false
	}
	if _, number := a.(json.Number); number && ta != tb && len(ta)+len(tb) < 200 {
		ra, ok1 := new(big.Rat).SetString(ta)
		rb, ok2 := new(big.Rat).SetString(tb)
		return ok1 && ok2 && ra.Cmp(rb) == 0
	}
	return ta == tb
}

// scalarText is a scalar's text; false for absent values and containers.
func scalarText(v any) (string, bool) {
	switch x := v.(type) {
	case string:
		return x, true
	case json.Number:
		return x.String(), true
	case bool:
		return strconv.FormatBool(x), true
	}
	return "", false
}

func memberNames(maps ...map[string]any) []string {
	var names []string
	for _, m := range maps {
		for name := range m {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
