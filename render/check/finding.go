package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render/why"
)

// Severity says whether a finding fails the check.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// The codes of findings that no other package has. Those of policies are
// PolicyPrefix and the policy's name.
const (
	CodeNotServed = "NotServed"
	CodeReference = "Reference"
	PolicyPrefix  = "policy:"
)

// Finding is one thing that a check found, where, and what to do about it.
type Finding struct {
	diag.Diagnostic
	Severity Severity `json:"severity"`
	// Environments are those in which it was found, when the project has any.
	Environments []string `json:"environments,omitempty"`
	// Provenance is how the field got its value; see Explain.
	Provenance *why.Answer `json:"provenance,omitempty"`
	// Fix is what to write instead, when it is known.
	Fix *Fix `json:"fix,omitempty"`
}

// Document is one document of a check.
type Document struct {
	Object      string        `json:"object"`
	Pos         diag.Position `json:"pos,omitzero"`
	Environment string        `json:"environment,omitempty"`
	// Checked is false when nothing is known about the document's kind.
	Checked bool `json:"checked"`
}

// Report is the outcome of the checks of one or several environments.
type Report struct {
	Findings  []Finding  `json:"findings"`
	Documents []Document `json:"documents"`
	// Of is what the documents are: "document" when empty, "file" in a report
	// about sources, or "test". Strict says that warnings are failures.
	Of     string `json:"-"`
	Strict bool   `json:"-"`
}

func (r *Report) noun() string { return cmp.Or(r.Of, "document") }

// tool is the command that the report is of.
func (r *Report) tool() string {
	switch r.Of {
	case "file":
		return "writ lint"
	case "test":
		return "writ test"
	}
	return "writ check"
}

// Checked and Unchecked count documents; the same one of several environments
// counts for each.
func (r *Report) Checked() int {
	n := 0
	for _, d := range r.Documents {
		if d.Checked {
			n++
		}
	}
	return n
}

// Unchecked counts the documents of unknown kinds.
func (r *Report) Unchecked() int { return len(r.Documents) - r.Checked() }

// Count counts the findings of a severity.
func (r *Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Failed reports whether the check did not pass: because of an error, or, when
// strict, of a warning or an unchecked document.
func (r *Report) Failed(strict bool) bool {
	return r.Count(Error) > 0 || strict && (r.Count(Warning) > 0 || r.Unchecked() > 0)
}

// Add takes the findings and documents of another report. A finding that is in
// both becomes one, of the environments of both.
func (r *Report) Add(other *Report) {
	r.Documents = append(r.Documents, other.Documents...)
	r.Findings = append(r.Findings, other.Findings...)
	r.tidy()
}

// Fail adds diagnostics, such as those of a program that cannot be evaluated,
// as errors.
func (r *Report) Fail(l diag.List, environments ...string) {
	for _, d := range l {
		r.Findings = append(r.Findings, Finding{
			Diagnostic: d, Severity: Error, Environments: environments,
			Fix: fixOf(api.Problem{Code: d.Code, Path: d.Path, Message: d.Message, Hint: d.Hint}),
		})
	}
	r.tidy()
}

// Relocate changes every position, such as to where a user stands.
func (r *Report) Relocate(to func(diag.Position) diag.Position) {
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Pos = to(f.Pos)
		f.Notes = slices.Clone(f.Notes)
		for j := range f.Notes {
			f.Notes[j].Pos = to(f.Notes[j].Pos)
		}
		f.relocate(to)
	}
	for i := range r.Documents {
		r.Documents[i].Pos = to(r.Documents[i].Pos)
	}
	r.tidy()
}

func (f *Finding) relocate(to func(diag.Position) diag.Position) {
	if f.Fix != nil && f.Fix.Edit != nil {
		fix, edit := *f.Fix, *f.Fix.Edit
		edit.Pos, edit.End = to(edit.Pos), to(edit.End)
		fix.Edit, f.Fix = &edit, &fix
	}
	if f.Provenance != nil {
		// Several findings may have one.
		answer := *f.Provenance
		answer.Steps = slices.Clone(answer.Steps)
		for i := range answer.Steps {
			answer.Steps[i].Pos = to(answer.Steps[i].Pos)
		}
		f.Provenance = &answer
	}
}

// tidy sorts the findings by place and makes one of those that are equal.
func (r *Report) tidy() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(
			strings.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column),
			strings.Compare(a.Object, b.Object), strings.Compare(string(a.Severity), string(b.Severity)),
		)
	})
	at := map[string]int{}
	out := r.Findings[:0]
	for _, f := range r.Findings {
		key := strings.Join([]string{string(f.Severity), f.Code, f.Error(), f.Hint}, "\x00")
		if i, ok := at[key]; ok {
			for _, e := range f.Environments {
				if !slices.Contains(out[i].Environments, e) {
					out[i].Environments = append(slices.Clone(out[i].Environments), e)
				}
			}
			continue
		}
		at[key] = len(out)
		out = append(out, f)
	}
	r.Findings = out
}
