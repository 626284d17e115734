package check

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/writ-dev/writ/lang/diag"
)

// WriteText writes the report for people: each finding with its notes and what
// to do, then what was counted. Paint colours a word for a severity; nil does
// not.
func (r *Report) WriteText(w io.Writer, paint func(s Severity, word string) string) error {
	if paint == nil {
		paint = func(_ Severity, word string) string { return word }
	}
	var b bytes.Buffer
	for _, f := range r.Findings {
		d := f.Diagnostic
		if len(f.Environments) > 0 {
			d.Notes = append(append([]diag.Note{}, d.Notes...), diag.Note{Text: "in " + strings.Join(f.Environments, ", ")})
		}
		diag.Write(&b, paint(f.Severity, string(f.Severity)+":"), d)
	}
	for _, d := range r.Documents {
		if !d.Checked {
			fmt.Fprintf(&b, "%s %s: %s: nothing is known about this kind: give its CustomResourceDefinition with --crd\n", paint(Warning, "unchecked:"), d.Pos, d.Object)
		}
	}
	fmt.Fprintln(&b, r.Summary())
	_, err := w.Write(b.Bytes())
	return err
}

// Summary counts in one line: "12 documents checked, 1 unchecked: 2 errors, 1
// warning".
func (r *Report) Summary() string {
	s := fmt.Sprintf("%s checked, %d unchecked: ", count(r.Checked(), "document"), r.Unchecked())
	if len(r.Findings) == 0 {
		return s + "nothing is wrong"
	}
	return s + count(r.Count(Error), "error") + ", " + count(r.Count(Warning), "warning")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
