package apiserver

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/custom"
)

// node is a part of an OpenAPI document.
type node = map[string]any

// schemas makes OpenAPI schemas of Go types by reflection, each type once. The
// tags patchStrategy and patchMergeKey become the extensions by which clients
// merge lists, and SwaggerDoc the descriptions that kubectl explain shows.
type schemas struct {
	// ref is where the document keeps its schemas.
	ref   string
	named node
	// set has the kinds without a Go type; v2 says that the document is of
	// version 2.
	set *custom.Set
	v2  bool
}

// special types have a JSON form that their Go type does not show.
var special = map[reflect.Type]node{
	reflect.TypeFor[metav1.Time]():          {"type": "string", "format": "date-time"},
	reflect.TypeFor[metav1.MicroTime]():     {"type": "string", "format": "date-time"},
	reflect.TypeFor[metav1.Duration]():      {"type": "string"},
	reflect.TypeFor[metav1.FieldsV1]():      {"type": "object"},
	reflect.TypeFor[resource.Quantity]():    {"type": "string"},
	reflect.TypeFor[runtime.RawExtension](): {"type": "object"},
	reflect.TypeFor[intstr.IntOrString]():   {"type": "string", "format": "int-or-string"},
	reflect.TypeFor[api.PortName]():         {"type": "string", "format": "int-or-string"},
	reflect.TypeFor[json.RawMessage]():      {"type": "object"},
}

// schemaName names a type as Kubernetes does: io.k8s.api.apps.v1.Deployment.
func schemaName(t reflect.Type) string {
	path := t.PkgPath()
	if rest, ok := strings.CutPrefix(path, "k8s.io/"); ok {
		return "io.k8s." + strings.ReplaceAll(rest, "/", ".") + "." + t.Name()
	}
	return "dev.writ." + api.Version + "." + t.Name()
}

// of returns the schema of a type: a reference for structs and special types.
func (s *schemas) of(t reflect.Type) node {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if _, ok := special[t]; ok || t.Kind() == reflect.Struct {
		return node{"$ref": s.ref + s.define(t)}
	}
	switch t.Kind() {
	case reflect.String:
		return node{"type": "string"}
	case reflect.Bool:
		return node{"type": "boolean"}
	case reflect.Int64, reflect.Int, reflect.Uint64, reflect.Uint:
		return node{"type": "integer", "format": "int64"}
	case reflect.Int32, reflect.Uint32, reflect.Int16, reflect.Uint16, reflect.Int8, reflect.Uint8:
		return node{"type": "integer", "format": "int32"}
	case reflect.Float32, reflect.Float64:
		return node{"type": "number", "format": "double"}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return node{"type": "string", "format": "byte"}
		}
		return node{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return node{"type": "object", "additionalProperties": s.of(t.Elem())}
	}
	return node{}
}

// define adds a named schema and returns its name.
func (s *schemas) define(t reflect.Type) string {
	name := schemaName(t)
	if _, ok := s.named[name]; ok {
		return name
	}
	if form, ok := special[t]; ok {
		s.named[name] = form
		return name
	}
	props := node{}
	def := node{"type": "object", "properties": props}
	s.named[name] = def // Before its fields: types may hold themselves.
	docs := docsOf(t)
	if d := docs[""]; d != "" {
		def["description"] = d
	}
	if required := s.fields(t, props); len(required) > 0 {
		def["required"] = required
	}
	return name
}

func docsOf(t reflect.Type) map[string]string {
	if d, ok := reflect.New(t).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		return d.SwaggerDoc()
	}
	return nil
}

// fields adds a struct's fields, inlining what JSON inlines, and returns the
// required ones.
func (s *schemas) fields(t reflect.Type, props node) (required []string) {
	docs := docsOf(t)
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if f.Anonymous && name == "" {
			required = append(required, s.fields(f.Type, props)...)
			continue
		}
		if name == "" {
			name = f.Name
		}
		props[name] = s.property(f, docs[name])
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") && f.Type.Kind() != reflect.Pointer {
			required = append(required, name)
		}
	}
	return required
}

func (s *schemas) property(f reflect.StructField, doc string) node {
	p := s.of(f.Type)
	strategy, key := f.Tag.Get("patchStrategy"), f.Tag.Get("patchMergeKey")
	if p["$ref"] != nil && (doc != "" || strategy != "") {
		// Nothing may stand beside a reference.
		p = node{"allOf": []any{p}}
	}
	if doc != "" {
		p["description"] = doc
	}
	if strategy != "" {
		p["x-kubernetes-patch-strategy"] = strategy
	}
	if key != "" {
		p["x-kubernetes-patch-merge-key"] = key
		if strings.Contains(strategy, "merge") {
			p["x-kubernetes-list-type"] = "map"
			p["x-kubernetes-list-map-keys"] = []string{key}
		}
	}
	return p
}

// kind adds the schemas of a kind and of its list, and returns their names.
func (s *schemas) kind(k api.Kind) (one, list string) {
	if k.Custom {
		one = s.custom(k)
	} else {
		one = s.define(reflect.TypeOf(k.New()).Elem())
	}
	s.named[one].(node)["x-kubernetes-group-version-kind"] = []any{gvkNode(k, "")}
	list = one + "List"
	s.named[list] = node{
		"type": "object", "required": []string{"items"},
		"description": k.Kind + "List is a list of " + k.Kind + " objects.",
		"properties": node{
			"apiVersion": node{"type": "string"}, "kind": node{"type": "string"},
			"metadata": s.of(reflect.TypeFor[metav1.ListMeta]()),
			"items":    node{"type": "array", "items": node{"$ref": s.ref + one}},
		},
		"x-kubernetes-group-version-kind": []any{gvkNode(k, "List")},
	}
	return one, list
}

func gvkNode(k api.Kind, suffix string) node {
	return node{"group": k.Group, "version": k.Version, "kind": k.Kind + suffix}
}

// custom adds the schema of a kind that is defined, as it is written but for
// what a version 2 document cannot say.
func (s *schemas) custom(k api.Kind) string {
	parts := strings.Split(k.Group, ".")
	slices.Reverse(parts)
	name := strings.Join(append(parts, k.Version, k.Kind), ".")
	if _, ok := s.named[name]; ok {
		return name
	}
	c, ok := s.set.Lookup(k.Group, k.Kind)
	if !ok {
		s.named[name] = node{"type": "object"}
		return name
	}
	tree := s.plain(c.Tree).(node)
	props := tree["properties"].(node)
	props["metadata"] = node{"allOf": []any{s.of(reflect.TypeFor[metav1.ObjectMeta]())}, "description": "Standard object's metadata."}
	props["apiVersion"] = node{"type": "string", "description": "APIVersion is the versioned schema of this object."}
	props["kind"] = node{"type": "string", "description": "Kind is the REST resource that this object is of."}
	s.named[name] = tree
	return name
}

// plain is a copy of a schema.
func (s *schemas) plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := node{}
		for key, e := range v {
			if s.v2 && (key == "oneOf" || key == "anyOf" || key == "not" || key == "nullable") {
				continue
			}
			out[key] = s.plain(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = s.plain(e)
		}
		return out
	}
	return v
}
