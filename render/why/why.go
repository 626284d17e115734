// Package why tells how a field of a rendered document got its value: where it
// was written, what it was computed from, and what it overrode.
//
// It finds the document and the field that are meant, has the front end of the
// program's language explain the field (see lang.Explanation and the
// documentation of the front ends for what each can see), and adds what only a
// project knows: who gave the inputs, and the lines of the source. A rendering
// as such costs nothing more: a program is evaluated again only when asked
// about.
package why

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// Rendering is a program in one environment, and its documents.
type Rendering struct {
	Target render.Target
	Bundle *render.Bundle
}

// Asker has programs explained. All fields but Select are required, as for
// render.All.
type Asker struct {
	// FS is the module root, and Dir the project's directory in it.
	FS  fs.FS
	Dir string
	// Project and Select are what was rendered: they tell who gave inputs.
	Project    *render.Project
	Select     render.Select
	Evaluators map[render.Language]lang.Evaluator
	// Lenient says that a program that cannot be explained, such as within the
	// limits of its evaluation, is a Gap of the answers and no error.
	Lenient bool
}

// Question is one field of a document, by a path as of render.Origin.Field.
type Question struct {
	Found
	Path string
}

// Answer is how a field got its value.
type Answer struct {
	// Document is the key of the document, and Path that of the field in it,
	// without selectors.
	Document string `json:"document,omitempty"`
	Path     string `json:"path"`
	// Unit and Environment are those of the program, where it has any.
	Unit        string `json:"unit,omitempty"`
	Environment string `json:"environment,omitempty"`
	// Value is the field's value.
	Value json.RawMessage `json:"value"`
	// Steps go back from where the value is to where it was written.
	Steps []Step `json:"steps"`
	// Gap says what could not be followed, when the steps are not all.
	Gap string `json:"gap,omitempty"`
}

// Step is a step of an explanation with its line of source, as written.
type Step struct {
	lang.Step
	Source string `json:"source,omitempty"`
}

// Ask explains one field. That there is no such field is a diag.List.
func (a Asker) Ask(ctx context.Context, q Question) (*Answer, error) {
	all, err := a.AskAll(ctx, []Question{q})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// AskAll explains fields, in the same order. Each program is evaluated once for
// all that is asked about it (more often for very many).
func (a Asker) AskAll(ctx context.Context, questions []Question) ([]*Answer, error) {
	answers := make([]*Answer, len(questions))
	type program struct{ unit, environment, entry string }
	var order []program
	of := map[program][]int{}
	for i, q := range questions {
		f, err := q.field()
		if err != nil {
			return nil, err
		}
		t := q.Target
		answers[i] = &Answer{
			Document: q.Document.Object.Key().String(), Path: f.path,
			Unit: t.Unit, Environment: t.Environment, Value: f.value.AppendJSON(nil), Steps: []Step{},
		}
		if f.defaulted {
			answers[i].Steps = a.namespace(t, f.value)
			continue
		}
		p := program{t.Unit, t.Environment, t.Entry}
		if of[p] == nil {
			order = append(order, p)
		}
		of[p] = append(of[p], i)
	}
	lines := newLines(a.FS)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range order {
		g.Go(func() error { return a.explain(ctx, questions, of[p], answers, lines) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return answers, nil
}

// explain has one program evaluated for the questions about it.
func (a Asker) explain(ctx context.Context, questions []Question, about []int, answers []*Answer, l *lines) error {
	t := questions[about[0]].Target
	paths := make([]string, len(about))
	for n, i := range about {
		paths[n] = questions[i].Document.Origin.Path + answers[i].Path
	}
	explained, err := render.Explain(ctx, t.Options(a.FS, a.Dir, a.Evaluators), paths)
	if l, ok := errors.AsType[diag.List](err); ok && a.Lenient {
		for _, i := range about {
			answers[i].Gap = l.Error()
		}
		return nil
	}
	if err != nil {
		return err
	}
	for n, i := range about {
		a.fill(answers[i], explained[n], t, l)
	}
	return nil
}

// Value explains the part v at a path of the value of a program, in which no
// documents are looked for: Document is empty in the answer.
func (a Asker) Value(ctx context.Context, t render.Target, at string, v lang.Value) (*Answer, error) {
	explained, err := render.Explain(ctx, t.Options(a.FS, a.Dir, a.Evaluators), []string{at})
	if err != nil {
		return nil, err
	}
	answer := &Answer{Path: at, Unit: t.Unit, Environment: t.Environment, Value: v.AppendJSON(nil), Steps: []Step{}}
	a.fill(answer, explained[0], t, newLines(a.FS))
	return answer, nil
}

func (a Asker) fill(answer *Answer, e lang.Explanation, t render.Target, l *lines) {
	answer.Gap = e.Gap
	for _, s := range a.withInputs(e.Steps, t) {
		answer.Steps = append(answer.Steps, Step{s, l.at(s.Pos)})
	}
}

// withInputs adds after each step of an input who gave it.
func (a Asker) withInputs(steps []lang.Step, t render.Target) []lang.Step {
	var all []lang.Step
	for _, s := range steps {
		all = append(all, s)
		if s.Kind != lang.StepInput {
			continue
		}
		for i, from := range a.Project.InputSources(t, a.Select, s.Name) {
			given := lang.Step{Depth: s.Depth + 1, Kind: lang.StepGiven, Effect: s.Effect, Name: from.Where, Pos: a.projectPos(from.Pos)}
			if i > 0 {
				given.Effect = lang.Overridden
			}
			given.Show(lang.Value{Kind: lang.String, Text: from.Value})
			all = append(all, given)
		}
	}
	return all
}

// projectPos is a position in the project file, from the module root.
func (a Asker) projectPos(p diag.Position) diag.Position {
	if p.IsValid() {
		p.File = path.Join(a.Dir, p.File)
	}
	return p
}

// namespace explains a namespace that no program wrote.
func (a Asker) namespace(t render.Target, v lang.Value) []Step {
	s := lang.Step{Kind: lang.StepGiven, Effect: lang.Gives, Name: "project", Note: "the document names no namespace, so it has the default one"}
	for _, e := range a.Project.Environments {
		if e.Name == t.Environment && e.Namespace != "" {
			s.Name, s.Pos = "environment "+e.Name, a.projectPos(e.Pos)
		}
	}
	for _, u := range a.Project.Units {
		if u.Name == t.Unit && u.Namespace != "" {
			s.Name, s.Pos = "unit "+u.Name, a.projectPos(u.Pos)
		}
	}
	s.Show(v)
	return []Step{{s, newLines(a.FS).at(s.Pos)}}
}

// String names the question for people.
func (q Question) String() string { return fmt.Sprintf("%s of %s", q.Path, q.Document.Object.Key()) }
