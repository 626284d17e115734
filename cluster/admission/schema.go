package admission

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/writ-dev/writ/cluster/api"
)

// shape is what JSON a Go type accepts.
type shape uint8

const (
	anything shape = iota
	text
	boolean
	integer
	unsigned
	number
	base64Text
	quantity
	intOrText
	timestamp
	microTimestamp
	duration
	portName
	record
	dict
	list
)

// schema describes one Go type as JSON: worked out once per type, and never
// changed afterwards.
type schema struct {
	shape shape
	// typ is the Go type's name, for enumerations and messages.
	typ reflect.Type
	// bits of an integer.
	bits int
	// fields of a record, by JSON name; names lists them sorted.
	fields map[string]*schema
	names  []string
	// elem of a dict or list.
	elem *schema
}

// schemas remembers what schemaOf worked out: a cache, keyed by type, bounded
// by the number of Go types.
var schemas sync.Map // reflect.Type → *schema

// schemaOf describes t. Recursive types are fine: the schema is registered in
// open before its fields are.
func schemaOf(t reflect.Type) *schema {
	if s, ok := schemas.Load(t); ok {
		return s.(*schema)
	}
	s := build(t, map[reflect.Type]*schema{})
	got, _ := schemas.LoadOrStore(t, s)
	return got.(*schema)
}

// special are the types with JSON of their own.
var special = map[reflect.Type]shape{
	reflect.TypeFor[json.RawMessage]():      anything,
	reflect.TypeFor[metav1.FieldsV1]():      anything,
	reflect.TypeFor[runtime.RawExtension](): anything,
	reflect.TypeFor[resource.Quantity]():    quantity,
	reflect.TypeFor[intstr.IntOrString]():   intOrText,
	reflect.TypeFor[metav1.Time]():          timestamp,
	reflect.TypeFor[metav1.MicroTime]():     microTimestamp,
	reflect.TypeFor[metav1.Duration]():      duration,
	reflect.TypeFor[api.PortName]():         portName,
	reflect.TypeFor[[]byte]():               base64Text,
}

func build(t reflect.Type, open map[reflect.Type]*schema) *schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s := open[t]; s != nil {
		return s
	}
	s := &schema{typ: t}
	open[t] = s
	if sh, ok := special[t]; ok {
		s.shape = sh
		return s
	}
	switch t.Kind() {
	case reflect.String:
		s.shape = text
	case reflect.Bool:
		s.shape = boolean
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s.shape, s.bits = integer, t.Bits()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		s.shape, s.bits = unsigned, t.Bits()
	case reflect.Float32, reflect.Float64:
		s.shape = number
	case reflect.Map:
		s.shape, s.elem = dict, build(t.Elem(), open)
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			s.shape = base64Text
			break
		}
		s.shape, s.elem = list, build(t.Elem(), open)
	case reflect.Struct:
		s.shape, s.fields = record, map[string]*schema{}
		s.addFields(t, open)
		for name := range s.fields {
			s.names = append(s.names, name)
		}
		slices.Sort(s.names)
	}
	return s
}

// addFields adds t's fields, with those of embedded structs inline as
// encoding/json does.
func (s *schema) addFields(t reflect.Type, open map[reflect.Type]*schema) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			et := f.Type
			for et.Kind() == reflect.Pointer {
				et = et.Elem()
			}
			s.addFields(et, open)
		case name == "":
			s.fields[f.Name] = build(f.Type, open)
		default:
			s.fields[name] = build(f.Type, open)
		}
	}
}
