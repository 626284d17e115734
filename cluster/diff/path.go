package diff

import (
	"strconv"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
)

// Keyed rewrites a path that names list elements by index, within tree, into
// the form of Change.Path: elements of keyed lists by key. The rewritten path
// finds the same field in another version of the object. What cannot be
// followed stays as it is.
func Keyed(k api.Kind, tree map[string]any, path string) string {
	s := rootShape(k)
	var v any = tree
	out := ""
	for path != "" {
		var step string
		step, path = cut(path)
		if name, ok := memberName(step); ok {
			m, _ := v.(map[string]any)
			v, s = m[name], s.member(name)
			out += step
			continue
		}
		list, _ := v.([]any)
		i, err := strconv.Atoi(strings.Trim(step, "[]"))
		if err != nil || i < 0 || i >= len(list) {
			return out + step + path
		}
		key := ""
		if _, ok := keyed(s.keys, list); ok {
			key = elementKey(s.keys, list[i])
		}
		if key != "" {
			step = "[" + key + "]"
		}
		v, s = list[i], s.element()
		out += step
	}
	return out
}

// cut takes the first step, ".name" or "[...]", off a path.
func cut(path string) (step, rest string) {
	if strings.HasPrefix(path, `["`) {
		if quoted, err := strconv.QuotedPrefix(path[1:]); err == nil && strings.HasPrefix(path[1+len(quoted):], "]") {
			end := len(quoted) + 2
			return path[:end], path[end:]
		}
		return path, ""
	}
	if path[0] == '[' {
		if end := strings.IndexByte(path, ']'); end > 0 {
			return path[:end+1], path[end+1:]
		}
		return path, ""
	}
	if end := strings.IndexAny(path[1:], ".["); end >= 0 {
		return path[:end+1], path[end+1:]
	}
	return path, ""
}

// memberName is the member that a step names, if it is no list index.
func memberName(step string) (string, bool) {
	if name, ok := strings.CutPrefix(step, "."); ok {
		return name, true
	}
	if strings.HasPrefix(step, `["`) {
		name, err := strconv.Unquote(strings.TrimSuffix(step[1:], "]"))
		return name, err == nil
	}
	return "", false
}

// Get returns the value at a path in the form of Change.Path, and whether there
// is one.
func Get(k api.Kind, tree map[string]any, path string) (any, bool) {
	s := rootShape(k)
	var v any = tree
	for path != "" {
		var step string
		step, path = cut(path)
		if name, ok := memberName(step); ok {
			m, _ := v.(map[string]any)
			if v, ok = m[name]; !ok {
				return nil, false
			}
			s = s.member(name)
			continue
		}
		list, _ := v.([]any)
		id := strings.Trim(step, "[]")
		if id == "order" {
			return keyList(s.keys, list), true
		}
		i, err := strconv.Atoi(id)
		if err != nil {
			index, _ := keyed(s.keys, list)
			var ok bool
			if i, ok = index[id]; !ok {
				return nil, false
			}
		}
		if i < 0 || i >= len(list) {
			return nil, false
		}
		v, s = list[i], s.element()
	}
	return v, true
}
