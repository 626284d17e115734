package structural

import (
	"maps"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/expression"
)

// typeOf is the type by which rules know a value, or nil when they cannot see
// it: fields of unknown type, as in Kubernetes.
func typeOf(s *Schema, name string) *expression.Type {
	switch {
	case s.IntOrString:
		return expression.AnyType
	case s.Type == Array:
		if s.Items == nil {
			return nil
		}
		if elem := typeOf(s.Items, name+".@idx"); elem != nil {
			return expression.ListOf(elem)
		}
		return nil
	case s.Type == Object:
		return objectType(s, name)
	}
	switch s.Type {
	case Boolean:
		return expression.BoolType
	case Integer:
		return &expression.Type{Kind: expression.Int}
	case Number:
		return &expression.Type{Kind: expression.Double}
	case String:
		switch s.Format {
		case "byte":
			return &expression.Type{Kind: expression.Bytes}
		case "date-time", "date":
			return &expression.Type{Kind: expression.Timestamp}
		case "duration":
			return &expression.Type{Kind: expression.Duration}
		}
		return expression.StringType
	}
	return nil
}

func objectType(s *Schema, name string) *expression.Type {
	if s.Properties == nil && s.Values != nil {
		elem := typeOf(s.Values, name+".@elem")
		if elem == nil {
			return nil
		}
		return &expression.Type{Kind: expression.Map, Elem: elem}
	}
	t := &expression.Type{Kind: expression.Record, Name: name, Fields: map[string]*expression.Type{}, Members: map[string]string{}}
	add := func(member string, f *expression.Type) {
		field, ok := escape(member)
		if !ok || f == nil {
			return
		}
		t.Fields[field] = f
		if field != member {
			t.Members[field] = member
		}
	}
	for _, member := range slices.Sorted(maps.Keys(s.Properties)) {
		add(member, typeOf(s.Properties[member], name+"."+member))
	}
	if s.Embedded {
		add("apiVersion", expression.StringType)
		add("kind", expression.StringType)
		add("metadata", metaType)
	}
	return t
}

// metaType is what rules see of an object's metadata.
var metaType = &expression.Type{Kind: expression.Record, Name: "metadata", Fields: map[string]*expression.Type{
	"name": expression.StringType, "generateName": expression.StringType,
}}

// reserved are the words of CEL.
var reserved = []string{
	"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
	"let", "loop", "package", "namespace", "return", "var", "void", "while",
}

// escape makes a member's name one that expressions can write, as Kubernetes
// does: __namespace__, a__dot__b. Some names cannot be written.
func escape(name string) (string, bool) {
	if slices.Contains(reserved, name) {
		return "__" + name + "__", true
	}
	for i := range len(name) {
		c := name[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789.-/$", rune(c))) {
			return "", false
		}
	}
	out := strings.NewReplacer("__", "__underscores__", ".", "__dot__", "-", "__dash__", "/", "__slash__").Replace(name)
	return out, name != "" && !strings.Contains(name, "$")
}

// ruled reports whether there are rules in s or below it. seen guards against
// schemas that contain themselves.
func (s *Schema) ruled(seen map[*Schema]bool) bool {
	if s == nil || seen[s] {
		return false
	}
	if len(s.Rules) > 0 {
		return true
	}
	if seen == nil {
		seen = map[*Schema]bool{}
	}
	seen[s] = true
	if s.Values.ruled(seen) || s.Items.ruled(seen) {
		return true
	}
	for _, p := range s.Properties {
		if p.ruled(seen) {
			return true
		}
	}
	return false
}
