// Package rendertest tests configuration from Go tests: it renders a directory
// and compares the documents with what is expected.
//
//	func TestWeb(t *testing.T) {
//		b := rendertest.Render(t, "../../deploy", rendertest.Options{Env: "prod"})
//		web := b.Get("Deployment", "web")
//		web.Field(".spec.replicas", 3)
//		web.Match(map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}}})
//		var d appsv1.Deployment
//		web.Decode(&d)
//		b.Count("Service", 2)
//		b.Golden("testdata/prod.yaml")
//		rendertest.Fails(t, "../../deploy", rendertest.Options{Env: "prod", Inputs: map[string]string{"size": "huge"}}, "size")
//	}
//
// A failure names the document, the field and where it is written. Evaluation
// is in the process of the test, without limits: a program that does not end is
// ended by go test. WRIT_UPDATE=1 writes golden files.
package rendertest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/lang/jsonnet/bundler"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/check"
)

// updateVariable is the environment variable that makes Golden write.
const updateVariable = "WRIT_UPDATE"

// Options say what to render.
type Options struct {
	// Env is the environment, which a project that has some must be given.
	Env string
	// Units are names of units, or patterns of them; none means all.
	Units []string
	// Entry is a file or directory relative to the directory, instead of what
	// writ.yaml says.
	Entry string
	// Inputs are given to the program. Images that writ.yaml builds have a
	// made-up reference, NAME/IMAGE:test, unless an input gives another.
	Inputs map[string]string
	// Unchecked leaves out the check that the cluster would accept the
	// documents. Those of kinds that Writ does not serve are never checked.
	Unchecked bool
}

// Bundle is the documents of a directory.
type Bundle struct {
	*render.Bundle
	t    testing.TB
	root string
}

// Render renders and checks the directory dir, relative to the test's working
// directory. What is wrong with it ends the test.
func Render(t testing.TB, dir string, o Options) *Bundle {
	t.Helper()
	s, b, err := renderDir(t.Context(), dir, o)
	if err != nil {
		t.Fatalf("render %s:\n%s", dir, s.explain(err))
	}
	return &Bundle{Bundle: b, t: t, root: s.root}
}

// Fails checks that rendering or checking the directory dir fails with a
// message that matches the regular expression, and returns what is wrong.
func Fails(t testing.TB, dir string, o Options, message string) diag.List {
	t.Helper()
	re, err := regexp.Compile(message)
	if err != nil {
		t.Fatalf("rendertest.Fails: %s", err)
	}
	s, _, err := renderDir(t.Context(), dir, o)
	if err == nil {
		t.Errorf("%s renders, though it must fail with a message that matches %q", dir, message)
		return nil
	}
	problems := diag.From(err)
	for _, d := range problems {
		if re.MatchString(d.Message) || re.MatchString(d.Error()) {
			return problems
		}
	}
	t.Errorf("%s fails, but no message matches %q:\n%s", dir, message, s.explain(err))
	return problems
}

// source is a directory to render.
type source struct {
	dir, root string
}

func renderDir(ctx context.Context, dir string, o Options) (source, *render.Bundle, error) {
	var s source
	var err error
	if s.dir, err = filepath.Abs(dir); err != nil {
		return s, nil, err
	}
	s.root, _ = render.ModuleRoot(s.dir)
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return s, nil, err
	}
	defer root.Close()
	below, err := filepath.Rel(s.root, s.dir)
	if err != nil {
		return s, nil, err
	}
	below = filepath.ToSlash(below)
	if _, err := bundler.Verify(root.FS()); err != nil {
		return s, nil, err
	}
	targets, err := s.targets(root.FS(), below, o)
	if err != nil {
		return s, nil, err
	}
	bundles, err := render.All(ctx, targets, render.AllOptions{FS: root.FS(), Dir: below})
	if err != nil {
		return s, nil, err
	}
	b, err := render.Merge(targets, bundles)
	if err == nil && !o.Unchecked {
		_, err = check.Bundle(ctx, b, check.Options{AllowUnknown: true})
	}
	return s, b, err
}

// targets are the programs that the options name.
func (s source) targets(fsys fs.FS, below string, o Options) ([]render.Target, error) {
	project, err := render.LoadProject(s.dir)
	if err != nil {
		return nil, err
	}
	if o.Entry != "" {
		project.Entry, project.Units = filepath.ToSlash(filepath.Clean(o.Entry)), nil
	}
	dir, err := fs.Sub(fsys, below)
	if err != nil {
		return nil, err
	}
	selected := render.Select{Units: o.Units, Inputs: o.Inputs}
	if o.Env != "" {
		selected.Environments = []string{o.Env}
	}
	targets, err := project.Targets(dir, selected)
	for _, t := range targets {
		for _, i := range project.Images {
			if _, given := t.Offers[i.Input()]; !given {
				t.Offers[i.Input()] = project.Name + "/" + i.Name + ":test"
			}
		}
	}
	return targets, err
}

// explain is what is wrong, with files as go test is to show them.
func (s source) explain(err error) string {
	var b strings.Builder
	l := diag.From(err)
	for i := range l {
		l[i].Pos = place(s.root, l[i].Pos)
		for j := range l[i].Notes {
			l[i].Notes[j].Pos = place(s.root, l[i].Notes[j].Pos)
		}
	}
	diag.Print(&b, l)
	return strings.TrimSuffix(b.String(), "\n")
}

// place makes a position in the module root one relative to the working
// directory.
func place(root string, p diag.Position) diag.Position {
	full := filepath.Join(root, filepath.FromSlash(p.File))
	if _, err := os.Stat(full); p.File == "" || err != nil {
		return p
	}
	wd, err := os.Getwd()
	if err != nil {
		return p
	}
	if rel, err := filepath.Rel(wd, full); err == nil {
		p.File = filepath.ToSlash(rel)
	}
	return p
}

// Get returns the document of a kind with a name. The test ends when there is
// none, or are several in different namespaces or groups: see GetIn.
func (b *Bundle) Get(kind, name string) *Document {
	b.t.Helper()
	return b.one(fmt.Sprintf("%s %s", kind, name), func(d render.Document) bool {
		return d.Object.Kind() == kind && d.Object.Name() == name
	})
}

// GetIn is Get for a document in a namespace.
func (b *Bundle) GetIn(namespace, kind, name string) *Document {
	b.t.Helper()
	return b.one(fmt.Sprintf("%s %s in namespace %s", kind, name, namespace), func(d render.Document) bool {
		return d.Object.Kind() == kind && d.Object.Name() == name && d.Object.Namespace() == namespace
	})
}

func (b *Bundle) one(what string, is func(render.Document) bool) *Document {
	b.t.Helper()
	found := b.all(is)
	switch len(found) {
	case 1:
		return found[0]
	case 0:
		b.t.Fatalf("there is no %s; there is\n%s", what, b.list(b.all(func(render.Document) bool { return true })))
	}
	b.t.Fatalf("there are %d of %s:\n%s", len(found), what, b.list(found))
	return nil
}

// Kind returns the documents of a kind.
func (b *Bundle) Kind(kind string) []*Document {
	return b.all(func(d render.Document) bool { return d.Object.Kind() == kind })
}

func (b *Bundle) all(is func(render.Document) bool) []*Document {
	var found []*Document
	for _, d := range b.Documents {
		if is(d) {
			found = append(found, &Document{Document: d, t: b.t, root: b.root})
		}
	}
	return found
}

// list names documents and where they are written, one a line.
func (b *Bundle) list(documents []*Document) string {
	const most = 30
	var lines []string
	for i, d := range documents {
		if i == most {
			lines = append(lines, fmt.Sprintf("\tand %d more", len(documents)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("\t%s: %s", place(b.root, d.Origin.Pos), d.Object.Key()))
	}
	return strings.Join(lines, "\n")
}

// Count checks how many documents of a kind there are.
func (b *Bundle) Count(kind string, want int) {
	b.t.Helper()
	if found := b.Kind(kind); len(found) != want {
		b.t.Errorf("there are %d documents of kind %s, want %d:\n%s", len(found), kind, want, b.list(found))
	}
}

// Absent checks that there is no document of a kind with a name.
func (b *Bundle) Absent(kind, name string) {
	b.t.Helper()
	found := b.all(func(d render.Document) bool { return d.Object.Kind() == kind && d.Object.Name() == name })
	if len(found) > 0 {
		b.t.Errorf("there is a %s %s:\n%s", kind, name, b.list(found))
	}
}
