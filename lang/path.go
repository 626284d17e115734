package lang

import (
	"iter"
	"strconv"
	"strings"
)

// JoinField extends a path by a member: ".spec" and "replicas" make
// ".spec.replicas". A name that is not a plain word is quoted in brackets:
// .metadata.labels["app.kubernetes.io/name"].
func JoinField(path, name string) string {
	if plainName(name) {
		return path + "." + name
	}
	return path + "[" + strconv.Quote(name) + "]"
}

// JoinIndex extends a path by a list element: ".spec.containers[0]".
func JoinIndex(path string, i int) string {
	return path + "[" + strconv.Itoa(i) + "]"
}

func plainName(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		case i > 0 && (c == '-' || '0' <= c && c <= '9'):
		default:
			return false
		}
	}
	return s != ""
}

// All yields v and everything inside it with its path, parents first and in
// the order of the tree. The path of v itself is "".
func (v Value) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		v.walk("", yield)
	}
}

func (v Value) walk(path string, yield func(string, Value) bool) bool {
	if !yield(path, v) {
		return false
	}
	for i, item := range v.Items {
		if !item.walk(JoinIndex(path, i), yield) {
			return false
		}
	}
	for _, f := range v.Fields {
		if !f.Value.walk(JoinField(path, f.Name), yield) {
			return false
		}
	}
	return true
}

// At returns the value at a path as All and the Join functions write it, and
// whether there is one.
func (v Value) At(path string) (Value, bool) {
	elements, ok := SplitPath(path)
	if !ok {
		return Value{}, false
	}
	return v.Inside(elements)
}

// Inside returns the value at a path that is taken apart, and whether there is
// one.
func (v Value) Inside(elements []Element) (Value, bool) {
	for _, e := range elements {
		ok := v.Kind == List && e.Index < len(v.Items)
		if e.Index < 0 {
			v, ok = v.Field(e.Name)
		} else if ok {
			v = v.Items[e.Index]
		}
		if !ok {
			return Value{}, false
		}
	}
	return v, true
}

// Element is one step of a path: a member's name, with Index -1, or the index of
// a list's element.
type Element struct {
	Name  string
	Index int
}

// SplitPath takes a path apart that is written as the Join functions do, and
// reports whether it is one.
func SplitPath(path string) ([]Element, bool) {
	var elements []Element
	for path != "" {
		name, index, rest, ok := step(path)
		if !ok {
			return nil, false
		}
		elements = append(elements, Element{name, index})
		path = rest
	}
	return elements, true
}

// JoinPath is the path of elements.
func JoinPath(elements []Element) string {
	path := ""
	for _, e := range elements {
		if e.Index >= 0 {
			path = JoinIndex(path, e.Index)
		} else {
			path = JoinField(path, e.Name)
		}
	}
	return path
}

// step splits the first element off a path: a name with index -1, or an index.
func step(path string) (name string, index int, rest string, ok bool) {
	if path[0] == '.' {
		rest = path[1:]
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		return rest[:end], -1, rest[end:], end > 0
	}
	if strings.HasPrefix(path, `["`) {
		quoted, err := strconv.QuotedPrefix(path[1:])
		if err != nil || !strings.HasPrefix(path[1+len(quoted):], "]") {
			return "", 0, "", false
		}
		name, err = strconv.Unquote(quoted)
		return name, -1, path[len(quoted)+2:], err == nil
	}
	end := strings.IndexByte(path, ']')
	if path[0] != '[' || end < 0 {
		return "", 0, "", false
	}
	index, err := strconv.Atoi(path[1:end])
	return "", index, path[end+1:], err == nil && index >= 0
}
