package check

import (
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/writ-dev/writ/lang/diag"
)

// SARIFOptions tell what a report does not know.
type SARIFOptions struct {
	// Version is the tool's.
	Version string
	// Source reads a file as named in positions, to tell columns in characters.
	// It may be nil.
	Source func(file string) ([]byte, error)
	// Describe is what a rule looks for, in one line, or "". It may be nil.
	Describe func(code string) string
}

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool       sarifTool     `json:"tool"`
	ColumnKind string        `json:"columnKind"`
	Results    []sarifResult `json:"results"`
	Invoked    []sarifEnd    `json:"invocations"`
}

type sarifEnd struct {
	Successful bool `json:"executionSuccessful"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID    string     `json:"id"`
	Short *sarifText `json:"shortDescription,omitempty"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID    string            `json:"ruleId"`
	RuleIndex int               `json:"ruleIndex"`
	Level     string            `json:"level"`
	Message   sarifText         `json:"message"`
	Locations []sarifLocation   `json:"locations,omitempty"`
	Related   []sarifLocation   `json:"relatedLocations,omitempty"`
	Prints    map[string]string `json:"partialFingerprints,omitempty"`
	Flows     []sarifFlow       `json:"codeFlows,omitempty"`
	Fixes     []sarifFix        `json:"fixes,omitempty"`
}

type sarifLocation struct {
	ID       int            `json:"id,omitempty"`
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	Message  *sarifText     `json:"message,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
	EndLine     int `json:"endLine,omitempty"`
	EndColumn   int `json:"endColumn,omitempty"`
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"`
	Kind string `json:"kind"`
}

// WriteSARIF writes the report as a SARIF 2.1.0 log (OASIS, 2020), the format
// of code scanning.
func (r *Report) WriteSARIF(w io.Writer, o SARIFOptions) error {
	s := sarifWriter{o: o, lines: map[string][]string{}}
	run := sarifRun{
		Tool:       sarifTool{Driver: sarifDriver{Name: "writ", Version: o.Version, Rules: []sarifRule{}}},
		ColumnKind: "utf16CodeUnits", Results: []sarifResult{}, Invoked: []sarifEnd{{Successful: true}},
	}
	for _, f := range r.Findings {
		id := f.Code
		if id == "" {
			id = "error"
		}
		i := slices.IndexFunc(run.Tool.Driver.Rules, func(x sarifRule) bool { return x.ID == id })
		if i < 0 {
			i = len(run.Tool.Driver.Rules)
			rule := sarifRule{ID: id}
			if o.Describe != nil && o.Describe(id) != "" {
				rule.Short = &sarifText{Text: o.Describe(id)}
			}
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule)
		}
		run.Results = append(run.Results, s.result(f, id, i))
	}
	b, err := json.MarshalIndent(sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run},
	}, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

type sarifWriter struct {
	o     SARIFOptions
	lines map[string][]string
}

func (s *sarifWriter) result(f Finding, id string, index int) sarifResult {
	out := sarifResult{RuleID: id, RuleIndex: index, Level: string(f.Severity), Message: sarifText{Text: message(f)}}
	at := sarifLocation{Physical: s.physical(f.Pos)}
	if f.Object != "" {
		at.Logical = []sarifLogical{{Name: f.Object + f.Path, Kind: "object"}}
	}
	if at.Physical != nil || at.Logical != nil {
		out.Locations = []sarifLocation{at}
	}
	for i, n := range f.Notes {
		if p := s.physical(n.Pos); p != nil {
			out.Related = append(out.Related, sarifLocation{ID: i + 1, Physical: p, Message: &sarifText{Text: n.Text}})
		}
	}
	if flow := s.flow(f); flow != nil {
		out.Flows = []sarifFlow{*flow}
	}
	if fix := s.fix(f); fix != nil {
		out.Fixes = []sarifFix{*fix}
	}
	// Lines move; what is wrong with which field of which document does not.
	out.Prints = map[string]string{"finding/v1": strings.Join([]string{id, f.Object, f.Path, f.Message}, "|")}
	return out
}

// message is a finding without its place and its provenance.
func message(f Finding) string {
	f.Notes, f.Provenance = nil, nil
	return f.text()
}

func (s *sarifWriter) physical(p diag.Position) *sarifPhysical {
	if !p.IsValid() {
		return nil
	}
	out := &sarifPhysical{Artifact: sarifArtifact{URI: uri(p.File)}}
	if p.Line > 0 {
		out.Region = &sarifRegion{StartLine: p.Line, StartColumn: s.column(p)}
	}
	return out
}

// uri names a file by a relative reference, or by a URL when its path is
// absolute.
func uri(file string) string {
	file = filepath.ToSlash(file)
	escaped := strings.NewReplacer("%", "%25", " ", "%20", "#", "%23", "?", "%3F").Replace(file)
	if strings.HasPrefix(file, "/") {
		return "file://" + escaped
	}
	if first, _, _ := strings.Cut(escaped, "/"); strings.Contains(first, ":") {
		return "./" + escaped
	}
	return escaped
}

// column turns a column in bytes into one in UTF-16 units.
func (s *sarifWriter) column(p diag.Position) int {
	if p.Column <= 1 || s.o.Source == nil {
		return p.Column
	}
	lines, ok := s.lines[p.File]
	if !ok {
		if text, err := s.o.Source(p.File); err == nil {
			lines = strings.Split(string(text), "\n")
		}
		s.lines[p.File] = lines
	}
	if p.Line > len(lines) || p.Column-1 > len(lines[p.Line-1]) {
		return p.Column
	}
	return len(utf16.Encode([]rune(lines[p.Line-1][:p.Column-1]))) + 1
}
