package check

// sarifFlow is the provenance of a value: the places that it came through, from
// where it is back to where it was written.
type sarifFlow struct {
	Threads []sarifThread `json:"threadFlows"`
}

type sarifThread struct {
	Locations []sarifStep `json:"locations"`
}

type sarifStep struct {
	Location sarifLocation `json:"location"`
	Nesting  int           `json:"nestingLevel"`
	Kinds    []string      `json:"kinds,omitempty"`
}

// sarifFix is a change that a viewer can apply.
type sarifFix struct {
	Description sarifText     `json:"description"`
	Changes     []sarifChange `json:"artifactChanges"`
}

type sarifChange struct {
	Artifact     sarifArtifact      `json:"artifactLocation"`
	Replacements []sarifReplacement `json:"replacements"`
}

type sarifReplacement struct {
	Deleted  sarifRegion `json:"deletedRegion"`
	Inserted sarifText   `json:"insertedContent"`
}

// flow is the provenance of a finding, if there is any that says more than its
// place.
func (s *sarifWriter) flow(f Finding) *sarifFlow {
	if f.Provenance == nil {
		return nil
	}
	var steps []sarifStep
	for _, x := range f.Provenance.Steps {
		if p := s.physical(x.Pos); p != nil {
			at := sarifLocation{Physical: p, Message: &sarifText{Text: x.Sentence()}}
			steps = append(steps, sarifStep{Location: at, Nesting: x.Depth, Kinds: []string{string(x.Kind)}})
		}
	}
	if len(steps) == 0 {
		return nil
	}
	return &sarifFlow{Threads: []sarifThread{{Locations: steps}}}
}

// fix is the change of the source that a finding has, if it has one.
func (s *sarifWriter) fix(f Finding) *sarifFix {
	if f.Fix == nil || f.Fix.Edit == nil {
		return nil
	}
	e := f.Fix.Edit
	text := f.Hint
	if text == "" {
		text = "write " + e.Text
	}
	return &sarifFix{
		Description: sarifText{Text: text},
		Changes: []sarifChange{{
			Artifact: sarifArtifact{URI: uri(e.Pos.File)},
			Replacements: []sarifReplacement{{
				Deleted:  sarifRegion{StartLine: e.Pos.Line, StartColumn: s.column(e.Pos), EndLine: e.End.Line, EndColumn: s.column(e.End)},
				Inserted: sarifText{Text: e.Text},
			}},
		}},
	}
}
