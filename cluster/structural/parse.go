package structural

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"

	"github.com/writ-dev/writ/cluster/api"
)

// maxSchemaDepth bounds how deep a schema nests.
const maxSchemaDepth = 100

// Parse reads a schema as written: the value of openAPIV3Schema, or a schema
// of one of its fields. at is its JSON path, for the problems that are returned
// with what could be read. refs finds what "$ref" names; nil refuses it, as a
// CustomResourceDefinition must.
func Parse(tree map[string]any, at string, refs func(name string) *Schema) (*Schema, []api.Problem) {
	p := parser{refs: refs}
	s := p.schema(tree, at, 0)
	return s, p.problems
}

type parser struct {
	refs     func(string) *Schema
	problems []api.Problem
}

func (p *parser) fail(at, hint, format string, args ...any) {
	if len(p.problems) < maxProblems {
		p.problems = append(p.problems, api.Problem{Code: api.CodeInvalid, Path: at, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
}

func (p *parser) schema(m map[string]any, at string, depth int) *Schema {
	if depth > maxSchemaDepth {
		p.fail(at, "", "the schema nests deeper than %d", maxSchemaDepth)
		return &Schema{}
	}
	if ref, ok := m["$ref"].(string); ok {
		if p.refs != nil {
			if s := p.refs(ref); s != nil {
				return s
			}
		}
		p.fail(api.FieldPath(at, "$ref"), "write the schema here", "a schema cannot refer to another")
		return &Schema{}
	}
	s := &Schema{
		Type: text(m["type"]), Format: text(m["format"]), Enum: list(m["enum"]), Default: m["default"],
		Required: texts(m["required"]), Nullable: truth(m["nullable"]),
		PreserveUnknown: truth(m["x-kubernetes-preserve-unknown-fields"]),
		IntOrString:     truth(m["x-kubernetes-int-or-string"]), Embedded: truth(m["x-kubernetes-embedded-resource"]),
		ListType: text(m["x-kubernetes-list-type"]), MapKeys: texts(m["x-kubernetes-list-map-keys"]),
		Repeatable: truth(m["x-writ-repeatable"]),
	}
	p.typeName(s, at)
	p.limits(&s.Limits, m, at)
	if pattern := text(m["pattern"]); pattern != "" {
		re, err := regexp.Compile(pattern)
		if err != nil {
			p.fail(api.FieldPath(at, "pattern"), "write a regular expression of RE2", "%v", err)
		}
		s.Pattern = re
	}
	p.children(s, m, at, depth)
	p.rules(s, m, at)
	p.lists(s, at)
	if s.Default != nil && p.refs == nil {
		p.fallback(s, at)
	}
	return s
}

// fallback checks that a default is one of the values that it stands for.
func (p *parser) fallback(s *Schema, at string) {
	c := checker{kind: "default"}
	c.value(s, place{name: "default"}, s.WithDefaults(s.Default))
	for _, problem := range c.problems {
		p.fail(at+".default"+problem.Path, problem.Hint, "%s", problem.Message)
	}
}

func (p *parser) typeName(s *Schema, at string) {
	switch s.Type {
	case "", Object, Array, String, Integer, Number, Boolean:
		return
	}
	known := []string{Object, Array, String, Integer, Number, Boolean}
	hint := "use " + joinOr(known)
	if near := api.Nearest(s.Type, known); near != "" {
		hint = api.DidYouMean(near)
	}
	p.fail(api.FieldPath(at, "type"), hint, "%q is not a type", s.Type)
	s.Type = ""
}

func (p *parser) limits(l *Limits, m map[string]any, at string) {
	l.Minimum, l.Maximum, l.MultipleOf = p.number(m, "minimum", at), p.number(m, "maximum", at), p.number(m, "multipleOf", at)
	l.ExclusiveMinimum, l.ExclusiveMaximum = truth(m["exclusiveMinimum"]), truth(m["exclusiveMaximum"])
	l.MinLength, l.MaxLength, l.MaxBytes = p.count(m, "minLength", at), p.count(m, "maxLength", at), p.count(m, "x-writ-max-bytes", at)
	l.MinItems, l.MaxItems = p.count(m, "minItems", at), p.count(m, "maxItems", at)
	l.MinProperties, l.MaxProperties = p.count(m, "minProperties", at), p.count(m, "maxProperties", at)
	if l.MultipleOf != nil && l.MultipleOf.Sign() <= 0 {
		p.fail(api.FieldPath(at, "multipleOf"), "", "must be more than 0")
		l.MultipleOf = nil
	}
}

// children reads the schemas inside of a schema.
func (p *parser) children(s *Schema, m map[string]any, at string, depth int) {
	if props, ok := m["properties"].(map[string]any); ok {
		s.Properties = make(map[string]*Schema, len(props))
		s.names = slices.Sorted(maps.Keys(props))
		for _, name := range s.names {
			s.Properties[name] = p.child(props[name], api.FieldPath(api.FieldPath(at, "properties"), name), depth)
		}
	}
	switch v := m["additionalProperties"].(type) {
	case map[string]any:
		s.Values = p.child(v, at+".additionalProperties", depth)
	case bool:
		if v {
			s.Values = &Schema{PreserveUnknown: true}
		}
	}
	if v, ok := m["items"]; ok {
		s.Items = p.child(v, at+".items", depth)
	}
	if v, ok := m["not"]; ok {
		s.Not = p.child(v, at+".not", depth)
	}
	s.AllOf, s.AnyOf, s.OneOf = p.all(m, "allOf", at, depth), p.all(m, "anyOf", at, depth), p.all(m, "oneOf", at, depth)
}

func (p *parser) child(v any, at string, depth int) *Schema {
	m, ok := v.(map[string]any)
	if !ok {
		p.fail(at, "", "must be a schema, not %s", describe(v))
		return &Schema{}
	}
	return p.schema(m, at, depth+1)
}

func (p *parser) all(m map[string]any, key, at string, depth int) []*Schema {
	var out []*Schema
	for i, v := range list(m[key]) {
		out = append(out, p.child(v, api.IndexPath(api.FieldPath(at, key), i), depth))
	}
	return out
}

// lists checks that the keys of a keyed list are members of its elements.
func (p *parser) lists(s *Schema, at string) {
	switch s.ListType {
	case ListMap:
		if len(s.MapKeys) == 0 {
			p.fail(api.FieldPath(at, "x-kubernetes-list-map-keys"), "name the members that tell the elements apart", "is required with list type map")
		}
		if s.Items == nil || p.refs != nil { // what is referred to may not be read yet
			return
		}
		for i, key := range s.MapKeys {
			if s.Items.Properties[key] == nil && !s.Items.PreserveUnknown {
				p.fail(api.IndexPath(api.FieldPath(at, "x-kubernetes-list-map-keys"), i), "", "the elements have no member %q", key)
			}
		}
	case "", "atomic", ListSet:
	default:
		p.fail(api.FieldPath(at, "x-kubernetes-list-type"), "use atomic, set or map", "%q is not a type of list", s.ListType)
	}
}

func (p *parser) number(m map[string]any, key, at string) *big.Rat {
	n, ok := m[key].(json.Number)
	if !ok {
		return nil
	}
	r, ok := rational(n)
	if !ok {
		p.fail(api.FieldPath(at, key), "", "has too many digits")
	}
	return r
}

func (p *parser) count(m map[string]any, key, at string) *int64 {
	n, ok := m[key].(json.Number)
	if !ok {
		return nil
	}
	i, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil || i < 0 {
		p.fail(api.FieldPath(at, key), "", "must be a whole number of at least 0")
		return nil
	}
	return &i
}

func text(v any) string { s, _ := v.(string); return s }
func truth(v any) bool  { b, _ := v.(bool); return b }
func list(v any) []any  { l, _ := v.([]any); return l }

func texts(v any) []string {
	var out []string
	for _, e := range list(v) {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
