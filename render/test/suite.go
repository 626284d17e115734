package test

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// suite is one test file.
type suite struct {
	file    string // absolute
	name    string // as shown
	entry   string // relative to the module root
	project *project

	cases       []*testCase
	problems    diag.List
	seconds     float64
	evaluations once[*lang.Result]
}

// load evaluates and reads a test file. What is wrong with it is in the suite.
func (r *runner) load(ctx context.Context, file string) (*suite, error) {
	start := time.Now()
	s := &suite{file: file, name: r.show(file)}
	defer func() { s.seconds = time.Since(start).Seconds() }()
	p, err := r.projectOf(filepath.Dir(file))
	if err != nil {
		if d, ok := errors.AsType[diagnosed](err); ok {
			s.problems = d.List
			return s, nil
		}
		return nil, err
	}
	s.project = p
	if s.entry, err = p.module.relative(file); err != nil {
		return nil, err
	}
	result, err := r.evaluate(ctx, s, "", nil)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		s.problems = r.relocate(diag.From(err), p.module.dir)
		return s, nil
	}
	s.read(r, result)
	return s, nil
}

// evaluate evaluates a test file in an environment, or none, and with inputs,
// once.
func (r *runner) evaluate(ctx context.Context, s *suite, environment string, inputs map[string]string) (*lang.Result, error) {
	m := s.project.module
	return s.evaluations.do(environment+"\x00"+lang.DigestReads(nil, inputs), func() (*lang.Result, error) {
		language := render.CUE
		if strings.HasSuffix(s.file, ".jsonnet") {
			language = render.Jsonnet
		}
		return m.evaluators[language].Eval(ctx, lang.Program{
			FS: m.fs, Entry: s.entry, Inputs: inputs, Offers: s.project.offers(environment), Library: r.library, Tests: true,
			Settings: s.project.settings(environment, inputs).Below(s.project.below),
		})
	})
}

// read makes cases of the evaluated tests.
func (s *suite) read(r *runner, result *lang.Result) {
	if result.Value.Kind != lang.Object {
		s.problems = r.relocate(diag.Errorf(result.Value.Pos, "TEST002", "%s is an object of tests by name, not %s", lang.TestsField, describe(result.Value)), s.project.module.dir)
		return
	}
	snapshots := map[string]string{}
	for _, f := range result.Value.Fields {
		c := &testCase{suite: s, name: f.Name, pos: f.Pos, path: lang.JoinField("", f.Name)}
		if !r.selected(c) {
			continue
		}
		s.cases = append(s.cases, c)
		var problems diag.List
		c.spec, problems = readSpec(f.Name, f.Value)
		if broken := c.broken(result.Faults); broken != nil {
			problems = broken
		}
		if other, twice := snapshots[c.spec.snapshot]; twice && c.spec.snapshot != "" && problems == nil {
			problems = diag.Errorf(c.spec.fields["snapshot"].Pos, "TEST002", "the test %q has the same snapshot, %s", other, c.spec.snapshot)
		}
		snapshots[c.spec.snapshot] = c.name
		c.fail(r.relocate(problems, s.project.module.dir))
	}
	// As written, not by name as the value has them.
	slices.SortStableFunc(s.cases, func(a, b *testCase) int {
		return cmp.Or(cmp.Compare(a.pos.File, b.pos.File), cmp.Compare(a.pos.Line, b.pos.Line), cmp.Compare(a.pos.Column, b.pos.Column))
	})
}

// broken is why the test cannot be read: it, or a field that says what to do,
// could not be evaluated.
func (c *testCase) broken(faults []lang.Fault) diag.List {
	for _, f := range faults {
		field, ok := c.member(f.Path)
		if ok && field != "got" && field != "want" && field != "value" && field != "holds" {
			return f.Diagnostics
		}
	}
	return nil
}

// member is the field of the test that a path below the tests is, "" for the
// test itself, and whether it is of this test at all.
func (c *testCase) member(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, c.path)
	if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
		return "", false
	}
	return strings.TrimPrefix(rest, "."), true
}
