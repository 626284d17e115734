package check

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// WriteGitHub writes the report as workflow commands of GitHub Actions, which
// shows them beside the lines of a change.
//
// Source: "Workflow commands for GitHub Actions" in GitHub's documentation.
func (r *Report) WriteGitHub(w io.Writer) error {
	var b bytes.Buffer
	for _, f := range r.Findings {
		properties := []string{}
		add := func(name, value string) { properties = append(properties, name+"="+escapeProperty(value)) }
		if f.Pos.IsValid() {
			add("file", f.Pos.File)
		}
		if f.Pos.Line > 0 {
			add("line", fmt.Sprint(f.Pos.Line))
		}
		if f.Pos.Column > 0 {
			add("col", fmt.Sprint(f.Pos.Column))
		}
		if f.Code != "" {
			add("title", f.Code)
		}
		fmt.Fprintf(&b, "::%s %s::%s\n", f.Severity, strings.Join(properties, ","), escapeData(f.text()))
	}
	for _, d := range r.Documents {
		if !d.Checked {
			fmt.Fprintf(&b, "::notice file=%s,line=%d,title=unchecked::%s\n", escapeProperty(d.Pos.File), d.Pos.Line, escapeData(d.Object+": nothing is known about this kind"))
		}
	}
	fmt.Fprintln(&b, r.Summary())
	_, err := w.Write(b.Bytes())
	return err
}

// text is everything that a finding says but its place.
func (f Finding) text() string {
	d := f.Diagnostic
	d.Pos.File = ""
	var b strings.Builder
	b.WriteString(d.Error())
	for _, n := range f.Notes {
		b.WriteString("\n")
		if n.Pos.IsValid() {
			b.WriteString(n.Pos.String() + ": ")
		}
		b.WriteString(n.Text)
	}
	for _, n := range f.origins() {
		b.WriteString("\nfrom " + n.Pos.String() + ": " + n.Text)
	}
	if f.Hint != "" {
		b.WriteString("\nfix: " + f.Hint)
	}
	if len(f.Environments) > 0 {
		b.WriteString("\nin " + strings.Join(f.Environments, ", "))
	}
	return b.String()
}

func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
