package check

import (
	"context"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render/why"
)

// maxExplained bounds how many findings are explained: each may need a program
// to be evaluated again.
const maxExplained = 1000

// maxOrigins bounds the lines of provenance in a text.
const maxOrigins = 12

// Explain adds to the findings about fields how the fields got their values,
// and where in the source the fixes are to be made. Renderings are those that
// were checked, with positions as in the report. A report without findings costs
// nothing; of a very long one the first findings are explained.
//
// A field that is not there has the provenance of what it is missing from. What
// a program cannot tell is a gap of the provenance and no error.
func (r *Report) Explain(ctx context.Context, asker why.Asker, all []why.Rendering) error {
	if len(r.Findings) == 0 {
		return nil
	}
	documents := map[document]why.Found{}
	for _, x := range all {
		for _, d := range x.Bundle.Documents {
			documents[document{x.Target.Environment, d.Object.Key().String()}] = why.Found{Rendering: x, Document: d}
		}
	}
	type asked struct {
		document
		path string
	}
	var questions []why.Question
	index := map[asked]int{}
	about := map[int]int{} // findings to questions
	for i, f := range r.Findings {
		where := document{object: f.Object}
		if len(f.Environments) > 0 {
			where.environment = f.Environments[0]
		}
		found, ok := documents[where]
		if !ok || len(questions) == maxExplained {
			continue
		}
		path, _, _ := found.Document.Origin.Concrete(f.Path)
		key := asked{where, path}
		if _, ok := index[key]; !ok {
			index[key] = len(questions)
			questions = append(questions, why.Question{Found: found, Path: path})
		}
		about[i] = index[key]
	}
	asker.Lenient = true
	answers, err := asker.AskAll(ctx, questions)
	if err != nil {
		return err
	}
	e := newEditor(asker.FS)
	for i, q := range about {
		f := &r.Findings[i]
		f.Provenance = answers[q]
		if f.Fix != nil {
			f.Fix.Edit = e.edit(f, questions[q].Document.Origin)
		}
	}
	return nil
}

// document names a document of a report.
type document struct{ environment, object string }

// origins is the provenance of a finding in lines, without what its position
// says already.
func (f Finding) origins() []diag.Note {
	if f.Provenance == nil {
		return nil
	}
	steps := f.Provenance.Steps
	if len(steps) == 1 && steps[0].Pos.File == f.Pos.File && steps[0].Pos.Line == f.Pos.Line {
		return nil
	}
	var out []diag.Note
	for _, s := range steps {
		if s.Pos == f.Pos && s.Effect == lang.Gives || !s.Pos.IsValid() {
			continue
		}
		if len(out) == maxOrigins {
			return append(out, diag.Note{Text: "and more: see writ why"})
		}
		out = append(out, diag.Note{Pos: s.Pos, Text: s.Sentence()})
	}
	return out
}
