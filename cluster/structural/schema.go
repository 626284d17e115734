// Package structural describes the JSON of API objects and checks objects
// against the description: the schema of a built-in Kubernetes kind, or the
// structural schema of a CustomResourceDefinition with its defaults and its
// CEL rules. Both are written with the keywords of OpenAPI v3 that Kubernetes
// allows.
//
// It is pure and bounded: numbers are exact, patterns take linear time, CEL
// rules have a cost limit, and what is reported of one object is limited.
//
// Values are decoded JSON: map[string]any, []any, string, bool, nil and
// json.Number (see object.Unmarshal). A null means the same as no field, but
// where a schema says nullable.
//
// Known differences from a Kubernetes API server: equality of lists of type set and map is that of lists; the
// cost of rules is limited when they run and not estimated beforehand.
package structural

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"

	"github.com/writ-dev/writ/cluster/expression"
)

// The types of JSON values in a Schema.
const (
	Object  = "object"
	Array   = "array"
	String  = "string"
	Integer = "integer"
	Number  = "number"
	Boolean = "boolean"
)

// The types of lists.
const (
	ListMap = "map"
	ListSet = "set"
)

// Schema says which JSON values are right. The empty Schema takes anything. It
// is made by Parse and must not be changed; it may refer to itself.
type Schema struct {
	// Type is one of the constants above; empty means any.
	Type   string
	Format string
	// Properties are the known members of an object, Values what the others
	// must be; without Values and PreserveUnknown there are no others.
	Properties map[string]*Schema
	Values     *Schema
	Required   []string
	Items      *Schema
	// Enum lists the only values; nil means any.
	Enum    []any
	Pattern *regexp.Regexp
	// Default is what an absent value is taken to be; nil means nothing.
	Default any

	Limits
	// ListType is how the elements of a list are told apart: ListMap by their
	// members MapKeys, ListSet by their value, otherwise not at all. Repeatable
	// says that the API only warns of two elements with equal keys.
	ListType   string
	MapKeys    []string
	Repeatable bool

	Nullable        bool
	PreserveUnknown bool
	IntOrString     bool
	// Embedded is a whole API object, with apiVersion, kind and metadata.
	Embedded            bool
	AllOf, AnyOf, OneOf []*Schema
	Not                 *Schema
	Rules               []Rule

	// names are the keys of Properties, sorted.
	names []string
	// self is what Rules see.
	self *expression.Type
}

// Limits bound a value's size.
type Limits struct {
	Minimum, Maximum                   *big.Rat
	ExclusiveMinimum, ExclusiveMaximum bool
	MultipleOf                         *big.Rat
	// Lengths of strings are in characters, MaxBytes in bytes.
	MinLength, MaxLength, MaxBytes *int64
	MinItems, MaxItems             *int64
	MinProperties, MaxProperties   *int64
}

// Property returns the schema of a member, or nil when the object cannot have
// it.
func (s *Schema) Property(name string) *Schema {
	if p, ok := s.Properties[name]; ok {
		return p
	}
	return s.Values
}

// closed reports whether an object has only the members in Properties.
func (s *Schema) closed() bool {
	return s.Values == nil && !s.PreserveUnknown && (s.Properties != nil || s.Type == Object)
}

// maxDigits bounds how large the numbers are that are compared exactly.
const maxDigits = 1000

// rational is the exact value of a number, or false when it has too many
// digits to be worth it.
func rational(n json.Number) (*big.Rat, bool) {
	s := string(n)
	if len(s) > maxDigits {
		return nil, false
	}
	if i := slices.IndexFunc([]byte(s), func(c byte) bool { return c == 'e' || c == 'E' }); i >= 0 && len(s)-i > 4 {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}
