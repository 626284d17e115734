package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/nodeagent/image"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/cache"
	"github.com/writ-dev/writ/render/check"
	"github.com/writ-dev/writ/render/units"
	"github.com/writ-dev/writ/render/why"
	"github.com/writ-dev/writ/stdlib"
)

// sourceFlags say what to render. After open, they also know where it was
// found, so that positions can be printed as a person would open them.
type sourceFlags struct {
	inputs       []string
	code         []string
	search       []string
	modules      string
	entry        string
	environments []string
	units        []string
	noCache      bool
	prove        bool
	limitFlags

	project *render.Project
	dir     string
	root    string
	// built are the references of the images that were built for this run.
	built map[string]string
	// session is the one of the cache that is open, if any.
	session *cache.Session
}

func (s *sourceFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVarP(&s.inputs, "input", "i", nil, "an input of the program, as name=value (repeatable)")
	f.StringArrayVar(&s.code, "input-code", nil, "an input that is an expression of Jsonnet, as name=EXPRESSION (repeatable)")
	f.StringArrayVarP(&s.search, "jpath", "J", nil, "a directory to look for Jsonnet's imports in, before lib and vendor; the last one counts most (repeatable)")
	f.StringVar(&s.modules, "modcache", "", "a cache of CUE modules inside of the module, as cue keeps one in CUE_CACHE_DIR")
	f.StringVar(&s.entry, "entry", "", "file or directory to evaluate, relative to DIR (default: what writ.yaml says, or DIR)")
	f.StringArrayVarP(&s.environments, "env", "e", nil, "the environment of writ.yaml")
	f.StringArrayVar(&s.units, "unit", nil, "only this unit of writ.yaml, or those that match a pattern (repeatable)")
	s.limitFlags.register(cmd)
	s.completeSource(cmd)
	f.BoolVar(&s.noCache, "no-cache", false, "evaluate everything, and keep nothing")
}

// environment is the one selected, or one without a name.
func (s *sourceFlags) environment() render.Environment {
	for _, e := range s.project.Environments {
		if len(s.environments) == 1 && s.environments[0] == e.Name {
			return e
		}
	}
	return render.Environment{}
}

// open reads the project file of a directory, or of the directory that a
// named file is in. DIR/... is all programs in and below a directory.
func (s *sourceFlags) open(path string) error {
	path, below := strings.CutSuffix(filepath.ToSlash(path), "...")
	if below && path == "" {
		path = "."
	}
	if below && s.entry != "" {
		return usageError{errors.New("--entry needs a directory, not all that is below it")}
	}
	dir, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		if s.entry != "" {
			return usageError{errors.New("--entry needs a directory, not a file")}
		}
		dir, s.entry = filepath.Dir(dir), filepath.Base(dir)
	}
	s.dir = dir
	s.root, _ = render.ModuleRoot(dir)
	s.project, err = render.LoadProject(dir)
	if err != nil {
		return relocate(err, dir)
	}
	if s.entry != "" {
		if len(s.units) > 0 {
			return usageError{errors.New("--entry names a program of its own; it goes without --unit")}
		}
		s.project.Entry, s.project.Units = filepath.ToSlash(filepath.Clean(s.entry)), nil
	}
	if err := s.settings(); err != nil {
		return err
	}
	if below {
		s.project.Entry, s.project.Units = ".", []render.Unit{{Name: "...", Entry: "..."}}
	}
	return s.limitFlags.apply(&s.project.Limits)
}

// bundle renders and checks what path names, in one environment. Images that
// the project builds are built first, unless their inputs are given.
func (a *app) bundle(ctx context.Context, path string, s *sourceFlags) (*render.Bundle, error) {
	if err := s.open(path); err != nil {
		return nil, err
	}
	if err := a.buildImages(ctx, s); err != nil {
		return nil, err
	}
	return a.render(ctx, s)
}

// render renders and checks an open source, also against the policies of the
// project, in one environment.
func (a *app) render(ctx context.Context, s *sourceFlags) (*render.Bundle, error) {
	rules := s.ruleRoots()
	defer rules.close()
	policies, err := rules.project(s)
	if err != nil {
		return nil, s.locate(err)
	}
	all, err := a.renderAll(ctx, s, check.Options{Policies: policies})
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, usageError{fmt.Errorf("want one environment, not %d: name it with --env", len(all))}
	}
	return all[0].Bundle, nil
}

// buildImages builds the images of the project that no input gives, into the
// local store.
func (a *app) buildImages(ctx context.Context, s *sourceFlags) error {
	given, err := s.given()
	if err != nil {
		return err
	}
	s.built = map[string]string{}
	var store *image.Store
	for _, i := range s.project.Images {
		if _, ok := given.Inputs[i.Input()]; ok {
			continue
		}
		if store == nil {
			if store, err = openImages(); err != nil {
				return err
			}
		}
		r, err := a.buildImage(ctx, store, filepath.Join(s.dir, filepath.FromSlash(i.Go)), s.project.Name+"/"+i.Name)
		if err != nil {
			return err
		}
		s.built[i.Input()] = r.Ref
	}
	return nil
}

// rendered is a project in one environment.
type rendered struct {
	Environment string
	*render.Bundle
	judged check.Judgements
	// of are the programs that the bundle is of.
	of []why.Rendering
}

// renderAll renders every selected environment, in worker processes, and checks
// it as the server would.
func (a *app) renderAll(ctx context.Context, s *sourceFlags, o check.Options) ([]rendered, error) {
	all, remarks, err := a.renderSilently(ctx, s, o)
	if err != nil {
		return nil, err
	}
	a.tell(remarks)
	return all, nil
}

// remark is what is said of the documents of one environment.
type remark struct {
	Warnings             diag.List
	Unchecked, Documents int
}

func (a *app) renderSilently(ctx context.Context, s *sourceFlags, o check.Options) ([]rendered, []remark, error) {
	all, err := a.renderEnvironments(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	var remarks []remark
	for _, r := range all {
		o.Known = r.judged
		verdict, err := check.Bundle(ctx, r.Bundle, o)
		if err != nil {
			return nil, nil, s.locate(err)
		}
		remarks = append(remarks, remark{diag.From(s.locate(verdict.Warnings.Err())), len(verdict.Unchecked), len(r.Documents)})
	}
	return all, remarks, nil
}

func (a *app) tell(remarks []remark) {
	for _, r := range remarks {
		a.warn(r.Warnings)
		if r.Unchecked > 0 {
			fmt.Fprintf(a.err, "%s %d of %d documents are of kinds that Writ does not serve and were not checked\n", paint(a.errColor, yellow, "warning:"), r.Unchecked, r.Documents)
		}
	}
}

// renderEnvironments renders every selected environment.
func (a *app) renderEnvironments(ctx context.Context, s *sourceFlags) ([]rendered, error) {
	targets, bundles, judged, err := a.renderTargets(ctx, s)
	if err != nil {
		return nil, err
	}
	return s.merge(targets, bundles, judged)
}

// merge makes one bundle of all units of an environment.
func (s *sourceFlags) merge(targets []render.Target, bundles []*render.Bundle, judged check.Judgements) ([]rendered, error) {
	var all []rendered
	for first := 0; first < len(targets); {
		end := first
		for end < len(targets) && targets[end].Environment == targets[first].Environment {
			end++
		}
		b, err := render.Merge(targets[first:end], bundles[first:end])
		if err != nil {
			return nil, s.locate(err)
		}
		all = append(all, rendered{targets[first].Environment, b, judged, renderings(targets[first:end], bundles[first:end])})
		first = end
	}
	return all, nil
}

// withCache opens a session of the cache for f, unless there is one. Without a
// place for it there is no cache, and all goes slower.
func (a *app) withCache(s *sourceFlags, m *module, f func() error) error {
	if s.session != nil {
		return f()
	}
	c, err := openCache()
	if err != nil || s.noCache || s.prove {
		if err := a.verifyPackages(s, m); err != nil {
			return err
		}
		return f()
	}
	s.session = c.Session(s.root, m.root.FS(), stdlib.FS())
	defer func() {
		_ = s.session.Close() // what could not be kept is made again
		s.session = nil
	}()
	if err := a.verifyPackages(s, m); err != nil {
		return err
	}
	return f()
}

// renderTargets evaluates every selected unit in every selected environment.
// The judgements are of some of their documents.
func (a *app) renderTargets(ctx context.Context, s *sourceFlags) (targets []render.Target, bundles []*render.Bundle, judged check.Judgements, err error) {
	m, err := s.module()
	if err != nil {
		return nil, nil, nil, err
	}
	defer m.close()
	targets, selected, err := s.targets(m)
	if err != nil {
		return nil, nil, nil, err
	}
	// What is rendered stays: there is little to collect.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	err = a.withCache(s, m, func() error {
		bundles, judged, err = a.renderThese(ctx, s, m, targets)
		return err
	})
	if err != nil {
		return nil, nil, nil, err
	}
	if s.entry == "" {
		if err := render.CheckOffers(s.project, selected, targets, bundles); err != nil {
			return nil, nil, nil, relocate(err, s.dir)
		}
	}
	return targets, bundles, judged, nil
}

func (a *app) renderThese(ctx context.Context, s *sourceFlags, m *module, targets []render.Target) ([]*render.Bundle, check.Judgements, error) {
	byLanguage, stop, err := pooled(workers(s.root, s.project.Limits))
	if err != nil {
		return nil, nil, err
	}
	defer stop()
	counted := a.counter("rendering")
	counted.set(0, len(targets))
	o := render.AllOptions{FS: m.root.FS(), Dir: m.below, Evaluators: byLanguage, Progress: counted.set}
	var judged check.Judgements
	if s.session != nil {
		r := units.New(s.session)
		o.Render, judged = r.Render, r.Judgements()
	}
	bundles, err := render.All(ctx, targets, o)
	counted.end()
	if err != nil {
		return nil, nil, s.locate(err)
	}
	if s.prove {
		if err := s.proveElsewhere(ctx, m, targets, bundles); err != nil {
			return nil, nil, err
		}
	}
	return bundles, judged, nil
}

// maxWarnings bounds how many are shown.
const maxWarnings = 20

// warn shows warnings; those about one field of one source, which many
// documents have, are one.
func (a *app) warn(warnings diag.List) {
	type place struct {
		pos           diag.Position
		path, message string
	}
	var order []diag.Diagnostic
	count := map[place]int{}
	for _, w := range warnings {
		p := place{w.Pos, w.Path, w.Message}
		if count[p]++; count[p] == 1 {
			order = append(order, w)
		}
	}
	for i, w := range order {
		if i == maxWarnings {
			fmt.Fprintf(a.err, "%s %d more\n", paint(a.errColor, yellow, "warning:"), len(order)-i)
			break
		}
		others := ""
		if n := count[place{w.Pos, w.Path, w.Message}] - 1; n > 0 {
			others = fmt.Sprintf(" (and in %d other documents)", n)
		}
		fmt.Fprintf(a.err, "%s %s%s\n", paint(a.errColor, yellow, "warning:"), w.Error(), others)
	}
}

// module is an open module root, and where in it the project is.
type module struct {
	root  *os.Root
	below string
}

func (m *module) close() { _ = m.root.Close() }

func (s *sourceFlags) module() (*module, error) {
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return nil, fmt.Errorf("open the module root: %w", err)
	}
	below, err := filepath.Rel(s.root, s.dir)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &module{root, filepath.ToSlash(below)}, nil
}

// targets lists the programs that the flags select.
func (s *sourceFlags) targets(m *module) ([]render.Target, render.Select, error) {
	selected, err := s.given()
	if err != nil {
		return nil, render.Select{}, err
	}
	selected.Environments, selected.Units = s.environments, s.units
	dir, err := fs.Sub(m.root.FS(), m.below)
	if err != nil {
		return nil, render.Select{}, err
	}
	targets, err := s.project.Targets(dir, selected)
	if err != nil {
		return nil, selected, relocate(err, s.dir)
	}
	for i := range targets {
		for name, ref := range s.built {
			targets[i].Offers[name] = ref
		}
	}
	return targets, selected, nil
}

// locate rewrites the positions of diagnostics from the module root to where
// the user stands, so that they can be opened as printed.
func (s *sourceFlags) locate(err error) error {
	if s.root == "" {
		return err
	}
	return relocate(err, s.root)
}

func relocate(err error, root string) error {
	var l diag.List
	if !errors.As(err, &l) {
		return err
	}
	out := make(diag.List, len(l))
	for i, d := range l {
		d.Pos = relocatePos(d.Pos, root)
		notes := make([]diag.Note, len(d.Notes))
		for j, n := range d.Notes {
			notes[j] = diag.Note{Pos: relocatePos(n.Pos, root), Text: n.Text}
		}
		d.Notes = notes
		out[i] = d
	}
	return out
}

// relocatePos leaves positions in the standard library as they are.
func relocatePos(p diag.Position, root string) diag.Position {
	full := filepath.Join(root, filepath.FromSlash(p.File))
	if p.File == "" {
		return p
	}
	if _, err := os.Stat(full); err != nil {
		return p
	}
	wd, err := os.Getwd()
	if err != nil {
		return p
	}
	if rel, err := filepath.Rel(wd, full); err == nil && !strings.HasPrefix(rel, filepath.Join("..", "..")) {
		p.File = rel
	} else {
		p.File = full
	}
	return p
}
