package diff

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/writ-dev/writ/cluster/api"
)

// shape is what the comparison needs to know of a field's Go type.
type shape struct {
	typ reflect.Type
	// optional says that the zero value means the same as absent: the type is
	// no pointer, so the server cannot tell them apart.
	optional bool
	// keys are the fields that identify an element of a list; none means that
	// the list is one value.
	keys []string
	// retain says that a change of one member clears the members that the new
	// value does not name: the members exclude one another.
	retain bool
}

// leaves are struct types that are one JSON scalar.
var leaves = []reflect.Type{
	reflect.TypeFor[resource.Quantity](),
	reflect.TypeFor[intstr.IntOrString](),
	reflect.TypeFor[metav1.Time](),
	reflect.TypeFor[metav1.MicroTime](),
	reflect.TypeFor[metav1.FieldsV1](),
}

// listKeys completes the merge keys of k8s.io/api's struct tags: there, ports
// are identified by the number alone, so that one number in two protocols gets
// lost in a merge.
var listKeys = map[string][]string{
	"containerPort": {"containerPort", "protocol"},
	"port":          {"port", "protocol"},
}

// keyDefaults are the values of key fields that are not written.
var keyDefaults = map[string]string{"protocol": "TCP"}

func rootShape(k api.Kind) shape {
	if k.New == nil {
		return shape{}
	}
	return shape{typ: reflect.TypeOf(k.New()).Elem()}
}

// deref strips pointers.
func deref(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

func isLeaf(t reflect.Type) bool { return slices.Contains(leaves, deref(t)) }

// isQuantity reports whether s is compared as a quantity.
func (s shape) isQuantity() bool { return deref(s.typ) == reflect.TypeFor[resource.Quantity]() }

// member is the shape of an object's member. An unknown type gives an unknown
// shape, which compares as plain JSON.
func (s shape) member(name string) shape {
	t := deref(s.typ)
	if t == nil || isLeaf(t) {
		return shape{}
	}
	switch t.Kind() {
	case reflect.Map:
		return shape{typ: t.Elem()}
	case reflect.Struct:
		if f, ok := structField(t, name); ok {
			return fieldShape(f)
		}
	}
	return shape{}
}

// element is the shape of a list's elements.
func (s shape) element() shape {
	if t := deref(s.typ); t != nil && t.Kind() == reflect.Slice {
		return shape{typ: t.Elem()}
	}
	return shape{}
}

func fieldShape(f reflect.StructField) shape {
	s := shape{typ: f.Type, optional: f.Type.Kind() != reflect.Pointer}
	strategy := strings.Split(f.Tag.Get("patchStrategy"), ",")
	s.retain = slices.Contains(strategy, "retainKeys")
	if f.Type.Kind() == reflect.Slice && slices.Contains(strategy, "merge") {
		if key := f.Tag.Get("patchMergeKey"); key != "" {
			s.keys = []string{key}
			if all, ok := listKeys[key]; ok {
				s.keys = all
			}
		}
	}
	return s
}

// structField finds a field by its JSON name, also in embedded structs.
func structField(t reflect.Type, name string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name {
			return f, true
		}
		if tag == "" && f.Anonymous {
			if inner := deref(f.Type); inner.Kind() == reflect.Struct {
				if found, ok := structField(inner, name); ok {
					return found, true
				}
			}
		}
	}
	return reflect.StructField{}, false
}

// elementKey is the selector "name=web" of a keyed list's element, or "" when
// the element lacks a key field.
func elementKey(keys []string, element any) string {
	m, ok := element.(map[string]any)
	if !ok {
		return ""
	}
	parts := make([]string, len(keys))
	for i, k := range keys {
		text, ok := scalarText(m[k])
		if !ok {
			if text, ok = keyDefaults[k]; !ok {
				return ""
			}
		}
		parts[i] = k + "=" + text
	}
	return strings.Join(parts, ",")
}

// keyed returns the keys of both lists' elements, or nil when they cannot be
// told apart by key: an element lacks one, or two have the same.
func keyed(keys []string, list []any) (map[string]int, bool) {
	if len(keys) == 0 {
		return nil, false
	}
	index := make(map[string]int, len(list))
	for i, element := range list {
		k := elementKey(keys, element)
		if _, dup := index[k]; dup || k == "" {
			return nil, false
		}
		index[k] = i
	}
	return index, true
}
