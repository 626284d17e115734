package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// Strict reports fields that k does not have (with the field probably meant)
// and values of the wrong JSON type, for the whole document.
func Strict(k api.Kind, o object.Object) []Problem { return StrictTree(k, o.Tree()) }

// StrictTree is Strict for a decoded document whose numbers are json.Number
// (see object.Unmarshal). Use it before object.Parse, which stops at the first
// label that is not a string.
func StrictTree(k api.Kind, tree map[string]any) []Problem {
	c := checker{kind: k.Kind}
	c.value(schemaOf(reflect.TypeOf(k.New())), "", "", tree)
	return c.problems
}

// StrictJSON is StrictTree for a document as text; it also reports duplicate
// keys, of which decoding keeps only the last.
func StrictJSON(k api.Kind, b []byte) []Problem {
	v, err := object.Unmarshal(b)
	if err != nil {
		return []Problem{{Code: api.CodeInvalid, Message: "not JSON: " + err.Error()}}
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return []Problem{{Code: api.CodeType, Message: "must be an object, not " + describe(v)}}
	}
	return append(duplicateKeys(b), StrictTree(k, tree)...)
}

// maxProblems bounds what is reported of one document.
const maxProblems = 100

type checker struct {
	kind     string
	problems []Problem
}

func (c *checker) add(code, path, message, hint string) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, Problem{Code: code, Path: path, Message: message, Hint: hint})
	}
}

// value checks v at path. name is the nearest field's name, which decides how
// messages speak of the value.
func (c *checker) value(s *schema, path, name string, v any) {
	if v == nil { // null means absent
		return
	}
	switch s.shape {
	case anything:
	case record:
		if m, ok := v.(map[string]any); ok {
			c.record(s, path, m)
		} else {
			c.wrong(path, "an object", v, "")
		}
	case dict:
		m, ok := v.(map[string]any)
		if !ok {
			c.wrong(path, "an object", v, "")
			return
		}
		for _, key := range slices.Sorted(maps.Keys(m)) {
			c.value(s.elem, api.FieldPath(path, key), name, m[key])
		}
	case list:
		c.list(s, path, name, v)
	default:
		c.scalar(s, path, name, v)
	}
}

func (c *checker) record(s *schema, path string, m map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		f, ok := s.fields[key]
		if !ok {
			c.unknown(s, path, key)
			continue
		}
		c.value(f, api.FieldPath(path, key), key, m[key])
	}
}

func (c *checker) list(s *schema, path, name string, v any) {
	items, ok := v.([]any)
	if !ok {
		hint := ""
		if s.elem.shape != record || isObject(v) {
			hint = "put it in a list: [ ]"
		}
		c.wrong(path, "a list", v, hint)
		return
	}
	for i, item := range items {
		if item == nil {
			c.add(api.CodeType, api.IndexPath(path, i), "null is not allowed in a list", "remove it")
			continue
		}
		c.value(s.elem, api.IndexPath(path, i), name, item)
	}
}

func (c *checker) unknown(s *schema, path, key string) {
	owner := "the document"
	switch {
	case path == "":
		owner = "a " + c.kind
	default:
		owner = path[strings.LastIndexAny(path, ".")+1:]
		owner, _, _ = strings.Cut(owner, "[")
	}
	hint := ""
	if near := api.Nearest(key, s.names); near != "" {
		hint = api.DidYouMean(near)
	} else if len(s.names) <= 8 {
		hint = "it has: " + strings.Join(s.names, ", ")
	}
	c.add(api.CodeUnknownField, api.FieldPath(path, key), fmt.Sprintf("%s has no field %q", owner, key), hint)
}

// wrong reports a value of the wrong JSON type.
func (c *checker) wrong(path, want string, v any, hint string) {
	c.add(api.CodeType, path, fmt.Sprintf("must be %s, not %s", want, describe(v)), hint)
}

func isObject(v any) bool { _, ok := v.(map[string]any); return ok }
func isList(v any) bool   { _, ok := v.([]any); return ok }

// describe names a JSON value's type, and the value where it is short.
func describe(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case bool:
		return "the boolean " + literal(v)
	case string:
		if len(x) > 40 {
			return "a string"
		}
		return fmt.Sprintf("the string %q", x)
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return "the number " + literal(v)
	}
}

func literal(v any) string {
	s := fmt.Sprint(v)
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// duplicateKeys reports members that occur twice in one object. b is valid JSON.
func duplicateKeys(b []byte) []Problem {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	c := checker{}
	if err := c.walk(d, ""); err != nil && !errors.Is(err, io.EOF) {
		c.add(api.CodeInvalid, "", "not JSON: "+err.Error(), "")
	}
	return c.problems
}

func (c *checker) walk(d *json.Decoder, path string) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	switch t {
	case json.Delim('{'):
		seen := map[string]bool{}
		for d.More() {
			t, err := d.Token()
			if err != nil {
				return err
			}
			key := t.(string) // the decoder allows nothing else here
			p := api.FieldPath(path, key)
			if seen[key] {
				c.add(api.CodeDuplicate, p, "the key occurs twice", "remove one")
			}
			seen[key] = true
			if err := c.walk(d, p); err != nil {
				return err
			}
		}
		_, err = d.Token()
	case json.Delim('['):
		for i := 0; d.More(); i++ {
			if err := c.walk(d, api.IndexPath(path, i)); err != nil {
				return err
			}
		}
		_, err = d.Token()
	}
	return err
}
