package test

import (
	"maps"
	"slices"

	"github.com/writ-dev/writ/lang/diag"
)

// Status is how a test ended.
type Status string

// The ways that a test ends.
const (
	Passed Status = "passed"
	Failed Status = "failed"
)

// Outcome is how a test ended, how long it took, and what is wrong. Files are
// named relative to Options.Base.
type Outcome struct {
	Status   Status    `json:"status"`
	Seconds  float64   `json:"seconds"`
	Problems diag.List `json:"problems,omitempty"`
}

// Case is a test and its outcome.
type Case struct {
	Name string        `json:"name"`
	Pos  diag.Position `json:"pos"`
	Outcome
}

// File is a test file. Problems are about the file as a whole, whose tests are
// then not known. Seconds is what evaluating it took, without its tests.
type File struct {
	Name     string    `json:"name"`
	Seconds  float64   `json:"seconds"`
	Problems diag.List `json:"problems,omitempty"`
	Cases    []Case    `json:"cases"`
}

// Report is the outcome of a run.
type Report struct {
	Files  []File `json:"files"`
	Passed int    `json:"passed"`
	// Failed counts tests and, as one each, files that cannot be evaluated.
	Failed  int     `json:"failed"`
	Seconds float64 `json:"seconds"`
	// Evaluations is how often a program or test file was evaluated.
	Evaluations int `json:"evaluations"`
	// Updated are the snapshots that were written. Obsolete are those that no
	// test has, Removed those of them that Options.Update removed.
	Updated  []string `json:"updatedSnapshots,omitempty"`
	Obsolete []string `json:"obsoleteSnapshots,omitempty"`
	Removed  []string `json:"removedSnapshots,omitempty"`
	// Unchecked names the documents of kinds that Writ does not serve: what they
	// hold was not checked.
	Unchecked []string  `json:"unchecked,omitempty"`
	Coverage  *Coverage `json:"coverage,omitempty"`

	// reads are the files that were read, by full path.
	reads map[string]bool
}

// Tests is how many tests ran.
func (r *Report) Tests() int {
	n := 0
	for _, f := range r.Files {
		n += len(f.Cases)
	}
	return n
}

// Failed reports whether a test in the file, or the file itself, failed.
func (f File) Failed() bool {
	return len(f.Problems) > 0 || slices.ContainsFunc(f.Cases, func(c Case) bool { return c.Status == Failed })
}

func (r *runner) report(suites []*suite) *Report {
	report := &Report{Files: []File{}, reads: r.reads, Evaluations: int(r.evaluations.Load()), Unchecked: slices.Sorted(maps.Keys(r.unchecked))}
	for _, s := range suites {
		f := File{Name: s.name, Seconds: s.seconds, Problems: s.problems, Cases: []Case{}}
		if len(s.problems) > 0 {
			report.Failed++
		}
		for _, c := range s.cases {
			f.Cases = append(f.Cases, Case{Name: c.name, Pos: r.place(c.pos, s.project.module.dir), Outcome: c.Outcome})
			if c.Status == Failed {
				report.Failed++
			} else {
				report.Passed++
			}
		}
		// A file none of whose tests are selected is not worth a line.
		if r.Run == nil || len(f.Cases) > 0 || len(f.Problems) > 0 {
			report.Files = append(report.Files, f)
		}
	}
	return report
}
