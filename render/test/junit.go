package test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"path"

	"github.com/writ-dev/writ/lang/diag"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	File     string      `xml:"file,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr,omitempty"`
	Time    string        `xml:"time,attr"`
	Failure *junitProblem `xml:"failure"`
	Error   *junitProblem `xml:"error"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the report in the XML that CI systems read. A file that
// cannot be evaluated is an error in a test case with the file's name.
func (r *Report) WriteJUnit(w io.Writer) error {
	all := junitSuites{Time: seconds(r.Seconds)}
	for _, f := range r.Files {
		s := junitSuite{Name: f.Name, File: f.Name}
		took := f.Seconds
		if len(f.Problems) > 0 {
			s.Errors++
			s.Cases = append(s.Cases, junitCase{
				Name: path.Base(f.Name), Class: f.Name, File: f.Name, Time: seconds(f.Seconds), Error: junitOf(f.Problems),
			})
		}
		for _, c := range f.Cases {
			took += c.Seconds
			out := junitCase{Name: c.Name, Class: f.Name, File: f.Name, Line: c.Pos.Line, Time: seconds(c.Seconds)}
			if c.Status == Failed {
				s.Failures++
				out.Failure = junitOf(c.Problems)
			}
			s.Cases = append(s.Cases, out)
		}
		s.Tests, s.Time = len(s.Cases), seconds(took)
		all.Suites = append(all.Suites, s)
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	e := xml.NewEncoder(&b)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

func junitOf(l diag.List) *junitProblem {
	var text bytes.Buffer
	diag.Print(&text, l)
	return &junitProblem{Message: l[0].Error(), Type: l[0].Code, Text: text.String()}
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }
