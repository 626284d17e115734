package why

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// maxShown bounds a value in a line, in bytes.
const maxShown = 100

// Style is how an answer is shown. The zero Style is plain.
type Style struct {
	// Place turns a position to how it is shown, such as relative to where a
	// user stands.
	Place func(diag.Position) diag.Position
	// Strong and Weak mark what counts, and what was overridden.
	Strong, Weak func(string) string
}

func (s Style) place(p diag.Position) string {
	if s.Place != nil {
		p = s.Place(p)
	}
	return p.String()
}

func mark(with func(string) string, text string) string {
	if with == nil {
		return text
	}
	return with(text)
}

// WriteText writes the answer for people: what the value is, then each step with
// its line of source, deeper ones under the one that they explain.
func (a *Answer) WriteText(w io.Writer, style Style) error {
	var b bytes.Buffer
	path := a.Path
	if path == "" {
		path = "."
	}
	fmt.Fprintf(&b, "%s = %s", strings.TrimSpace(a.Document+" "+path), mark(style.Strong, shown(string(a.Value))))
	var in []string
	for _, part := range []string{a.Unit, a.Environment} {
		if part != "" {
			in = append(in, part)
		}
	}
	if len(in) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(in, " in "))
	}
	fmt.Fprint(&b, "\n\n")
	var last Step
	for _, s := range a.Steps {
		// A line that is there already would only be in the way.
		again := s.Pos.File == last.Pos.File && s.Pos.Line == last.Pos.Line
		s.write(&b, style, !again)
		last = s
	}
	if a.Gap != "" {
		fmt.Fprintf(&b, "not all could be followed: %s\n", a.Gap)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// write writes a step, and its line of source when it is asked for.
func (s Step) write(w io.Writer, style Style, source bool) {
	indent := strings.Repeat("  ", s.Depth)
	line := s.Sentence()
	switch s.Effect {
	case lang.Overridden:
		line = mark(style.Weak, line)
	case lang.Gives:
		line = mark(style.Strong, line)
	}
	if s.Pos.IsValid() {
		line = style.place(s.Pos) + ": " + line
	}
	fmt.Fprintf(w, "%s%s\n", indent, line)
	if source && s.Source != "" {
		fmt.Fprintf(w, "%s  | %s\n", indent, strings.ReplaceAll(strings.TrimSpace(s.Source), "\t", " "))
	}
}

// nouns are what the kinds of steps are called where that is not their name.
var nouns = map[lang.StepKind]string{
	lang.StepExtend:     "field +:",
	lang.StepReference:  "reference to",
	lang.StepStandard:   "std function",
	lang.StepLabel:      "the name of",
	lang.StepPattern:    "pattern of fields",
	lang.StepGiven:      "given by",
	lang.StepCall:       "call of",
	lang.StepImport:     "import of",
	lang.StepObject:     "object",
	lang.StepExpression: "expression",
}

// Sentence says what a step is and what it did: "field replicas gives 3".
func (s Step) Sentence() string {
	if s.Effect == lang.Decides {
		switch s.Kind {
		case lang.StepReference:
			return "brought in by the reference to " + s.Name
		case lang.StepField:
			return "replaced by the field " + s.Name
		case lang.StepCall:
			return "in the call of " + s.Name
		case lang.StepComprehension:
			if s.Text == "" {
				return "in the comprehension of " + s.Name
			}
		}
	}
	text := nouns[s.Kind]
	if text == "" {
		text = string(s.Kind)
	}
	if s.Name != "" {
		text += " " + s.Name
	}
	value := shown(string(s.Value))
	if value == "" {
		value = s.Text
	}
	switch {
	case s.Effect == lang.Gives && value != "":
		text += " gives " + value
	case s.Effect == lang.Overridden && value != "":
		text += ": " + value + ", overridden"
	case s.Effect == lang.Overridden:
		text += ", overridden"
	case s.Effect == lang.Allows && value != "":
		text += " allows " + value
	case s.Effect == lang.Decides && value != "":
		text += " decides: " + value
	case s.Effect == lang.Decides:
		text += " decides"
	case value != "":
		text += ": " + value
	}
	if s.Note != "" {
		text += " (" + s.Note + ")"
	}
	return text
}

// shown shortens a text to one line.
func shown(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "…"
}
