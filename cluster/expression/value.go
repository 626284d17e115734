package expression

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// Value makes of decoded JSON what a variable of type t is given. Members that
// a Record does not know are left out; text that does not have a type's format
// stays text.
func (t *Type) Value(v any) any {
	switch t.Kind {
	case Any:
		return native(v)
	case Int, Double:
		if n, ok := v.(json.Number); ok {
			return number(n, t.Kind == Double)
		}
	case Bytes, Timestamp, Duration:
		if s, ok := v.(string); ok {
			return formatted(t.Kind, s)
		}
	case List:
		if l, ok := v.([]any); ok {
			out := make([]ref.Val, len(l))
			for i, e := range l {
				out[i] = native(t.Elem.Value(e))
			}
			return types.NewRefValList(adapter{types.DefaultTypeAdapter}, out)
		}
	case Map:
		if m, ok := v.(map[string]any); ok {
			out := make(map[string]any, len(m))
			for k, e := range m {
				out[k] = t.Elem.Value(e)
			}
			return newMap(out)
		}
	case Record:
		if m, ok := v.(map[string]any); ok {
			return t.record(m)
		}
	case Optional:
		if v == nil {
			return types.OptionalNone
		}
		return types.OptionalOf(native(t.Elem.Value(v)))
	}
	return native(v)
}

func (t *Type) record(m map[string]any) ref.Val {
	out := make(map[string]any, len(t.Fields))
	for field, f := range t.Fields {
		member := field
		if name, ok := t.Members[field]; ok {
			member = name
		}
		if v, ok := m[member]; ok && v != nil {
			out[field] = f.Value(v)
		}
	}
	return newMap(out)
}

func formatted(k Kind, s string) ref.Val {
	switch k {
	case Bytes:
		if b, err := base64.StdEncoding.DecodeString(s); err == nil {
			return types.Bytes(b)
		}
	case Timestamp:
		for _, layout := range []string{time.RFC3339, time.DateOnly} {
			if at, err := time.Parse(layout, s); err == nil {
				return types.Timestamp{Time: at}
			}
		}
	case Duration:
		if d, err := time.ParseDuration(s); err == nil {
			return types.Duration{Duration: d}
		}
	}
	return types.String(s)
}

// number is a whole number that fits as int, any other as double.
func number(n json.Number, double bool) ref.Val {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil && !double {
		return types.Int(i)
	}
	f, _ := n.Float64() // out of range is infinite
	return types.Double(f)
}

func native(v any) ref.Val { return adapter{types.DefaultTypeAdapter}.NativeToValue(v) }

// adapter turns decoded JSON into values as they are looked at.
type adapter struct{ types.Adapter }

// NativeToValue satisfies types.Adapter.
func (a adapter) NativeToValue(v any) ref.Val {
	switch x := v.(type) {
	case json.Number:
		return number(x, false)
	case map[string]any:
		return newMap(x)
	case []any:
		return types.NewDynamicList(a, x)
	case ref.Val:
		return x
	}
	return a.Adapter.NativeToValue(v)
}

// sortedMap walks its keys in order.
type sortedMap struct {
	traits.Mapper
	m map[string]any
}

func newMap(m map[string]any) ref.Val {
	return &sortedMap{Mapper: types.NewStringInterfaceMap(adapter{types.DefaultTypeAdapter}, m), m: m}
}

// Iterator satisfies traits.Iterable.
func (s *sortedMap) Iterator() traits.Iterator {
	keys := slices.Sorted(maps.Keys(s.m))
	values := make([]ref.Val, len(keys))
	for i, k := range keys {
		values[i] = types.String(k)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, values).Iterator()
}

// Fold satisfies traits.Foldable.
func (s *sortedMap) Fold(f traits.Folder) {
	for _, k := range slices.Sorted(maps.Keys(s.m)) {
		if !f.FoldEntry(k, s.m[k]) {
			return
		}
	}
}
