package admission

import "encoding/json"

// tree is a decoded JSON object being given its defaults. A nil tree takes
// every call and changes nothing, so that a value of the wrong type needs no
// special care.
type tree map[string]any

// sub returns the member key, or nil when it is no object.
func (t tree) sub(key string) tree {
	m, _ := t[key].(map[string]any)
	return m
}

// make is sub, but adds an empty object when the member is absent.
func (t tree) make(key string) tree {
	if t != nil && t[key] == nil {
		t[key] = map[string]any{}
	}
	return t.sub(key)
}

// list returns the objects in the list key.
func (t tree) list(key string) []tree {
	items, _ := t[key].([]any)
	var out []tree
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func (t tree) has(key string) bool { return t[key] != nil }

// init sets an absent member. It is for fields that are pointers in Go, where
// zero and absent differ.
func (t tree) init(key string, v any) {
	if t != nil && t[key] == nil {
		t[key] = v
	}
}

// fill sets a member that is absent, "" or 0. It is for fields that are plain
// values in Go, where zero means absent.
func (t tree) fill(key string, v any) {
	if t == nil {
		return
	}
	switch x := t[key].(type) {
	case nil:
	case string:
		if x != "" {
			return
		}
	case json.Number:
		if x != "0" {
			return
		}
	default:
		return
	}
	t[key] = v
}
