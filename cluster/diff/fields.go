package diff

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
)

// Set is a set of an object's fields. In JSON it is the form that
// metadata.managedFields has, metav1.FieldsV1: a step is "f:name" for a member
// and `k:{"name":"web"}` for an element of a keyed list, "." stands for the
// element itself, and what has no steps below it is in the set as a whole.
type Set map[string]Set

// Fields returns the fields that an author has set in tree. Names, versions
// and what else only the server writes are no fields of anybody.
func Fields(k api.Kind, tree map[string]any) Set {
	return fieldsOf(rootShape(k), authored(k, tree))
}

// Written returns the fields of new that are not so in old.
func Written(k api.Kind, old, new map[string]any) Set {
	s, _ := written(rootShape(k), authored(k, old), authored(k, new))
	return s
}

// Removed returns the fields of old that are not in new.
func Removed(k api.Kind, old, new map[string]any) Set {
	return Fields(k, old).Minus(Fields(k, new))
}

// unauthored are the metadata fields that are nobody's.
var unauthored = []string{
	"name", "namespace", "generateName", "uid", "resourceVersion", "generation", "creationTimestamp",
	"deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink",
}

func authored(k api.Kind, tree map[string]any) map[string]any {
	out := maps.Clone(tree)
	delete(out, "apiVersion")
	delete(out, "kind")
	if k.Status {
		delete(out, "status")
	}
	if m, ok := out["metadata"].(map[string]any); ok {
		m = maps.Clone(m)
		for _, name := range unauthored {
			delete(m, name)
		}
		delete(out, "metadata")
		if len(m) > 0 {
			out["metadata"] = m
		}
	}
	return out
}

func fieldsOf(s shape, v any) Set {
	out := Set{}
	switch x := v.(type) {
	case map[string]any:
		if isLeaf(s.typ) {
			return out
		}
		for name, member := range x {
			if m := s.member(name); !absent(m, member) {
				out["f:"+name] = fieldsOf(m, member)
			}
		}
	case []any:
		if _, ok := keyed(s.keys, x); !ok {
			return out
		}
		for _, element := range x {
			fields := fieldsOf(s.element(), element)
			fields["."] = Set{}
			out[elementStep(s.keys, element)] = fields
		}
	}
	return out
}

// written is the fields of new that differ; false when none does.
func written(s shape, old, new any) (Set, bool) {
	if absent(s, new) && absent(s, old) || new == nil {
		return nil, false
	}
	out := Set{}
	switch n := new.(type) {
	case map[string]any:
		o, ok := old.(map[string]any)
		if !ok || isLeaf(s.typ) || len(n) == 0 {
			break
		}
		for name, member := range n {
			if fields, ok := written(s.member(name), o[name], member); ok {
				out["f:"+name] = fields
			}
		}
		return out, len(out) > 0
	case []any:
		o, ok := old.([]any)
		oldIndex, ok1 := keyed(s.keys, o)
		_, ok2 := keyed(s.keys, n)
		if !ok || !ok1 || !ok2 {
			break
		}
		for _, element := range n {
			i, existed := oldIndex[elementKey(s.keys, element)]
			if !existed {
				fields := fieldsOf(s.element(), element)
				fields["."] = Set{}
				out[elementStep(s.keys, element)] = fields
			} else if fields, ok := written(s.element(), o[i], element); ok {
				out[elementStep(s.keys, element)] = fields
			}
		}
		return out, len(out) > 0
	}
	if sameValue(s, old, new) {
		return nil, false
	}
	return fieldsOf(s, new), true
}

// elementStep names an element of a keyed list in a Set.
func elementStep(keys []string, element any) string {
	m, _ := element.(map[string]any)
	id := make(map[string]any, len(keys))
	for _, k := range keys {
		id[k] = m[k]
		if m[k] == nil {
			id[k] = keyDefaults[k]
		}
	}
	b, err := json.Marshal(id)
	if err != nil {
		return "k:" + elementKey(keys, element) // cannot be: these are scalars
	}
	return "k:" + string(b)
}

// Union returns the fields that are in s or in other.
func (s Set) Union(other Set) Set {
	out := maps.Clone(s)
	if out == nil {
		out = Set{}
	}
	for step, below := range other {
		out[step] = out[step].Union(below)
	}
	return out
}

// Minus returns the fields of s that are not in other. A field that other has
// as a whole goes with all that is below it.
func (s Set) Minus(other Set) Set {
	out := Set{}
	for step, below := range s {
		gone, ok := other[step]
		switch {
		case !ok:
			out[step] = below
		case len(gone) == 0 || len(below) == 0:
		default:
			if rest := below.Minus(gone); len(rest) > 0 {
				out[step] = rest
			}
		}
	}
	return out
}

// Paths lists the fields, sorted, as paths like those of Change.
func (s Set) Paths() []string {
	var out []string
	s.paths("", &out)
	slices.Sort(out)
	return out
}

func (s Set) paths(at string, out *[]string) {
	for step, below := range s {
		path := at
		if name, ok := strings.CutPrefix(step, "f:"); ok {
			path = api.FieldPath(at, name)
		} else if id, ok := strings.CutPrefix(step, "k:"); ok {
			path = at + "[" + selector(id) + "]"
		}
		if len(below) == 0 {
			*out = append(*out, path)
		} else {
			below.paths(path, out)
		}
	}
}

// selector turns `{"name":"web"}` into "name=web".
func selector(id string) string {
	var m map[string]any
	d := json.NewDecoder(strings.NewReader(id))
	d.UseNumber()
	if d.Decode(&m) != nil {
		return id
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		text, _ := scalarText(m[k])
		parts = append(parts, k+"="+text)
	}
	return strings.Join(parts, ",")
}
