package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/check"
	"github.com/writ-dev/writ/render/check/policy"
)

// ruleRoot is an open module root of policies, with evaluators that work in it.
type ruleRoot struct {
	root *os.Root
	path string
	// prefix is the way to it from the module of the documents.
	prefix string
	cue    policy.Source
	stop   func()
}

// ruleRoots opens the module roots that policies are in, each once.
type ruleRoots struct {
	base   string
	limits render.Limits
	open   map[string]*ruleRoot
}

func (s *sourceFlags) ruleRoots() *ruleRoots {
	return &ruleRoots{base: s.root, limits: s.project.Limits, open: map[string]*ruleRoot{}}
}

func (m *ruleRoots) close() {
	for _, x := range m.open {
		x.stop()
		_ = x.root.Close() // it was only read from
	}
}

// of opens the module that a file is in: that of the documents, or the one
// around the file.
func (m *ruleRoots) of(file string) (*ruleRoot, error) {
	path := m.base
	if rel, err := filepath.Rel(m.base, file); err != nil || !filepath.IsLocal(rel) {
		path, _ = render.ModuleRoot(filepath.Dir(file))
	}
	if x, ok := m.open[path]; ok {
		return x, nil
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open the module root: %w", err)
	}
	byLanguage, stop, err := evaluators(path, m.limits)
	if err != nil {
		root.Close()
		return nil, err
	}
	x := &ruleRoot{root: root, path: path, stop: stop}
	if path != m.base {
		if x.prefix, err = filepath.Rel(m.base, path); err != nil {
			x.prefix = path
		}
	}
	x.cue = policy.Source{FS: root.FS(), Prefix: filepath.ToSlash(x.prefix), CUE: byLanguage[render.CUE]}
	m.open[path] = x
	return x, nil
}

// checkSubject reads the policies and definitions that a check needs. The
// evaluators of the policies work until stop.
func (a *app) checkSubject(ctx context.Context, f *checkFlags) (s check.Subject, stop func(), err error) {
	s.Target = check.Target(f.target)
	m := f.src.ruleRoots()
	defer func() {
		if err != nil {
			m.close()
		}
	}()
	if s.Policies, err = m.project(&f.src, f.policies...); err != nil {
		return s, nil, f.src.locate(err)
	}
	var crds []string
	for _, p := range f.src.project.Schemas {
		crds = append(crds, filepath.Join(f.src.dir, filepath.FromSlash(p)))
	}
	for _, path := range append(crds, f.crds...) {
		found, err := a.definitions(ctx, path)
		if err != nil {
			return s, nil, err
		}
		s.Definitions = append(s.Definitions, found...)
	}
	return s, m.close, nil
}

// project loads the policies of a project, and further files; nil when there
// are none.
func (m *ruleRoots) project(s *sourceFlags, further ...string) (*policy.Set, error) {
	var files []string
	for _, p := range s.project.Policies {
		files = append(files, filepath.Join(s.dir, filepath.FromSlash(p)))
	}
	return m.policies(append(files, further...))
}

func (m *ruleRoots) policies(files []string) (*policy.Set, error) {
	var sources []policy.Source
	for _, name := range files {
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(abs); err != nil || info.IsDir() {
			return nil, diag.List{{Code: "POLICY", Message: "no such policy file: " + name}}
		}
		x, err := m.of(abs)
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(x.path, abs)
		if err != nil {
			return nil, err
		}
		src := x.cue
		src.Name = filepath.ToSlash(rel)
		sources = append(sources, src)
	}
	if len(sources) == 0 {
		return nil, nil
	}
	return policy.Load(sources)
}

// definitions reads the CustomResourceDefinitions in a file or directory. Files
// named by --crd that hold none are a mistake.
func (a *app) definitions(ctx context.Context, path string) ([]render.Document, error) {
	var src sourceFlags
	if err := src.open(path); err != nil {
		return nil, err
	}
	src.project.Images = nil
	all, err := a.renderEnvironments(ctx, &src)
	if err != nil {
		return nil, err
	}
	var found []render.Document
	for _, r := range all {
		for _, d := range r.Documents {
			if d.Object.Kind() == "CustomResourceDefinition" && strings.HasPrefix(d.Object.APIVersion(), "apiextensions.k8s.io/") {
				found = append(found, d)
			}
		}
	}
	if len(found) == 0 {
		return nil, diag.List{{Message: "no CustomResourceDefinition in " + path}}
	}
	return found, nil
}
