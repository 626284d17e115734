package test

import (
	"fmt"
	"slices"

	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render/check"
)

// texts are what the codes of problems mean, but for those of evaluation.
var texts = map[string]string{
	"TEST002":    "a test that cannot be run as it is written",
	"TEST003":    "a fact that does not hold",
	"TEST004":    "a document that is not as expected",
	"TEST005":    "documents that are not those of the snapshot",
	"TEST006":    "what must fail does not, or for another reason",
	codeObsolete: "a snapshot that no test has",
}

const codeObsolete = "TEST008"

// Describe is what a code of a problem means, in one line, or "".
func Describe(code string) string { return texts[code] }

// Findings is the report as that of a check whose documents are the tests, for
// the formats in which code scanning and CI systems read what is wrong with
// sources. Each problem names its test before the document that it is about.
func (r *Report) Findings() *check.Report {
	out := &check.Report{Of: "test", Findings: []check.Finding{}, Documents: []check.Document{}}
	var failed diag.List
	for _, f := range r.Files {
		failed = append(failed, f.Problems...)
		for _, c := range f.Cases {
			name := fmt.Sprintf("test %q", c.Name)
			out.Documents = append(out.Documents, check.Document{Object: name, Pos: c.Pos, Checked: true})
			failed = append(failed, named(name, c.Problems)...)
		}
	}
	for _, file := range r.Obsolete {
		out.Findings = append(out.Findings, check.Finding{Severity: check.Warning, Diagnostic: diag.Diagnostic{
			Code: codeObsolete, Pos: diag.Position{File: file}, Message: "no test has this snapshot", Hint: "remove it with 'writ test --update'",
		}})
	}
	out.Fail(failed)
	return out
}

// named puts the name of a test before what its problems are about.
func named(name string, problems diag.List) diag.List {
	out := slices.Clone(problems)
	for i, d := range out {
		out[i].Object = name
		if d.Object != "" {
			out[i].Object += ": " + d.Object
		}
	}
	return out
}
