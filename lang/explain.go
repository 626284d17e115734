package lang

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/lang/diag"
)

// StepKind is what a Step of an explanation is, in the words of the language.
type StepKind string

// The kinds of steps. What each front end can see is in its documentation.
const (
	StepField         StepKind = "field"         // a member of an object, or a field of a struct
	StepElement       StepKind = "element"       // an element of a list
	StepExtend        StepKind = "extend"        // Jsonnet: a field with "+:", joined to the one that it inherits
	StepObject        StepKind = "object"        // Jsonnet: an object of a sum of objects
	StepDefault       StepKind = "default"       // CUE: the marked alternative of a disjunction
	StepAlternative   StepKind = "alternative"   // CUE: another alternative of a disjunction
	StepConstraint    StepKind = "constraint"    // CUE: what only says which values are allowed
	StepPattern       StepKind = "pattern"       // CUE: a constraint on fields by their names
	StepLabel         StepKind = "label"         // CUE: the name of a field as a value
	StepReference     StepKind = "reference"     // the value of something else
	StepLet           StepKind = "let"           // CUE: a let clause
	StepLocal         StepKind = "local"         // Jsonnet: a local variable
	StepArgument      StepKind = "argument"      // an argument of a call
	StepCall          StepKind = "call"          // a call of a function
	StepStandard      StepKind = "std"           // a function of a standard library
	StepImport        StepKind = "import"        // a file that was imported
	StepCondition     StepKind = "condition"     // an "if" that let it through
	StepComprehension StepKind = "comprehension" // a "for" that made it
	StepExpression    StepKind = "expression"    // what is computed from other values
	StepLiteral       StepKind = "literal"       // a value as it is written
	StepInput         StepKind = "input"         // an input of the program
	StepAnchor        StepKind = "anchor"        // YAML: what an alias stands for
	StepAlias         StepKind = "alias"         // YAML: an alias
	StepMerge         StepKind = "merge"         // YAML: a mapping that "<<" merges
	StepGiven         StepKind = "given"         // a value from the project file or the command line
)

// Effect is what a Step did to the value.
type Effect string

// The effects.
const (
	// Gives: the value is the one of this step.
	Gives Effect = "gives"
	// Overridden: this step's value lost.
	Overridden Effect = "overridden"
	// Allows: this step admits the value, and would refuse others.
	Allows Effect = "allows"
	// Decides: this step chose where the value comes from.
	Decides Effect = "decides"
	// Uses: the value was computed from the one of this step.
	Uses Effect = "uses"
)

// Step is one place that had to do with a value.
type Step struct {
	// Depth counts from 0. The steps after one that are deeper tell where its
	// own value comes from.
	Depth  int           `json:"depth"`
	Kind   StepKind      `json:"kind"`
	Effect Effect        `json:"effect"`
	Pos    diag.Position `json:"pos,omitzero"`
	// Name is that of the field, variable, function, file or input.
	Name string `json:"name,omitempty"`
	// Value is the step's value as compact JSON; empty when it has none that
	// is complete, or a long one.
	Value json.RawMessage `json:"value,omitempty"`
	// Text is what the step says when there is no Value: an expression, or what
	// is in a long value.
	Text string `json:"text,omitempty"`
	// Note is a remark for people.
	Note string `json:"note,omitempty"`
}

// Explanation tells how the part of a program's value at Path came to be: the
// steps begin with where the value is and go back to where it was written.
type Explanation struct {
	Path  string `json:"path"`
	Steps []Step `json:"steps"`
	// Gap says what could not be followed, when the steps are not all.
	Gap string `json:"gap,omitempty"`
}

// Bounds on explanations.
const (
	MaxExplain      = 100  // paths of one evaluation
	MaxExplainSteps = 500  // steps of one path
	maxStepValue    = 2048 // bytes
	maxStepText     = 200  // bytes
)

// Show puts a complete value into a step: as JSON when it is short, else what
// kind of value it is.
func (s *Step) Show(v Value) {
	s.Value, s.Text = nil, ""
	if b := v.AppendJSON(nil); len(b) <= maxStepValue {
		s.Value = b
		return
	}
	switch v.Kind {
	case List:
		s.Text = count(len(v.Items), "element")
	case Object:
		s.Text = count(len(v.Fields), "field")
	default:
		s.Text = count(len(v.Text), "byte")
	}
}

// ShowText puts source text into a step, on one line.
func (s *Step) ShowText(text string) { s.Text = oneLine(text) }

// oneLine makes a short line of a text.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if len(text) <= maxStepText {
		return text
	}
	cut := maxStepText
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut--
	}
	return text[:cut] + "…"
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// Located is the explanation of one who knows no more than where the parts of v
// were written. Gap says why.
func Located(v Value, path, gap string) Explanation {
	e := Explanation{Path: path, Steps: []Step{}, Gap: gap}
	elements, ok := SplitPath(path)
	part, has := v.Inside(elements)
	if !ok || !has {
		e.Gap = "there is no value at " + strconv.Quote(path)
		return e
	}
	s := Step{Kind: StepElement, Effect: Gives, Pos: part.Pos}
	if n := len(elements); n > 0 && elements[n-1].Index < 0 {
		s.Kind, s.Name = StepField, elements[n-1].Name
	}
	s.Show(part)
	e.Steps = append(e.Steps, s)
	return e
}
