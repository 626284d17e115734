package test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/check"
)

// project is the writ.yaml that a test file is below, or what stands for one.
type project struct {
	*render.Project
	dir  string
	root string // the module root
	file bool   // there is a writ.yaml
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
			return nil, err
		}
		p := &project{Project: loaded, dir: home, file: file}
		root, ok := render.ModuleRoot(home)
		if !ok && !file && within(r.top, home) {
			root = r.top
		}
		p.root = root
		return p, nil
	})
}

// within reports whether dir is top or below it.
func within(top, dir string) bool {
	rel, err := filepath.Rel(top, dir)
	return err == nil && filepath.IsLocal(rel)
}

// program is what a test renders.
type program struct {
	module    *module
	entry     string // relative to the module root
	inputs    map[string]string
	namespace string
}

// file is the absolute path of the program's entry.
func (p program) file() string {
	return filepath.Join(p.module.dir, filepath.FromSlash(p.entry))
}

// program is the one that a test is about. What writ.yaml says about inputs is
// about the program that it names.
func (c *testCase) program() (program, error) {
	s, p := c.suite, c.suite.project
	out := program{module: s.module, inputs: map[string]string{}, namespace: p.Namespace}
	dir := filepath.Dir(s.file)
	entry := dir
	switch {
	case c.spec.entry != "":
		entry = filepath.Join(dir, filepath.FromSlash(c.spec.entry))
	case dir == p.dir:
		entry = filepath.Join(p.dir, filepath.FromSlash(p.Entry))
		out.inputs = p.inputs()
	}
	maps.Copy(out.inputs, c.spec.inputs)
	rel, err := s.module.relative(entry)
	if err != nil || !filepath.IsLocal(filepath.FromSlash(rel)) {
		return out, c.problem("TEST002", c.spec.fields["entry"].Value.Pos, "name a file or directory relative to the test file", "entry %q is outside of the module root", c.spec.entry)
	}
	out.entry = rel
	return out, nil
}

// inputs is what the project gives to its program. Tests build no images.
func (p *project) inputs() map[string]string {
	inputs := maps.Clone(p.Inputs)
	if inputs == nil {
		inputs = map[string]string{}
	}
	for _, i := range p.Images {
		if _, given := inputs[i.Input()]; !given {
			inputs[i.Input()] = p.Name + "/" + i.Name + ":test"
		}
	}
	return inputs
}

// render evaluates and checks a program, once.
func (r *runner) render(ctx context.Context, p program) (*render.Bundle, error) {
	key := strings.Join([]string{p.module.dir, p.entry, p.namespace, lang.DigestReads(nil, p.inputs)}, "\x00")
	return r.renderings.do(key, func() (*render.Bundle, error) {
		b, err := render.Render(ctx, render.Options{
			FS: p.module.fs, Entry: p.entry, Inputs: p.inputs, Namespace: p.namespace, Evaluators: p.module.evaluators,
		})
		if err != nil {
			return nil, err
		}
		if _, err := check.Bundle(b, r.Check); err != nil {
			return nil, err
		}
		return b, nil
	})
}

// rendering checks a test of a program's documents.
func (r *runner) rendering(ctx context.Context, c *testCase) diag.List {
	root := c.suite.module.dir
	p, err := c.program()
	if err != nil {
		return r.relocate(diag.From(err), root)
	}
	b, err := r.render(ctx, p)
	switch {
	case c.spec.fail != nil && err != nil:
		return r.relocate(c.matches(diag.From(err)), root)
	case c.spec.fail != nil:
		pos := c.spec.fields["fail"].Value.Pos
		return r.relocate(c.problem("TEST006", pos, "", "%s renders, though it must fail with a message that matches %q", r.show(p.file()), c.spec.fail), root)
	case err != nil:
		return r.relocate(diag.From(err), root)
	}
	var problems diag.List
	for _, e := range c.spec.expect {
		problems = append(problems, c.expect(b, e)...)
	}
	problems = r.relocate(problems, root)
	if c.spec.snapshot != "" {
		problems = append(problems, r.snapshot(c, b)...)
	}
	return problems
}
