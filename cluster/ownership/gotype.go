package ownership

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"

	"github.com/writ-dev/writ/cluster/api"
)

// goType adds the type of one of Writ's own kinds and returns its name. Lists
// are replaced as a whole but for conditions, which every kind keys by type.
func (r *reader) goType(t reflect.Type) string {
	name := "writ." + t.Name()
	if r.done[name] {
		return name
	}
	r.done[name] = true
	m := &smd.Map{ElementRelationship: smd.Separable, Fields: r.goFields(t)}
	r.parser.Schema.Types = append(r.parser.Schema.Types, smd.TypeDef{Name: name, Atom: smd.Atom{Map: m}})
	return name
}

func (r *reader) goFields(t reflect.Type) []smd.StructField {
	var out []smd.StructField
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			out = append(out, r.goFields(f.Type)...)
		default:
			ref := r.goRef(f.Type)
			if f.Type == reflect.TypeFor[[]metav1.Condition]() {
				ref.Inlined.List.ElementRelationship, ref.Inlined.List.Keys = smd.Associative, []string{"type"}
			}
			out = append(out, smd.StructField{Name: name, Type: ref})
		}
	}
	return out
}

func (r *reader) goRef(t reflect.Type) smd.TypeRef {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[metav1.ObjectMeta]():
		name := "meta/v1.ObjectMeta"
		_ = r.named(name) // Every document of Kubernetes' kinds has it.
		return smd.TypeRef{NamedType: &name}
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[api.PortName](), reflect.TypeFor[[]byte]():
		return scalar(smd.Untyped)
	}
	switch t.Kind() {
	case reflect.Struct:
		name := r.goType(t)
		return smd.TypeRef{NamedType: &name}
	case reflect.Slice:
		return smd.TypeRef{Inlined: smd.Atom{List: &smd.List{ElementType: r.goRef(t.Elem()), ElementRelationship: smd.Atomic}}}
	case reflect.Map:
		return smd.TypeRef{Inlined: smd.Atom{Map: &smd.Map{ElementType: r.goRef(t.Elem()), ElementRelationship: smd.Separable}}}
	case reflect.String:
		return scalar(smd.String)
	case reflect.Bool:
		return scalar(smd.Boolean)
	}
	return scalar(smd.Numeric)
}
