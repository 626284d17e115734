package api

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
)

// Fix is a change of one field that probably does away with a Problem: another
// name, or another value.
type Fix struct {
	// Name is to be the field's name, instead of the last of the Problem's Path.
	Name string `json:"name,omitempty"`
	// Value is to be the field's value.
	Value json.RawMessage `json:"value,omitempty"`
	// Quote says that Value is the text of what is there, as a string.
	Quote bool `json:"-"`
}

// The hints that say exactly what to write. Problem.Fix reads them again, so
// that people and tools are told the same.
const (
	meanHint    = "did you mean %q?"
	renameHint  = "rename it to %q"
	quoteHint   = "quote it: %q"
	bareHint    = "write %s, without quotes"
	writeHint   = "write %s"
	versionHint = "use apiVersion: %s"
)

// DidYouMean hints at the name of an unknown field, or else at a value, that was
// probably meant.
func DidYouMean(near string) string { return fmt.Sprintf(meanHint, near) }

// RenameTo hints at another name for a field.
func RenameTo(near string) string { return fmt.Sprintf(renameHint, near) }

// QuoteIt hints that a number or boolean is to be a string.
func QuoteIt(text string) string { return fmt.Sprintf(quoteHint, text) }

// WithoutQuotes hints that a string is to be a number or boolean.
func WithoutQuotes(literal string) string { return fmt.Sprintf(bareHint, literal) }

// WriteInstead hints at a number, or a text that is one word.
func WriteInstead(word string) string { return fmt.Sprintf(writeHint, word) }

// UseVersion hints at another apiVersion.
func UseVersion(apiVersion string) string { return fmt.Sprintf(versionHint, apiVersion) }

var (
	quotedHints = regexp.MustCompile(`^(did you mean|rename it to|quote it:) (".*")\??$`)
	plainHints  = regexp.MustCompile(`^(write|use apiVersion:) (\S+?)(, without quotes)?$`)
)

// Fix is the change that the hint names, if it names one.
func (p Problem) Fix() (Fix, bool) {
	if m := plainHints.FindStringSubmatch(p.Hint); m != nil {
		if json.Valid([]byte(m[2])) {
			return Fix{Value: json.RawMessage(m[2])}, true
		}
		return Fix{Value: quoted(m[2])}, m[3] == ""
	}
	m := quotedHints.FindStringSubmatch(p.Hint)
	if m == nil {
		return Fix{}, false
	}
	text, err := strconv.Unquote(m[2])
	switch {
	case err != nil:
		return Fix{}, false
	case m[1] == "rename it to", m[1] == "did you mean" && p.Code == CodeUnknownField:
		return Fix{Name: text}, true
	}
	return Fix{Value: quoted(text), Quote: m[1] == "quote it:"}, true
}

// quoted is a text as JSON.
func quoted(text string) json.RawMessage {
	b, _ := json.Marshal(text) // a string always has a form
	return b
}
