package check

import (
	"encoding/json"
	"io"
)

// WriteJSON writes the report with its counts.
func (r *Report) WriteJSON(w io.Writer) error {
	out := struct {
		Checked   int        `json:"checked"`
		Unchecked int        `json:"unchecked"`
		Errors    int        `json:"errors"`
		Warnings  int        `json:"warnings"`
		Findings  []Finding  `json:"findings"`
		Documents []Document `json:"documents"`
	}{r.Checked(), r.Unchecked(), r.Count(Error), r.Count(Warning), r.Findings, r.Documents}
	if out.Findings == nil {
		out.Findings = []Finding{}
	}
	if out.Documents == nil {
		out.Documents = []Document{}
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
