package lang

import "github.com/writ-dev/writ/lang/diag"

// Page is what a package, library or program tells those who use it, as its
// sources say it: nothing is evaluated.
type Page struct {
	// Name is a directory, or a file.
	Name     string `json:"name"`
	Language string `json:"language"`
	// Import is how others import it; empty for a program.
	Import string `json:"import,omitempty"`
	// Text is the comment about the whole.
	Text string `json:"text,omitempty"`
	// Inputs are what a program is given.
	Inputs []Symbol `json:"inputs,omitempty"`
	// Symbols are what others may use, in the order of the sources.
	Symbols []Symbol `json:"symbols,omitempty"`
}

// The kinds of Symbol.
const (
	SymbolDefinition = "definition"
	SymbolFunction   = "function"
	SymbolField      = "field"
	SymbolInput      = "input"
)

// Symbol is one thing that has a name.
type Symbol struct {
	Name string        `json:"name"`
	Kind string        `json:"kind"`
	Pos  diag.Position `json:"pos,omitzero"`
	// Text is the comment about it.
	Text string `json:"text,omitempty"`
	// Type is in the language's own words, but for the default and for messages.
	Type string `json:"type,omitempty"`
	// Values are those that there may be, when they are listed.
	Values  []string `json:"values,omitempty"`
	Default string   `json:"default,omitempty"`
	// Required has to be given, Computed is made of others.
	Required bool `json:"required,omitempty"`
	Computed bool `json:"computed,omitempty"`
	// Open may have other fields as well.
	Open bool `json:"open,omitempty"`
	// Embeds are those whose fields it has too.
	Embeds     []string `json:"embeds,omitempty"`
	Parameters []Symbol `json:"parameters,omitempty"`
	Fields     []Symbol `json:"fields,omitempty"`
}

// IsEmpty reports whether there is nothing to tell.
func (p Page) IsEmpty() bool { return p.Text == "" && len(p.Inputs) == 0 && len(p.Symbols) == 0 }
