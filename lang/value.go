package lang

import (
	"github.com/writ-dev/writ/lang/diag"
)

// Kind is the JSON type of a Value.
type Kind uint8

// The JSON types.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Object
)

// Value is a JSON value with its source position. Numbers keep their exact
// decimal text: no value ever passes through a float64.
type Value struct {
	Kind Kind          `json:"k"`
	Pos  diag.Position `json:"p,omitzero"`
	// Text is the number's canonical decimal text, or the string's content;
	// for a Bool it is "true" or "false".
	Text string `json:"t,omitempty"`
	// Items are a List's elements.
	Items []Value `json:"i,omitempty"`
	// Fields are an Object's members, sorted by name, without duplicates.
	Fields []Field `json:"f,omitempty"`
}

// Field is a member of an Object. Pos is the position of its key.
type Field struct {
	Name  string        `json:"n"`
	Pos   diag.Position `json:"p,omitzero"`
	Value Value         `json:"v"`
}

// Field returns the named member, and whether there is one.
func (v Value) Field(name string) (Value, bool) {
	for _, f := range v.Fields {
		if f.Name == name {
			return f.Value, true
		}
	}
	return Value{}, false
}
