package diff

import (
	"reflect"

	"github.com/writ-dev/writ/cluster/api"
)

// Merge returns live with the author's will done: fields of next are set,
// fields that prev (what the author applied before) had and next has not are
// removed, and all other fields, which belong to others or are defaults, stay.
// Elements of keyed lists are merged one by one; any other list is one value.
// None of the arguments is changed, but the result shares parts with them.
func Merge(k api.Kind, prev, next, live map[string]any) map[string]any {
	return mergeObjects(rootShape(k), prev, next, live)
}

func mergeObjects(s shape, prev, next, live map[string]any) map[string]any {
	out := make(map[string]any, len(live)+len(next))
	for name, v := range live {
		was, had := prev[name]
		_, has := next[name]
		if has || !had {
			out[name] = v
		} else if rest := removed(s.member(name), was, v); rest != nil {
			out[name] = rest
		}
	}
	changed := false
	for name, n := range next {
		m := s.member(name)
		v := mergeValues(m, prev[name], n, live[name])
		changed = changed || !sameValue(m, live[name], v)
		if v == nil {
			delete(out, name)
		} else {
			out[name] = v
		}
	}
	if s.retain && changed {
		for name := range out {
			if _, ok := next[name]; !ok {
				delete(out, name)
			}
		}
	}
	return out
}

// removed is what stays of live when the author no longer writes it: members
// of a map, and elements of a keyed list, that others added. Of anything else
// nothing stays, for what is beside the author's fields are their defaults.
func removed(s shape, prev, live any) any {
	switch l := live.(type) {
	case map[string]any:
		if p, ok := prev.(map[string]any); ok && s.typ != nil && s.typ.Kind() == reflect.Map {
			if rest := mergeObjects(s, p, nil, l); len(rest) > 0 {
				return rest
			}
		}
	case []any:
		if p, ok := prev.([]any); ok && len(s.keys) > 0 {
			if rest := mergeLists(s, p, nil, l); len(rest) > 0 {
				return rest
			}
		}
	}
	return nil
}

func mergeValues(s shape, prev, next, live any) any {
	switch n := next.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok || isLeaf(s.typ) {
			return next
		}
		p, _ := prev.(map[string]any)
		return mergeObjects(s, p, n, l)
	case []any:
		l, ok := live.([]any)
		if !ok {
			return next
		}
		p, _ := prev.([]any)
		return mergeLists(s, p, n, l)
	}
	if sameScalar(s, next, live) && live != nil {
		return live
	}
	return next
}

func mergeLists(s shape, prev, next, live []any) []any {
	prevIndex, ok1 := keyed(s.keys, prev)
	nextIndex, ok2 := keyed(s.keys, next)
	liveIndex, ok3 := keyed(s.keys, live)
	if !ok1 || !ok2 || !ok3 {
		return mergePositional(s, prev, next, live)
	}
	element := s.element()
	element.retain = s.retain
	merged := make(map[string]any, len(next))
	for key, i := range nextIndex {
		var p, l any
		if j, ok := prevIndex[key]; ok {
			p = prev[j]
		}
		if j, ok := liveIndex[key]; ok {
			l = live[j]
		}
		merged[key] = mergeValues(element, p, next[i], l)
	}
	// What others added stays; so does the live order, while the elements of
	// next keep theirs in it and none is new in the middle.
	var kept []any
	out := []any{}
	for _, e := range live {
		key := elementKey(s.keys, e)
		_, mine := nextIndex[key]
		_, was := prevIndex[key]
		if !mine && !was {
			kept = append(kept, e)
		}
	}
	if order(s.keys, live, nextIndex) == order(s.keys, next, nextIndex) {
		for _, e := range live {
			key := elementKey(s.keys, e)
			if m, mine := merged[key]; mine {
				out = append(out, m)
			} else if _, was := prevIndex[key]; !was {
				out = append(out, e)
			}
		}
		return out
	}
	for _, e := range next {
		out = append(out, merged[elementKey(s.keys, e)])
	}
	return append(out, kept...)
}

// mergePositional replaces a list without identities by next. Where nothing
// but defaults can have been added, the elements keep them: an element that
// was written as before keeps its live form.
func mergePositional(s shape, prev, next, live []any) []any {
	if len(prev) != len(live) || len(next) != len(live) {
		return next
	}
	element := s.element()
	out := make([]any, len(next))
	for i := range next {
		if !sameValue(element, prev[i], next[i]) {
			return next
		}
		out[i] = mergeValues(element, prev[i], next[i], live[i])
	}
	return out
}

// sameValue reports whether two values of one shape mean the same.
func sameValue(s shape, a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	var c comparison
	c.values(s, "", a, b)
	return len(c.changes) == 0
}
