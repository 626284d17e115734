package render

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// Field returns the position of the field at path, or of the nearest thing
// around it that has one in the user's own files: a place in the library helps
// nobody. A path is like
//
//	.spec.template.spec.containers[0].image
//	.metadata.labels["app.kubernetes.io/name"]
//	.spec.ports[port=80,protocol=TCP].name
//
// where a selector finds the first element whose fields have those values; a
// field that the element lacks is taken to match.
func (o Origin) Field(path string) diag.Position {
	pos := o.Pos
	v := o.Value()
	for path != "" {
		var step string
		step, path = nextStep(path)
		next, keyPos, ok := descend(v, step)
		if !ok {
			break
		}
		pos = own(own(pos, next.Pos), keyPos)
		v = next
	}
	return pos
}

// Lookup returns the value at a path in v, which is written as for Origin.Field,
// and whether there is one.
func Lookup(v lang.Value, path string) (lang.Value, bool) {
	for path != "" {
		var step string
		step, path = nextStep(path)
		next, _, ok := descend(v, step)
		if !ok {
			return lang.Value{}, false
		}
		v = next
	}
	return v, true
}

// Concrete returns the path that a path names when its selectors are replaced by
// what they select, and the value there. Without one it is false, with the path
// and value of the nearest thing around it.
func (o Origin) Concrete(path string) (concrete string, v lang.Value, ok bool) {
	v = o.Value()
	for path != "" {
		var step string
		step, path = nextStep(path)
		next, i, ok := descendTo(v, step)
		if !ok {
			return concrete, v, false
		}
		if v.Kind == lang.List {
			concrete = lang.JoinIndex(concrete, i)
		} else {
			concrete = lang.JoinField(concrete, v.Fields[i].Name)
		}
		v = next
	}
	return concrete, v, true
}

// own is pos when it is in the user's own files, else near.
func own(near, pos diag.Position) diag.Position {
	if pos.IsValid() && !lang.IsLibrary(pos.File) {
		return pos
	}
	return near
}

// nextStep cuts the first step off a path: ".name" or "[...]".
func nextStep(path string) (step, rest string) {
	if path[0] == '[' {
		quoted := false
		for i := 1; i < len(path); i++ {
			switch {
			case path[i] == '\\' && quoted:
				i++
			case path[i] == '"':
				quoted = !quoted
			case path[i] == ']' && !quoted:
				return path[:i+1], path[i+1:]
			}
		}
		return path, ""
	}
	end := strings.IndexAny(path[1:], ".[")
	if end < 0 {
		return path, ""
	}
	return path[:end+1], path[end+1:]
}

// descend takes one step into v. keyPos is the position of an object's field
// name; of a list's element only the value has a position.
func descend(v lang.Value, step string) (next lang.Value, keyPos diag.Position, ok bool) {
	next, i, ok := descendTo(v, step)
	if ok && v.Kind == lang.Object {
		keyPos = v.Fields[i].Pos
	}
	return next, keyPos, ok
}

// descendTo takes one step into v, to its i-th field or item.
func descendTo(v lang.Value, step string) (next lang.Value, i int, ok bool) {
	inner, bracket := strings.CutPrefix(step, "[")
	inner = strings.TrimSuffix(inner, "]")
	switch {
	case bracket && strings.HasPrefix(inner, `"`):
		var name string
		if json.Unmarshal([]byte(inner), &name) != nil {
			return v, 0, false
		}
		return field(v, name)
	case !bracket:
		return field(v, strings.TrimPrefix(step, "."))
	case v.Kind != lang.List:
		return v, 0, false
	}
	if i, err := strconv.Atoi(inner); err == nil {
		if i < 0 || i >= len(v.Items) {
			return v, 0, false
		}
		return v.Items[i], i, true
	}
	for i, item := range v.Items {
		if matches(item, inner) {
			return item, i, true
		}
	}
	return v, 0, false
}

func field(v lang.Value, name string) (lang.Value, int, bool) {
	for i, f := range v.Fields {
		if f.Name == name {
			return f.Value, i, true
		}
	}
	return v, 0, false
}

// matches reports whether item has the fields of a selector "a=b,c=d".
func matches(item lang.Value, selector string) bool {
	if item.Kind == lang.String {
		return item.Text == selector
	}
	any := false
	for part := range strings.SplitSeq(selector, ",") {
		name, want, ok := strings.Cut(part, "=")
		if !ok {
			return false
		}
		if f, has := item.Field(name); has {
			if f.Text != want {
				return false
			}
			any = true
		}
	}
	return any
}

// splitPath splits an object error ".metadata.labels: must be ..." in two.
func splitPath(message string) (path, rest string) {
	if p, r, ok := strings.Cut(message, ": "); ok && strings.HasPrefix(p, ".") {
		return p, r
	}
	return "", message
}
