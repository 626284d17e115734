package structural

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
)

// maxProblems bounds what is reported of one object.
const maxProblems = 100

// Validate reports everything in v that s does not allow. v is a value of a
// kind, for messages ("a Deployment has no field ..."). Rules are not
// evaluated: see Evaluate.
//
// The member "status" of an object of a kind is written by controllers; what
// authors have there is ignored by the API, and so only its fields' names and
// types are checked.
func (s *Schema) Validate(kind string, v any) []api.Problem {
	c := checker{kind: kind}
	c.value(s, place{}, v)
	return c.problems
}

// place is where a value is, and how it is to be checked.
type place struct {
	path string
	// name is the nearest field's name, which decides how messages speak of
	// the value.
	name string
	// loose leaves required members, enumerations and limits alone.
	loose bool
	// part says that unknown members are another schema's business: inside of
	// allOf, anyOf, oneOf and not.
	part bool
}

func (p place) field(name string) place {
	if p.path == "" && name == "status" && !p.part {
		p.loose = true
	}
	p.path, p.name = api.FieldPath(p.path, name), name
	return p
}

func (p place) index(i int) place {
	p.path = api.IndexPath(p.path, i)
	return p
}

type checker struct {
	kind     string
	problems []api.Problem
}

func (c *checker) add(code, path, message, hint string) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, api.Problem{Code: code, Path: path, Message: message, Hint: hint})
	}
}

func (c *checker) full() bool { return len(c.problems) >= maxProblems }

func (c *checker) value(s *Schema, at place, v any) {
	if v == nil || c.full() { // null means absent
		return
	}
	if !c.typed(s, at, v) {
		return
	}
	switch x := v.(type) {
	case map[string]any:
		c.object(s, at, x)
	case []any:
		c.list(s, at, x)
	}
	if at.loose {
		return
	}
	c.enum(s, at, v)
	c.limits(s, at, v)
	c.combined(s, at, v)
}

// typed checks the JSON type, and the format of a scalar. It reports false
// when there is no point in looking further.
func (c *checker) typed(s *Schema, at place, v any) bool {
	_, isObject := v.(map[string]any)
	_, isList := v.([]any)
	switch {
	case s.IntOrString:
		return c.intOrString(at, v)
	case s.Type == "":
		return true
	case s.Type == Object:
		if !isObject {
			c.wrong(at.path, "an object", v, "")
		}
		return isObject
	case s.Type == Array:
		if !isList {
			hint := ""
			if s.Items != nil && s.Items.Type != Object || isObject {
				hint = "put it in a list: [ ]"
			}
			c.wrong(at.path, "a list", v, hint)
		}
		return isList
	}
	return c.scalar(s, at, v)
}

func (c *checker) object(s *Schema, at place, m map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if c.full() {
			return
		}
		switch f := s.Property(key); {
		case f != nil:
			next := at.field(key)
			if s.Properties[key] == nil {
				next.name = at.name // a map's values are spoken of by the map's name
			}
			c.value(f, next, m[key])
		case at.part || !s.closed():
		default:
			c.unknown(s, at.path, key)
		}
	}
	if at.loose {
		return
	}
	for _, key := range s.Required {
		if v, ok := m[key]; !ok || v == nil {
			c.add(api.CodeRequired, api.FieldPath(at.path, key), "is required", c.requiredHint(s, key))
		}
	}
	if s.Embedded {
		for _, key := range []string{"apiVersion", "kind"} {
			if str, _ := m[key].(string); str == "" && !slices.Contains(s.Required, key) {
				c.add(api.CodeRequired, api.FieldPath(at.path, key), "is required: this is a whole API object", "")
			}
		}
	}
}

func (c *checker) requiredHint(s *Schema, key string) string {
	p := s.Properties[key]
	if p == nil || len(p.Enum) == 0 || len(p.Enum) > 6 {
		return ""
	}
	return "use " + joinOr(literals(p.Enum))
}

func (c *checker) unknown(s *Schema, path, key string) {
	owner := "a " + c.kind
	if path != "" {
		owner = path[strings.LastIndexAny(path, ".")+1:]
		owner, _, _ = strings.Cut(owner, "[")
	}
	hint := ""
	if near := api.Nearest(key, s.names); near != "" {
		hint = api.DidYouMean(near)
	} else if len(s.names) > 0 && len(s.names) <= 8 {
		hint = "it has: " + strings.Join(s.names, ", ")
	}
	c.add(api.CodeUnknownField, api.FieldPath(path, key), fmt.Sprintf("%s has no field %q", owner, key), hint)
}

func (c *checker) list(s *Schema, at place, items []any) {
	elem := s.Items
	if elem == nil {
		elem = &Schema{}
	}
	for i, item := range items {
		if item == nil && !elem.Nullable {
			c.add(api.CodeType, at.index(i).path, "null is not allowed in a list", "remove it")
			continue
		}
		c.value(elem, at.index(i), item)
	}
	if at.loose {
		return
	}
	switch s.ListType {
	case ListMap:
		c.keyed(s, at, items)
	case ListSet:
		c.set(at, items)
	}
}

// keyed reports elements with the keys of an earlier one.
func (c *checker) keyed(s *Schema, at place, items []any) {
	first := map[string]int{}
	for i, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		key, words, ok := keysOf(s, m)
		if !ok {
			continue
		}
		if j, twice := first[key]; twice {
			code := api.CodeDuplicate
			if s.Repeatable {
				code = CodeRepeated
			}
			c.add(code, at.index(i).path, fmt.Sprintf("%s is in the list twice, first as %s", words, api.IndexPath(at.name, j)), "remove one, or give it another "+s.MapKeys[0])
			continue
		}
		first[key] = i
	}
}

// CodeRepeated is the code of a problem that the API only warns of: two
// elements of a list with the same key, of which the later one wins.
const CodeRepeated = "Repeated"

// keysOf returns an element's keys as one comparable text and in words. An
// element without any of its keys has none.
func keysOf(s *Schema, m map[string]any) (key, words string, ok bool) {
	var said []string
	for _, name := range s.MapKeys {
		v := m[name]
		if v == nil && s.Items != nil && s.Items.Properties[name] != nil {
			v = s.Items.Properties[name].Default
		}
		switch v.(type) {
		case nil:
			key += "\x00"
			continue
		case map[string]any, []any:
			return "", "", false
		}
		ok = ok || m[name] != nil
		key += canonical(v) + "\x00"
		said = append(said, fmt.Sprintf("%s %s", name, literal(v)))
	}
	return key, strings.Join(said, " and "), ok
}

func (c *checker) set(at place, items []any) {
	first := map[string]int{}
	for i, item := range items {
		key := canonical(item)
		if j, twice := first[key]; twice {
			c.add(api.CodeDuplicate, at.index(i).path, fmt.Sprintf("%s is in the list twice, first as %s", describe(item), api.IndexPath(at.name, j)), "remove one")
			continue
		}
		first[key] = i
	}
}

// canonical is JSON that is equal for equal values.
func canonical(v any) string {
	if n, ok := v.(json.Number); ok {
		if r, ok := rational(n); ok {
			return r.RatString()
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
