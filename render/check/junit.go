package check

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string         `xml:"name,attr"`
	Class     string         `xml:"classname,attr"`
	File      string         `xml:"file,attr,omitempty"`
	Line      int            `xml:"line,attr,omitempty"`
	Failures  []junitProblem `xml:"failure"`
	Error     *junitProblem  `xml:"error"`
	Skipped   *junitSkipped  `xml:"skipped"`
	SystemOut string         `xml:"system-out,omitempty"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

// WriteJUnit writes the report in the XML that CI systems read: a suite for
// each environment, a test case for each document. Warnings are its output; an
// unchecked document is skipped; what is about no document is an error in a
// case of its own.
func (r *Report) WriteJUnit(w io.Writer) error {
	all := junitSuites{Name: r.tool()}
	about := r.byDocument()
	for _, e := range r.environments() {
		s := r.suite(e, about)
		all.Suites = append(all.Suites, s)
		all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors, all.Skipped+s.Skipped
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(&b)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// environments lists those of documents and findings; one without a name when
// there are none.
func (r *Report) environments() []string {
	var out []string
	add := func(e string) {
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	for _, d := range r.Documents {
		add(d.Environment)
	}
	for _, f := range r.Findings {
		for _, e := range f.Environments {
			add(e)
		}
	}
	if len(out) == 0 {
		return []string{""}
	}
	return out
}

func (r *Report) suite(environment string, about map[string][]Finding) junitSuite {
	s := junitSuite{Name: environment}
	if environment == "" {
		s.Name = r.noun() + "s"
	}
	for _, d := range r.Documents {
		if d.Environment != environment {
			continue
		}
		c := junitCase{Name: d.Object, Class: s.Name, File: d.Pos.File, Line: d.Pos.Line}
		if !d.Checked {
			c.Skipped = &junitSkipped{Message: "nothing is known about this kind"}
			s.Skipped++
		}
		for _, f := range in(environment, about[d.Object]) {
			if f.Severity == Error || r.Strict {
				c.Failures = append(c.Failures, junitProblem{Message: f.Message, Type: f.Code, Text: f.Pos.String() + ": " + f.text()})
			} else {
				c.SystemOut += fmt.Sprintf("warning: %s: %s\n", f.Pos, f.text())
			}
		}
		if len(c.Failures) > 0 {
			s.Failures++
			c.Skipped = nil
		}
		s.Cases = append(s.Cases, c)
	}
	for _, f := range in(environment, about[""]) {
		name := strings.TrimSpace(f.Code + " " + f.Pos.String())
		c := junitCase{Name: name, Class: s.Name, File: f.Pos.File, Line: f.Pos.Line}
		if f.Severity == Error {
			c.Error = &junitProblem{Message: f.Message, Type: f.Code, Text: f.Pos.String() + ": " + f.text()}
			s.Errors++
		} else {
			c.SystemOut = fmt.Sprintf("warning: %s\n", f.text())
		}
		s.Cases = append(s.Cases, c)
	}
	s.Tests = len(s.Cases)
	return s
}

// byDocument groups the findings by the document that they are about; those of
// none, or of a document that there is not, have an empty name.
func (r *Report) byDocument() map[string][]Finding {
	out := map[string][]Finding{}
	for _, d := range r.Documents {
		out[d.Object] = nil
	}
	for _, f := range r.Findings {
		name := f.Object
		if name == "" {
			name = f.Pos.File // in a report about files
		}
		if _, ok := out[name]; !ok {
			name = ""
		}
		out[name] = append(out[name], f)
	}
	return out
}

// in are the findings of an environment.
func in(environment string, list []Finding) []Finding {
	var out []Finding
	for _, f := range list {
		if len(f.Environments) == 0 || slices.Contains(f.Environments, environment) {
			out = append(out, f)
		}
	}
	return out
}
