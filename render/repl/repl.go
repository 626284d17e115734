// Package repl is a session of looking at the values of a project's units. A line
// is a path into the value of the unit, an expression in its language, or a
// command; Do answers it, Complete completes it. Nothing is printed here, and no
// value is older than the files that it was made of.
package repl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/why"
	"github.com/writ-dev/writ/stdlib"
)

// Source is an open project.
type Source struct {
	// FS is the module root, and Dir the project's directory in it.
	FS      fs.FS
	Dir     string
	Project *render.Project
	// Offers are given to every program that has such inputs, besides those of
	// the project.
	Offers map[string]string
	// Evaluators run the languages, as for render.Render.
	Evaluators map[render.Language]lang.Evaluator
}

// Options say how a session begins.
type Options struct {
	// Open opens the project: now, and again when it is to be read anew.
	Open func() (*Source, error)
	// Unit and Environment are the ones to begin with; empty means the first.
	Unit, Environment string
	// Given has the inputs that go before all that the project gives.
	Given render.Select
}

// Session looks at one unit in one environment at a time.
type Session struct {
	open    func() (*Source, error)
	source  *Source
	target  render.Target
	targets []render.Target // all of the environment
	given   render.Select   // the inputs only
	// whole is the value of the target, if it is known.
	whole *lang.Result
}

// Answer is what a line comes to: one of its fields.
type Answer struct {
	// Value is data.
	Value *lang.Value
	// Shape is what there is to say of a value that is no data.
	Shape lang.Shape
	// Text is lines for people.
	Text string
	// Why tells how a value came to be.
	Why *why.Answer
	// Quit ends the session.
	Quit bool
}

// New begins a session. That there is no such unit or environment is a
// diag.List.
func New(o Options) (*Session, error) {
	s := &Session{open: o.Open, given: render.Select{Inputs: map[string]string{}, Code: slices.Clone(o.Given.Code)}}
	maps.Copy(s.given.Inputs, o.Given.Inputs)
	source, err := o.Open()
	if err != nil {
		return nil, err
	}
	s.source = source
	return s, s.choose(o.Unit, o.Environment)
}

// Target is what is looked at.
func (s *Session) Target() render.Target { return s.target }

// Where says what is looked at, and how much else there is.
func (s *Session) Where() string {
	text := "program " + s.target.Entry
	if s.target.Unit != "" {
		text = fmt.Sprintf("unit %s (of %d)", s.target.Unit, len(s.targets))
	}
	if s.target.Environment != "" {
		text += fmt.Sprintf(", environment %s (of %d)", s.target.Environment, len(s.source.Project.Environments))
	}
	return text
}

// choose changes what is looked at; empty names mean the first of each.
func (s *Session) choose(unit, environment string) error {
	p := s.source.Project
	if environment == "" && len(p.Environments) > 0 {
		environment = p.Environments[0].Name
	}
	selected := s.given
	if environment != "" {
		selected.Environments = []string{environment}
	}
	dir, err := fs.Sub(s.source.FS, s.source.Dir)
	if err != nil {
		return err
	}
	all, err := p.Targets(dir, selected)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(t render.Target) bool { return unit == "" || t.Unit == unit })
	if i < 0 {
		return s.noSuchUnit(unit, all)
	}
	for n := range all {
		maps.Copy(all[n].Offers, s.source.Offers)
	}
	s.targets, s.target, s.whole = all, all[i], nil
	return nil
}

func (s *Session) noSuchUnit(name string, all []render.Target) error {
	var names []string
	for _, t := range all {
		names = append(names, t.Unit)
	}
	d := diag.Diagnostic{Code: "REPL", Message: fmt.Sprintf("there is no unit %q", name), Hint: ":units lists them"}
	if all[0].Environment != "" {
		d.Message += " in environment " + all[0].Environment
	}
	if near := api.Nearest(name, names); near != "" {
		d.Hint = "did you mean " + near + "?"
	}
	return diag.List{d}
}

// Do answers a line. An empty one has an empty answer.
func (s *Session) Do(ctx context.Context, line string) (Answer, error) {
	line = strings.TrimSpace(line)
	switch {
	case line == "" || strings.HasPrefix(line, "//"):
		return Answer{}, nil
	case strings.HasPrefix(line, ":"):
		return s.command(ctx, line)
	}
	v, shape, err := s.look(ctx, line)
	if err != nil {
		return Answer{}, err
	}
	if shape.Source != "" {
		return Answer{Shape: shape}, nil
	}
	return Answer{Value: &v}, nil
}

// look is the value of a path or expression.
func (s *Session) look(ctx context.Context, text string) (lang.Value, lang.Shape, error) {
	if at, ok := s.path(text); ok {
		v, err := s.at(ctx, at)
		return v, lang.Shape{Type: kindNames[v.Kind]}, err
	}
	r, err := render.Look(ctx, s.options(), text)
	if err != nil {
		return lang.Value{}, lang.Shape{}, err
	}
	return r.Value, r.Shape, nil
}

var kindNames = map[lang.Kind]string{
	lang.Null: "null", lang.Bool: "boolean", lang.Number: "number", lang.String: "string", lang.List: "list", lang.Object: "object",
}

// path is the path that a text is, if it is one: it begins with a dot, or the
// language has nothing else. "." is the whole value, ".[0]" an element of it.
func (s *Session) path(text string) (at string, ok bool) {
	switch {
	case text == ".":
		return "", true
	case strings.HasPrefix(text, ".["):
		return text[1:], true
	case strings.HasPrefix(text, "."):
		return text, true
	case s.language() != render.YAML:
		return "", false
	case strings.HasPrefix(text, "["):
		return text, true
	}
	return "." + text, true
}

// language is that of the unit, or "" when it cannot be told.
func (s *Session) language() render.Language {
	l, err := render.Detect(s.source.FS, path.Join(s.source.Dir, s.target.Entry))
	if err != nil {
		return ""
	}
	return l
}

// at is the part of the unit's value at a path.
func (s *Session) at(ctx context.Context, at string) (lang.Value, error) {
	v, err := s.value(ctx)
	if err != nil {
		return v, err
	}
	elements, ok := lang.SplitPath(at)
	if !ok {
		return v, diag.List{{Code: "REPL", Message: at + " is no path", Hint: `paths are like .a.b[0]["c/d"]`}}
	}
	part, ok := v.Inside(elements)
	if ok {
		return part, nil
	}
	for n := len(elements) - 1; ; n-- {
		around, ok := v.Inside(elements[:n])
		if !ok {
			continue
		}
		d := diag.Diagnostic{Code: "REPL", Message: "there is nothing at " + at, Hint: lang.JoinPath(elements[:n]) + " " + describe(around)}
		if n == 0 {
			d.Hint = "the value " + describe(around)
		}
		return v, diag.List{d}
	}
}

// maxNames bounds the names in a hint.
const maxNames = 12

func describe(v lang.Value) string {
	switch v.Kind {
	case lang.Object:
		var names []string
		for _, f := range v.Fields {
			names = append(names, f.Name)
		}
		if len(names) == 0 {
			return "has no fields"
		}
		if more := len(names) - maxNames; more > 0 {
			names = append(names[:maxNames], fmt.Sprintf("and %d more", more))
		}
		return "has " + strings.Join(names, ", ")
	case lang.List:
		return fmt.Sprintf("is a list of %d", len(v.Items))
	}
	return "is a " + kindNames[v.Kind]
}

// value is the value of the unit: the one that is known while all that it was
// made of is as it was.
func (s *Session) value(ctx context.Context) (lang.Value, error) {
	changed := func(r lang.Read) bool { return r.Again(s.source.FS, stdlib.FS()) != r.SHA256 }
	if s.whole != nil && !slices.ContainsFunc(s.whole.Reads, changed) {
		return s.whole.Value, nil
	}
	s.whole = nil
	r, err := render.Look(ctx, s.options(), "")
	if err != nil {
		return lang.Value{}, err
	}
	s.whole = r
	return r.Value, nil
}

func (s *Session) options() render.Options {
	return s.target.Options(s.source.FS, s.source.Dir, s.source.Evaluators)
}

// why tells how the part at a path came to be.
func (s *Session) why(ctx context.Context, text string) (Answer, error) {
	at, ok := s.path(text)
	if !ok && !strings.HasPrefix(text, "[") {
		at, ok = "."+strings.TrimPrefix(text, "$."), true
	}
	if !ok {
		at = text
	}
	v, err := s.at(ctx, at)
	if err != nil {
		return Answer{}, err
	}
	asker := why.Asker{
		FS: s.source.FS, Dir: s.source.Dir, Project: s.source.Project,
		Select: s.given, Evaluators: s.source.Evaluators,
	}
	answer, err := asker.Value(ctx, s.target, at, v)
	return Answer{Why: answer}, err
}

// reload reads the project anew, and stays where it was if that is still there.
func (s *Session) reload() error {
	source, err := s.open()
	if err != nil {
		return err
	}
	s.source = source
	err = s.choose(s.target.Unit, s.target.Environment)
	if err == nil {
		return nil
	}
	return errors.Join(s.choose("", ""), err)
}
