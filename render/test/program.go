package test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/check"
)

// project is the writ.yaml that a test file is below, or what stands for one.
type project struct {
	*render.Project
	dir    string
	file   bool // there is a writ.yaml
	module *module
	below  string // dir relative to the module root
}

// projectHome is the nearest directory, from dir upwards, with a writ.yaml, and
// whether there is one. A repository's root ends the search.
func projectHome(dir string) (string, bool) {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, render.ProjectFile)); err == nil {
			return d, true
		}
		if _, err := os.Stat(filepath.Join(d, ".git")); err == nil || d == filepath.Dir(d) {
			return dir, false
		}
	}
}

// projectOf is the project of a directory: that of the nearest writ.yaml.
func (r *runner) projectOf(dir string) (*project, error) {
	home, file := projectHome(dir)
	return r.projects.do(home, func() (*project, error) {
		loaded, err := render.LoadProject(home)
		if err != nil {
			return nil, diagnosed{r.relocate(diag.From(err), home)}
		}
		p := &project{Project: loaded, dir: home, file: file}
		root, ok := render.ModuleRoot(home)
		if !ok && !file && within(r.top, home) {
			root = r.top
		}
		if p.module, err = r.module(root, loaded.Limits); err != nil {
			return nil, err
		}
		p.below, err = p.module.relative(home)
		return p, err
	})
}

// diagnosed is problems that name files for people.
type diagnosed struct{ diag.List }

// within reports whether dir is top or below it.
func within(top, dir string) bool {
	rel, err := filepath.Rel(top, dir)
	return err == nil && filepath.IsLocal(rel)
}

// offers is what the project offers to programs and tests in an environment,
// "" being none. Tests build no images: references to them are made up.
func (p *project) offers(environment string) map[string]string {
	offers := maps.Clone(p.Inputs)
	if offers == nil {
		offers = map[string]string{}
	}
	for _, i := range p.Images {
		offers[i.Input()] = p.Name + "/" + i.Name + ":test"
	}
	for _, e := range p.Environments {
		if e.Name == environment {
			maps.Copy(offers, e.Inputs)
		}
	}
	return offers
}

// settings are those of a program that is no unit, in an environment, for which
// a test gives inputs.
func (p *project) settings(environment string, inputs map[string]string) lang.Settings {
	var e render.Environment
	for _, have := range p.Environments {
		if have.Name == environment {
			e = have
		}
	}
	return p.Settings(e, render.Unit{}, render.Select{Inputs: inputs})
}

// environment checks that the project has the environment that a test names.
func (c *testCase) environment() diag.List {
	var known []string
	for _, e := range c.suite.project.Environments {
		known = append(known, e.Name)
	}
	if c.spec.env == "" || slices.Contains(known, c.spec.env) {
		return nil
	}
	hint := "use one of " + strings.Join(known, ", ")
	if len(known) == 0 {
		hint = "write environments: in " + render.ProjectFile
	}
	return c.problem("TEST002", c.spec.fields["env"].Value.Pos, hint, "the project has no environment %q", c.spec.env)
}

// targets are the programs that a test is about, relative to the project.
func (c *testCase) targets() ([]render.Target, error) {
	p := c.suite.project
	if c.spec.entry != "" {
		return c.alone(path.Join(path.Dir(c.suite.entry), c.spec.entry))
	}
	units := c.spec.units
	if len(units) == 0 {
		own, err := c.ownUnits()
		if err != nil {
			return nil, err
		}
		if own == nil {
			return c.alone(path.Dir(c.suite.entry))
		}
		units = own
	}
	if units[0] == wholeProject {
		units = nil
	}
	s := render.Select{Units: units, Inputs: c.spec.inputs}
	if c.spec.env != "" {
		s.Environments = []string{c.spec.env}
	} else if len(p.Environments) > 0 {
		return nil, c.problem("TEST002", c.pos, fmt.Sprintf("name one: env: %q", p.Environments[0].Name), "the project has environments")
	}
	dir, err := fs.Sub(p.module.fs, p.below)
	if err != nil {
		return nil, err
	}
	targets, err := p.Targets(dir, s)
	if err != nil {
		problems := diag.From(err)
		for i := range problems {
			if problems[i].Pos.File == "" {
				problems[i].Pos = c.pos
			} else {
				problems[i].Pos.File = path.Join(p.below, problems[i].Pos.File)
			}
		}
		return nil, problems
	}
	p.offerImages(targets)
	return targets, nil
}

// offerImages offers made-up references to the project's images.
func (p *project) offerImages(targets []render.Target) {
	for _, t := range targets {
		for _, i := range p.Images {
			if _, given := t.Offers[i.Input()]; !given {
				t.Offers[i.Input()] = p.Name + "/" + i.Name + ":test"
			}
		}
	}
}

// wholeProject stands for all units.
const wholeProject = "*whole project*"

// ownUnits are the units that a test file is about by where it is: the one that
// is its directory or its program; in the project's directory, all. Nil says
// that its directory is a program of its own.
func (c *testCase) ownUnits() ([]string, error) {
	p := c.suite.project
	dir, err := filepath.Rel(p.dir, filepath.Dir(c.suite.file))
	if err != nil {
		return nil, err
	}
	dir = filepath.ToSlash(dir)
	if len(p.Units) == 0 {
		if dir == "." {
			return []string{wholeProject}, nil
		}
		return nil, nil
	}
	sub, err := fs.Sub(p.module.fs, p.below)
	if err != nil {
		return nil, err
	}
	all, err := p.Targets(sub, render.Select{Environments: []string{"all"}})
	if err != nil {
		return nil, err
	}
	base := testOf(path.Base(c.suite.entry))
	var here []string
	for _, t := range all {
		if t.Entry == dir || strings.TrimSuffix(t.Entry, path.Ext(t.Entry)) == path.Join(dir, base) {
			return []string{t.Unit}, nil
		}
		if path.Dir(t.Entry) == dir && !slices.Contains(here, t.Unit) {
			here = append(here, t.Unit)
		}
	}
	switch {
	case dir == ".":
		return []string{wholeProject}, nil
	case len(here) > 1:
		return nil, c.problem("TEST002", c.pos, fmt.Sprintf("name one: unit: %q", here[0]), "the directory holds several units: %s", strings.Join(here, ", "))
	}
	return here, nil
}

// testOf is what a test file is called after: "web" for web_test.cue.
func testOf(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, path.Ext(name)), "_test")
}

// alone is a program that is no unit. Entry is relative to the module root.
func (c *testCase) alone(entry string) ([]render.Target, error) {
	p := c.suite.project
	if !fs.ValidPath(entry) {
		return nil, c.problem("TEST002", c.spec.fields["entry"].Value.Pos, "name a file or directory relative to the test file", "entry %q is outside of the module root", c.spec.entry)
	}
	below, err := filepath.Rel(filepath.FromSlash(p.below), filepath.FromSlash(entry))
	if err != nil {
		return nil, err
	}
	t := render.Target{
		Entry: filepath.ToSlash(below), Namespace: p.Namespace, Environment: c.spec.env,
		Inputs: maps.Clone(c.spec.inputs), Offers: p.offers(c.spec.env),
		Settings: p.settings(c.spec.env, c.spec.inputs),
	}
	for _, e := range p.Environments {
		if e.Name == c.spec.env && e.Namespace != "" {
			t.Namespace = e.Namespace
		}
	}
	return []render.Target{t}, nil
}

// program identifies a target: equal ones render the same.
func (p *project) program(t render.Target) string {
	return strings.Join([]string{
		p.module.key, path.Join(p.below, t.Entry), t.Namespace, lang.DigestReads(nil, t.Inputs), lang.DigestReads(nil, t.Offers), fmt.Sprint(t.Settings),
	}, "\x00")
}

// renderTarget evaluates a program, once.
func (r *runner) renderTarget(ctx context.Context, p *project, t render.Target) (*render.Bundle, error) {
	return r.renderings.do(p.program(t), func() (*render.Bundle, error) {
		return render.Render(ctx, t.Options(p.module.fs, p.below, p.module.evaluators))
	})
}

// render evaluates programs and checks their documents together, once.
func (r *runner) render(ctx context.Context, p *project, targets []render.Target) (*render.Bundle, error) {
	var key []string
	for _, t := range targets {
		key = append(key, p.program(t))
	}
	return r.bundles.do(strings.Join(key, "\x01"), func() (*render.Bundle, error) {
		var bundles []*render.Bundle
		var problems diag.List
		for _, t := range targets {
			b, err := r.renderTarget(ctx, p, t)
			if err != nil {
				problems = append(problems, diag.From(err)...)
			}
			bundles = append(bundles, b)
		}
		if err := problems.Err(); err != nil {
			return nil, err
		}
		b, err := render.Merge(targets, bundles)
		if err != nil {
			return nil, err
		}
		checked, err := check.Bundle(ctx, b, r.Check)
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, name := range checked.Unchecked {
			r.unchecked[name] = true
		}
		return b, err
	})
}

// unusedInputs tells of inputs of the test that none of several programs has. A
// single program refuses them itself.
func (c *testCase) unusedInputs(b *render.Bundle) diag.List {
	var problems diag.List
	for _, name := range slices.Sorted(maps.Keys(c.spec.inputs)) {
		_, used := b.Inputs[name]
		for have := range b.Inputs {
			used = used || strings.HasSuffix(have, ":"+name)
		}
		if !used {
			problems = append(problems, c.problem("TEST002", c.spec.fields["inputs"].Pos, "remove it, or declare it in a program", "no program has the input %q", name)...)
		}
	}
	return problems
}

// rendering checks a test of documents. The problems name files for people.
func (r *runner) rendering(ctx context.Context, c *testCase) diag.List {
	p := c.suite.project
	if problems := c.environment(); problems != nil {
		return r.relocate(problems, p.module.dir)
	}
	targets, err := c.targets()
	if err != nil {
		return r.relocate(diag.From(err), p.module.dir)
	}
	b, err := r.render(ctx, p, targets)
	var problems diag.List
	switch {
	case c.spec.fail != nil && err != nil:
		problems = c.matches(diag.From(err))
	case c.spec.fail != nil:
		pos := c.spec.fields["fail"].Value.Pos
		what := r.show(filepath.Join(p.dir, filepath.FromSlash(targets[0].Entry)))
		problems = c.problem("TEST006", pos, "", "%s renders, though it must fail with a message that matches %q", what, c.spec.fail)
	case err != nil:
		problems = diag.From(err)
	default:
		problems = c.unusedInputs(b)
		for _, e := range c.spec.expect {
			problems = append(problems, c.expect(b, e)...)
		}
	}
	problems = r.relocate(problems, p.module.dir)
	if err == nil && c.spec.snapshot != "" {
		problems = append(problems, r.snapshot(c, b)...)
	}
	return problems
}
