package ownership

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/builtin"
)

// Of returns the fields of a kind in api.Kinds, or of api.Definition.
func Of(k api.Kind) (*Fields, error) {
	all, err := served()
	if err != nil {
		return nil, err
	}
	f := all[k.GVK()]
	if f == nil {
		return nil, fmt.Errorf("the fields of %s are not known", k.GVK())
	}
	return f, nil
}

// served is made when somebody first writes: most programs of this module
// never do.
var served = sync.OnceValues(func() (map[schema.GroupVersionKind]*Fields, error) {
	var doc struct {
		Kinds []struct{ APIVersion, Kind, Schema string }
		Types map[string]json.RawMessage
	}
	if err := json.Unmarshal(builtin.JSON(), &doc); err != nil {
		return nil, fmt.Errorf("read Kubernetes' kinds: %w", err)
	}
	r := newReader(doc.Types)
	names := map[schema.GroupVersionKind]string{}
	for _, k := range doc.Kinds {
		names[schema.FromAPIVersionAndKind(k.APIVersion, k.Kind)] = k.Schema
	}
	types := typeOf{}
	kinds := append(slices.Clone(api.Kinds), api.Definition)
	for _, k := range kinds {
		name := names[k.GVK()]
		if name == "" {
			name = r.goType(reflect.TypeOf(k.New()).Elem())
		} else if err := r.named(name); err != nil {
			return nil, err
		}
		t := r.parser.Type(name)
		types[k.GVK()] = &t
	}
	out := map[schema.GroupVersionKind]*Fields{}
	for _, k := range kinds {
		f, err := newFields(k, types)
		if err != nil {
			return nil, err
		}
		out[k.GVK()] = f
	}
	return out, nil
})

// Custom makes the fields of a kind from its schema, in which metadata refers
// to meta/v1.ObjectMeta.
func Custom(k api.Kind, schema map[string]any) (*Fields, error) {
	var doc struct{ Types map[string]json.RawMessage }
	if err := json.Unmarshal(builtin.JSON(), &doc); err != nil {
		return nil, fmt.Errorf("read Kubernetes' kinds: %w", err)
	}
	r := newReader(doc.Types)
	t, err := r.of(schema)
	if err != nil {
		return nil, err
	}
	const name = "custom"
	r.parser.Schema.Types = append(r.parser.Schema.Types, smd.TypeDef{Name: name, Atom: t.Inlined})
	p := r.parser.Type(name)
	return newFields(k, typeOf{k.GVK(): &p})
}

func newReader(types map[string]json.RawMessage) *reader {
	r := &reader{raw: types, parser: &typed.Parser{}, done: map[string]bool{}}
	for _, m := range []smd.ElementRelationship{smd.Separable, smd.Atomic} {
		r.parser.Schema.Types = append(r.parser.Schema.Types, smd.TypeDef{Name: anyName(m), Atom: deduced(m)})
	}
	return r
}

// reader makes types of structured-merge-diff from schemas in the keywords of
// OpenAPI, of those that are asked for and of those that they refer to.
type reader struct {
	raw    map[string]json.RawMessage
	parser *typed.Parser
	done   map[string]bool
}

func (r *reader) named(name string) error {
	if r.done[name] {
		return nil
	}
	r.done[name] = true
	raw, ok := r.raw[name]
	if !ok {
		return fmt.Errorf("type %s is not known", name)
	}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return fmt.Errorf("type %s: %w", name, err)
	}
	t, err := r.of(tree)
	if err != nil {
		return err
	}
	r.parser.Schema.Types = append(r.parser.Schema.Types, smd.TypeDef{Name: name, Atom: t.Inlined})
	return nil
}

// of is the type of a schema.
func (r *reader) of(tree map[string]any) (smd.TypeRef, error) {
	if ref, ok := tree["$ref"].(string); ok {
		return smd.TypeRef{NamedType: &ref}, r.named(ref)
	}
	relation := smd.Separable
	if tree["x-kubernetes-map-type"] == "atomic" {
		relation = smd.Atomic
	}
	if tree["x-kubernetes-preserve-unknown-fields"] == true || tree["x-kubernetes-embedded-resource"] == true && tree["properties"] == nil {
		// What is not described is merged by its form.
		a := deduced(relation)
		fields, err := r.fields(tree)
		a.Map.Fields = fields
		if tree["type"] == "object" {
			a.Scalar, a.List = nil, nil
		}
		return smd.TypeRef{Inlined: a}, err
	}
	if tree["x-kubernetes-int-or-string"] == true || tree["format"] == "quantity" {
		return scalar(smd.Untyped), nil
	}
	switch tree["type"] {
	case "object":
		m := &smd.Map{ElementRelationship: relation}
		var err error
		if m.Fields, err = r.fields(tree); err != nil {
			return smd.TypeRef{}, err
		}
		switch values := tree["additionalProperties"].(type) {
		case map[string]any:
			if m.ElementType, err = r.of(values); err != nil {
				return smd.TypeRef{}, err
			}
		case bool:
			if values {
				m.ElementType = smd.TypeRef{Inlined: deduced(smd.Separable)}
			}
		}
		return smd.TypeRef{Inlined: smd.Atom{Map: m}}, nil
	case "array":
		return r.list(tree)
	case "string":
		return scalar(smd.String), nil
	case "integer", "number":
		return scalar(smd.Numeric), nil
	case "boolean":
		return scalar(smd.Boolean), nil
	}
	return smd.TypeRef{Inlined: deduced(smd.Atomic)}, nil
}

func (r *reader) fields(tree map[string]any) ([]smd.StructField, error) {
	props, _ := tree["properties"].(map[string]any)
	var out []smd.StructField
	for name, p := range props {
		prop, ok := p.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("property %s is no schema", name)
		}
		t, err := r.of(prop)
		if err != nil {
			return nil, err
		}
		out = append(out, smd.StructField{Name: name, Type: t, Default: prop["default"]})
	}
	slices.SortFunc(out, func(a, b smd.StructField) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (r *reader) list(tree map[string]any) (smd.TypeRef, error) {
	l := &smd.List{ElementRelationship: smd.Atomic}
	items, _ := tree["items"].(map[string]any)
	var err error
	if l.ElementType, err = r.of(items); err != nil {
		return smd.TypeRef{}, err
	}
	switch {
	case tree["x-writ-atomic"] == true:
	case tree["x-kubernetes-list-type"] == "set":
		l.ElementRelationship = smd.Associative
	case tree["x-kubernetes-list-type"] == "map":
		l.ElementRelationship = smd.Associative
		keys, _ := tree["x-kubernetes-list-map-keys"].([]any)
		for _, k := range keys {
			if name, ok := k.(string); ok {
				l.Keys = append(l.Keys, name)
			}
		}
	}
	return smd.TypeRef{Inlined: smd.Atom{List: l}}, nil
}

func scalar(s smd.Scalar) smd.TypeRef { return smd.TypeRef{Inlined: smd.Atom{Scalar: &s}} }

// deduced takes any value. Its maps are merged or not as m says, its lists are
// replaced as a whole.
func deduced(m smd.ElementRelationship) smd.Atom {
	untyped := smd.Untyped
	name := anyName(m)
	elem := smd.TypeRef{NamedType: &name}
	return smd.Atom{
		Scalar: &untyped,
		List:   &smd.List{ElementType: elem, ElementRelationship: smd.Atomic},
		Map:    &smd.Map{ElementType: elem, ElementRelationship: m},
	}
}

func anyName(m smd.ElementRelationship) string { return "any." + string(m) }

// typeOf finds the type of an object by its kind.
type typeOf map[schema.GroupVersionKind]*typed.ParseableType

var _ managedfields.TypeConverter = typeOf{}

// ObjectToTyped is of managedfields.TypeConverter.
func (t typeOf) ObjectToTyped(o runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("unexpected %T", o)
	}
	p := t[u.GroupVersionKind()]
	if p == nil {
		return nil, fmt.Errorf("no corresponding type for %v", u.GroupVersionKind())
	}
	return p.FromUnstructured(u.Object, options...)
}

// TypedToObject is of managedfields.TypeConverter.
func (typeOf) TypedToObject(v *typed.TypedValue) (runtime.Object, error) {
	m, ok := v.AsValue().Unstructured().(map[string]any)
	if !ok {
		return nil, fmt.Errorf("an object has become something else")
	}
	return &unstructured.Unstructured{Object: m}, nil
}

// same converts and defaults nothing: objects come in the one version that
// their kind has, with their defaults filled in before or after.
type same struct{}

// Convert is of runtime.ObjectConvertor and is not used.
func (same) Convert(_, _, _ any) error { return fmt.Errorf("there is only one version") }

// ConvertToVersion is of runtime.ObjectConvertor.
func (same) ConvertToVersion(o runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return o, nil
}

// ConvertFieldLabel is of runtime.ObjectConvertor and is not used.
func (same) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// Default is of runtime.ObjectDefaulter.
func (same) Default(runtime.Object) {}

// New is of runtime.ObjectCreater.
func (same) New(k schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(k)
	return u, nil
}
