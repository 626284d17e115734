package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/apply"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/nodeagent/image"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/check"
)

// sourceFlags say what to render. After bundle, they also know where it was
// found, so that positions can be printed as a person would open them.
type sourceFlags struct {
	inputs []string
	entry  string

	project *render.Project
	dir     string
	root    string
}

func (s *sourceFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVarP(&s.inputs, "input", "i", nil, "an input of the program, as name=value (repeatable)")
	f.StringVar(&s.entry, "entry", "", "file or directory to evaluate, relative to DIR (default: what writ.yaml says, or DIR)")
}

func (s *sourceFlags) planOptions() apply.Options {
	return apply.Options{Release: s.project.Name, Namespace: s.project.Namespace, By: userName()}
}

func userName() string {
	if u := os.Getenv("USER"); u != "" {
		return u
	}
	return "uid " + hostUID()
}

// open reads the project file of a directory, or of the directory that a
// named file is in.
func (s *sourceFlags) open(path string) error {
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
	s.root = moduleRoot(dir)
	s.project, err = render.LoadProject(dir)
	if err != nil {
		return relocate(err, dir)
	}
	if s.entry == "" {
		s.entry = s.project.Entry
	}
	return nil
}

// moduleRoot is the nearest directory, from dir upwards, that a module of
// either language starts at; without one it is dir itself. No evaluation
// reads outside of it.
func moduleRoot(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		for _, mark := range []string{"cue.mod", "jsonnetfile.json"} {
			if _, err := os.Stat(filepath.Join(d, mark)); err == nil {
				return d
			}
		}
		if d == filepath.Dir(d) {
			return dir
		}
	}
}

// bundle renders and checks what path names. Images that the project builds
// are built first, unless their inputs are given.
func (a *app) bundle(ctx context.Context, path string, s *sourceFlags) (*render.Bundle, error) {
	if err := s.open(path); err != nil {
		return nil, err
	}
	inputs, err := s.allInputs()
	if err != nil {
		return nil, err
	}
	if missing := s.unbuilt(inputs); len(missing) > 0 {
		store, err := openImages()
		if err != nil {
			return nil, err
		}
		if err := a.buildImages(ctx, store, s, missing, inputs); err != nil {
			return nil, err
		}
	}
	return a.render(ctx, s, inputs)
}

// allInputs is what writ.yaml gives, overridden by --input.
func (s *sourceFlags) allInputs() (map[string]string, error) {
	inputs, err := parseInputs(s.inputs)
	if err != nil {
		return nil, err
	}
	for name, value := range s.project.Inputs {
		if _, given := inputs[name]; !given {
			inputs[name] = value
		}
	}
	return inputs, nil
}

// unbuilt lists the project's images whose references are not given.
func (s *sourceFlags) unbuilt(inputs map[string]string) []render.Image {
	var images []render.Image
	for _, i := range s.project.Images {
		if _, given := inputs[i.Input()]; !given {
			images = append(images, i)
		}
	}
	return images
}

// buildImages builds images into the local store and adds their references to
// the inputs.
func (a *app) buildImages(ctx context.Context, store *image.Store, s *sourceFlags, images []render.Image, inputs map[string]string) error {
	for _, i := range images {
		r, err := a.buildImage(ctx, store, filepath.Join(s.dir, filepath.FromSlash(i.Go)), s.project.Name+"/"+i.Name)
		if err != nil {
			return err
		}
		inputs[i.Input()] = r.Ref
	}
	return nil
}

// render evaluates in a worker process and checks the result as the server
// would.
func (a *app) render(ctx context.Context, s *sourceFlags, inputs map[string]string) (*render.Bundle, error) {
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return nil, fmt.Errorf("open the module root: %w", err)
	}
	defer root.Close()
	below, err := filepath.Rel(s.root, s.dir)
	if err != nil {
		return nil, err
	}
	b, err := render.Render(ctx, render.Options{
		FS:         root.FS(),
		Entry:      filepath.ToSlash(filepath.Join(below, filepath.FromSlash(s.entry))),
		Inputs:     inputs,
		Namespace:  s.project.Namespace,
		Evaluators: evaluators(s.root),
	})
	if err != nil {
		return nil, s.locate(err)
	}
	report, err := check.Bundle(b, check.Options{})
	if err != nil {
		return nil, s.locate(err)
	}
	for _, w := range diag.From(s.locate(report.Warnings)) {
		fmt.Fprintf(a.err, "%s %s\n", paint(a.live, yellow, "warning:"), w.Error())
	}
	return b, nil
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
