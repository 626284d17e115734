package expression

import (
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// Kind is the kind of a Type.
type Kind uint8

// The kinds. Record is an object with known members, Map one with any.
const (
	Any Kind = iota
	Bool
	Int
	Double
	String
	Bytes
	Timestamp
	Duration
	List
	Map
	Record
	// Optional is a value that need not be there: Value of nil is none.
	Optional
)

// Type is what an expression knows of a value before it is evaluated. A Type
// may not contain itself.
type Type struct {
	Kind Kind
	// Elem is of a List's elements, a Map's values, or an Optional's value.
	Elem *Type
	// Name tells Records apart; Fields are their members, by the names that
	// expressions use; Members gives the name in JSON where it differs.
	Name    string
	Fields  map[string]*Type
	Members map[string]string
}

// Types without parts.
var (
	AnyType    = &Type{Kind: Any}
	BoolType   = &Type{Kind: Bool}
	StringType = &Type{Kind: String}
)

// ListOf is the type of lists of elem.
func ListOf(elem *Type) *Type { return &Type{Kind: List, Elem: elem} }

func (t *Type) cel() *cel.Type {
	switch t.Kind {
	case Bool:
		return cel.BoolType
	case Int:
		return cel.IntType
	case Double:
		return cel.DoubleType
	case String:
		return cel.StringType
	case Bytes:
		return cel.BytesType
	case Timestamp:
		return cel.TimestampType
	case Duration:
		return cel.DurationType
	case List:
		return cel.ListType(t.Elem.cel())
	case Map:
		return cel.MapType(cel.StringType, t.Elem.cel())
	case Record:
		return cel.ObjectType(t.Name)
	case Optional:
		return cel.OptionalType(t.Elem.cel())
	}
	return cel.DynType
}

// provider knows the Records of the variables.
type provider struct {
	types.Provider
	records map[string]*Type
}

func (p *provider) add(t *Type) {
	if t == nil {
		return
	}
	p.add(t.Elem)
	if t.Kind == Record && p.records[t.Name] == nil {
		p.records[t.Name] = t
		for _, f := range t.Fields {
			p.add(f)
		}
	}
}

// FindStructType satisfies types.Provider.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if t := p.records[name]; t != nil {
		return types.NewTypeTypeWithParam(t.cel()), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames satisfies types.Provider.
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if t := p.records[name]; t != nil {
		return slices.Sorted(maps.Keys(t.Fields)), true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType satisfies types.Provider.
func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if t := p.records[name]; t != nil {
		f := t.Fields[field]
		if f == nil {
			return nil, false
		}
		return &types.FieldType{Type: f.cel()}, true
	}
	return p.Provider.FindStructFieldType(name, field)
}
