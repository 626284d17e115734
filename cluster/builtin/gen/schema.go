package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// schema is one schema in OpenAPI's keywords.
type schema map[string]any

// generator makes schemas of Go types; each named struct has one of its own,
// which others refer to.
type generator struct {
	sources sources
	types   map[string]any
}

// special are the types with JSON of their own.
var special = map[reflect.Type]schema{
	reflect.TypeFor[json.RawMessage]():      {},
	reflect.TypeFor[metav1.FieldsV1]():      {},
	reflect.TypeFor[runtime.RawExtension](): {},
	reflect.TypeFor[resource.Quantity]():    {"type": "string", "format": "quantity"},
	reflect.TypeFor[intstr.IntOrString]():   {"x-kubernetes-int-or-string": true},
	reflect.TypeFor[metav1.Time]():          {"type": "string", "format": "date-time"},
	reflect.TypeFor[metav1.MicroTime]():     {"type": "string", "format": "micro-time"},
	reflect.TypeFor[metav1.Duration]():      {"type": "string", "format": "duration"},
	reflect.TypeFor[[]byte]():               {"type": "string", "format": "byte"},
	reflect.TypeFor[anyJSON]():              {},
	reflect.TypeFor[schemaOrBool]():         {},
	reflect.TypeFor[schemaOrList]():         {},
}

// name is how a type is referred to: group/version and Go name, shortened.
func name(t reflect.Type) string {
	path := t.PkgPath()
	for _, prefix := range []string{"k8s.io/api/", "k8s.io/apimachinery/pkg/apis/"} {
		path = strings.TrimPrefix(path, prefix)
	}
	if path == own {
		return "apiextensions/v1." + t.Name()
	}
	return path + "." + t.Name()
}

func (g *generator) schemaOf(t reflect.Type) (schema, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s, ok := special[t]; ok {
		return clone(s), nil
	}
	switch t.Kind() {
	case reflect.String:
		return g.text(t)
	case reflect.Bool:
		return schema{"type": "boolean"}, nil
	case reflect.Int, reflect.Int64, reflect.Int32:
		return schema{"type": "integer", "format": fmt.Sprintf("int%d", t.Bits())}, nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return schema{"type": "integer", "format": fmt.Sprintf("uint%d", t.Bits())}, nil
	case reflect.Float32, reflect.Float64:
		return schema{"type": "number"}, nil
	case reflect.Slice:
		items, err := g.schemaOf(t.Elem())
		return schema{"type": "array", "items": items}, err
	case reflect.Map:
		values, err := g.schemaOf(t.Elem())
		return schema{"type": "object", "additionalProperties": values}, err
	case reflect.Struct:
		return schema{"$ref": name(t)}, g.define(t)
	}
	return nil, fmt.Errorf("%s: no schema for a Go %s", t, t.Kind())
}

func (g *generator) text(t reflect.Type) (schema, error) {
	s := schema{"type": "string"}
	if t.PkgPath() == "" {
		return s, nil
	}
	src, err := g.sources.of(t)
	if err != nil {
		return nil, err
	}
	values, closed := src.values[t.Name()], src.types[t.Name()].has("enum") || src.types[t.Name()].has("k8s:enum")
	if all, ok := enums[name(t)]; ok {
		values, closed = all, true
	}
	closed = closed || slices.Contains(closedTypes, name(t))
	if !closed {
		return s, nil
	}
	if len(values) == 0 || slices.Contains(values, computed) {
		return nil, fmt.Errorf("%s: the constants of the enumeration are not all literals", t)
	}
	slices.Sort(values)
	s["enum"] = slices.Compact(values)
	return s, nil
}

// define makes the schema of a struct.
func (g *generator) define(t reflect.Type) error {
	if _, ok := g.types[name(t)]; ok {
		return nil
	}
	s := schema{"type": "object"}
	g.types[name(t)] = s // before the fields, which may lead back here
	src, err := g.sources.of(t)
	if err != nil {
		return err
	}
	properties, required := map[string]any{}, []string{}
	if err := g.fields(t, src, properties, &required); err != nil {
		return err
	}
	if atomic(src.types[t.Name()]) {
		s[mapType] = "atomic"
	}
	if len(properties) > 0 {
		s["properties"] = properties
	}
	if len(required) > 0 {
		slices.Sort(required)
		s["required"] = required
	}
	return nil
}

func (g *generator) fields(t reflect.Type, src *source, properties map[string]any, required *[]string) error {
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "-" {
			continue
		}
		if f.Anonymous && tag == "" {
			inner := f.Type
			for inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			innerSource, err := g.sources.of(inner)
			if err != nil {
				return err
			}
			if err := g.fields(inner, innerSource, properties, required); err != nil {
				return err
			}
			continue
		}
		m := src.fields[t.Name()][f.Name]
		s, err := g.field(name(t)+"."+f.Name, f, m)
		if err != nil {
			return err
		}
		properties[tag] = s
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") || m.has("optional")
		optional = optional && !m.has("required") && !m.has("k8s:required")
		if want, ok := requirements[name(t)+"."+f.Name]; ok {
			optional = !want
		}
		if !optional {
			*required = append(*required, tag)
		}
	}
	return nil
}

// field is the schema of a field's type with what its markers add.
func (g *generator) field(at string, f reflect.StructField, m markers) (schema, error) {
	s, err := g.schemaOf(f.Type)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	if s["type"] == "array" {
		g.keys(at, s, f, m)
	}
	if s["type"] == "object" && atomic(m) {
		s[mapType] = "atomic"
	}
	if text, ok := m.get("default"); ok {
		var v any
		if json.Unmarshal([]byte(text), &v) == nil {
			s["default"] = v
		}
	}
	for _, x := range m {
		if err := constrain(s, x); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	// "" means the same as no value for a field that need not be there.
	if values, ok := s["enum"].([]string); ok && !slices.Contains(values, "") && (strings.Contains(f.Tag.Get("json"), "omitempty") || m.has("optional")) {
		s["enum"] = append([]string{""}, values...)
	}
	return s, nil
}

const mapType = "x-kubernetes-map-type"

// atomic says whether an object or a map is only ever replaced as a whole.
func atomic(m markers) bool {
	s, _ := m.get("structType")
	p, _ := m.get("mapType")
	return s == "atomic" || p == "atomic"
}

// keys says what tells the elements of a list apart.
func (g *generator) keys(at string, s schema, f reflect.StructField, m markers) {
	keys := m.all("listMapKey")
	for _, k := range m.all("k8s:listMapKey") {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	if patch := f.Tag.Get("patchMergeKey"); patch != "" && len(keys) == 0 {
		keys = []string{patch}
	}
	set, _ := m.get("listType")
	if set == "atomic" && len(keys) > 0 {
		s["x-writ-atomic"] = true // merged by strategic merge patches only
	}
	unique, _ := m.get("k8s:unique")
	switch {
	case len(keys) > 0:
		s["x-kubernetes-list-type"], s["x-kubernetes-list-map-keys"] = "map", keys
	case set == "set" || unique == "set":
		s["x-kubernetes-list-type"] = "set"
	}
	if repeatable[at] {
		s["x-writ-repeatable"] = true
	}
}

// constrain adds a validation that is written as a marker. Markers of other
// kinds, and those that depend on feature gates, mean nothing here.
func constrain(s schema, m marker) error {
	value := strings.Trim(m.value, "\"`")
	switch m.name {
	case "k8s:minimum", "k8s:maximum":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return err
		}
		s[strings.TrimPrefix(m.name, "k8s:")] = n
	case "k8s:maxItems", "k8s:maxLength", "k8s:maxBytes", "kubebuilder:validation:MaxLength":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return err
		}
		key := map[string]string{"k8s:maxItems": "maxItems", "k8s:maxBytes": "x-writ-max-bytes"}[m.name]
		if key == "" {
			key = "maxLength"
		}
		if (key == "maxItems") == (s["type"] == "array") {
			s[key] = n
		}
	case "k8s:format":
		if s["type"] == "string" && s["format"] == nil {
			s["format"] = value
		}
	case "kubebuilder:validation:Pattern":
		s["pattern"] = value
	case "k8s:eachVal":
		name, value, _ := strings.Cut(strings.TrimPrefix(m.value, "+"), "=")
		for _, inside := range []string{"items", "additionalProperties"} {
			if elem, ok := s[inside].(schema); ok {
				return constrain(elem, marker{name, value})
			}
		}
	}
	return nil
}

func clone(s schema) schema {
	out := schema{}
	for k, v := range s {
		out[k] = v
	}
	return out
}
