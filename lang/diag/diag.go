// Package diag holds what a user is told when something is wrong with their
// input: a message, where it is, the other places involved, and what to do.
//
// Libraries return a List (or one Diagnostic) as an error; only the command
// line prints, once, with Print. Messages are lower case without a full stop;
// a hint is one imperative sentence. Code is stable and is what tests match.
package diag

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Position is a place in a source file. Line and Column count from 1, Column
// in bytes; zero means unknown. File is slash-separated and relative to the
// module root.
type Position struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// IsValid reports whether at least the file is known.
func (p Position) IsValid() bool { return p.File != "" }

// String formats p as file:line:column, leaving out what is unknown.
func (p Position) String() string {
	switch {
	case p.File == "":
		return "-"
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Note names another place involved in a Diagnostic.
type Note struct {
	Pos  Position `json:"pos,omitzero"`
	Text string   `json:"text"`
}

// Diagnostic is one thing wrong. Path is the JSON path inside the document
// (".spec.replicas") and Object names the document, where there is one.
type Diagnostic struct {
	Code    string   `json:"code,omitempty"`
	Pos     Position `json:"pos,omitzero"`
	Object  string   `json:"object,omitempty"`
	Path    string   `json:"path,omitempty"`
	Message string   `json:"message"`
	Notes   []Note   `json:"notes,omitempty"`
	Hint    string   `json:"hint,omitempty"`
}

// Error formats d on one line, without notes and hint.
func (d Diagnostic) Error() string {
	var b strings.Builder
	if d.Pos.IsValid() {
		b.WriteString(d.Pos.String() + ": ")
	}
	if d.Object != "" {
		b.WriteString(d.Object + ": ")
	}
	if d.Path != "" {
		b.WriteString(d.Path + ": ")
	}
	b.WriteString(d.Message)
	return b.String()
}

// List is every diagnostic of one run. It is an error; an empty List is not
// one, so return it through Err.
type List []Diagnostic

// Error joins the diagnostics, one a line.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns l sorted by position as an error, or nil when l is empty.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	slices.SortStableFunc(l, func(a, b Diagnostic) int {
		return cmp.Or(
			strings.Compare(a.Pos.File, b.Pos.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column),
		)
	})
	return l
}

// Errorf makes a List of one Diagnostic at pos.
func Errorf(pos Position, code, format string, args ...any) List {
	return List{{Code: code, Pos: pos, Message: fmt.Sprintf(format, args...)}}
}

// From finds the diagnostics in err's chain; an error that carries none
// becomes one Diagnostic with only a message. Joined errors (errors.Join) give
// those of each. It returns nil for nil.
func From(err error) List {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all List
		for _, e := range joined.Unwrap() {
			all = append(all, From(e)...)
		}
		return all
	}
	var l List
	if errors.As(err, &l) {
		return l
	}
	var d Diagnostic
	if errors.As(err, &d) {
		return List{d}
	}
	return List{{Message: err.Error()}}
}

// Print writes err for a person: each diagnostic on a line, its notes and its
// hint indented under it.
func Print(w io.Writer, err error) {
	for _, d := range From(err) {
		Write(w, "error:", d)
	}
}

// Write writes one diagnostic for a person, after a label such as "warning:".
func Write(w io.Writer, label string, d Diagnostic) {
	fmt.Fprintf(w, "%s %s", label, d.Error())
	if d.Code != "" {
		fmt.Fprintf(w, " [%s]", d.Code)
	}
	fmt.Fprintln(w)
	for _, n := range d.Notes {
		if n.Pos.IsValid() {
			fmt.Fprintf(w, "  %s: %s\n", n.Pos, n.Text)
		} else {
			fmt.Fprintf(w, "  %s\n", n.Text)
		}
	}
	if d.Hint != "" {
		fmt.Fprintf(w, "  fix: %s\n", d.Hint)
	}
}
