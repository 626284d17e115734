package test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/stdlib"
)

// runner runs the tests of one Run. It is safe for concurrent use.
type runner struct {
	Options
	base    string
	top     string // the directory that tests are looked for in
	library fs.FS

	modules     once[*module]
	projects    once[*project]
	renderings  once[*render.Bundle] // of one program
	bundles     once[*render.Bundle] // checked, of the programs of a test
	evaluations atomic.Int64

	mu       sync.Mutex
	coverage map[string]tally // by module root
	updated  []string
	// reads are the files that were read, by full path.
	reads map[string]bool
	// unchecked is the documents that could not be checked.
	unchecked map[string]bool
}

// module is a module root that programs are evaluated in.
type module struct {
	key        string
	dir        string
	root       *os.Root
	fs         fs.FS
	evaluators map[render.Language]lang.Evaluator
	stop       func()
}

func (m *module) relative(file string) (string, error) {
	rel, err := filepath.Rel(m.dir, file)
	return filepath.ToSlash(rel), err
}

func newRunner(o Options) (*runner, error) {
	r := &runner{Options: o, base: o.Base, library: stdlib.FS(), coverage: map[string]tally{}, unchecked: map[string]bool{}, reads: map[string]bool{}}
	if r.base == "" {
		wd, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		r.base = wd
	}
	top, err := filepath.Abs(strings.TrimSuffix(o.Path, "/..."))
	if err != nil {
		return nil, err
	}
	if lang.IsTest(top) {
		top = filepath.Dir(top)
	}
	r.top = top
	return r, nil
}

func (r *runner) close() {
	for _, m := range r.modules.all() {
		m.stop()
		m.root.Close()
	}
}

// module opens a module root for programs with limits, once.
func (r *runner) module(dir string, limits render.Limits) (*module, error) {
	key := fmt.Sprintf("%s %+v", dir, limits)
	return r.modules.do(key, func() (*module, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, fmt.Errorf("open the module root: %w", err)
		}
		m := &module{key: key, dir: dir, root: root, fs: root.FS(), evaluators: map[render.Language]lang.Evaluator{}, stop: func() {}}
		inner := render.FrontEnds()
		if r.Evaluators != nil {
			if inner, m.stop, err = r.Evaluators(dir, limits); err != nil {
				root.Close()
				return nil, err
			}
		}
		for l, e := range inner {
			m.evaluators[l] = counted{e, r, dir}
		}
		return m, nil
	})
}

// counted is an evaluator whose evaluations are counted, and their coverage
// kept.
type counted struct {
	lang.Evaluator
	runner *runner
	root   string
}

func (c counted) Eval(ctx context.Context, p lang.Program) (*lang.Result, error) {
	c.runner.evaluations.Add(1)
	p.Cover = c.runner.Cover
	result, err := c.Evaluator.Eval(ctx, p)
	if result != nil && p.Cover {
		c.runner.count(c.root, result.Coverage)
	}
	if err != nil {
		return nil, err
	}
	c.runner.note(c.root, result.Reads)
	return result, nil
}

// note adds the files among reads, there or not.
func (r *runner) note(root string, reads []lang.Read) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, read := range reads {
		if base := path.Base(read.File); !lang.IsLibrary(read.File) && !strings.HasSuffix(read.File, "/") && base[0] != '*' {
			r.reads[filepath.Join(root, filepath.FromSlash(read.File))] = true
		}
	}
}

// count adds what an evaluation used.
func (r *runner) count(root string, c lang.Coverage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.coverage[root] == nil {
		r.coverage[root] = tally{}
	}
	r.coverage[root].add(c)
}

// selected reports whether the test is to run.
func (r *runner) selected(c *testCase) bool {
	return r.Run == nil || r.Run.MatchString(c.suite.name+": "+c.name)
}

// run runs one test. The error is about running it at all.
func (r *runner) run(ctx context.Context, c *testCase) error {
	if c.Status != "" {
		return nil
	}
	start := time.Now()
	var problems diag.List
	if c.spec.rendering() {
		problems = r.rendering(ctx, c)
	} else {
		problems = r.fact(ctx, c)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.Seconds = time.Since(start).Seconds()
	c.Status = Passed
	c.fail(problems)
	return nil
}

// fail says what is wrong with the test; nothing is wrong with nil.
func (c *testCase) fail(problems diag.List) {
	if len(problems) > 0 {
		c.Status, c.Problems = Failed, bounded(problems)
	}
}

// bounded leaves out what nobody would read.
func bounded(problems diag.List) diag.List {
	if len(problems) <= maxDifferences {
		return problems
	}
	more := fmt.Sprintf("and %d problems more", len(problems)-maxDifferences)
	return append(problems[:maxDifferences:maxDifferences], diag.Diagnostic{Code: "TEST007", Message: more})
}

// show names a file for people.
func (r *runner) show(file string) string {
	rel, err := filepath.Rel(r.base, file)
	if err != nil || strings.HasPrefix(rel, filepath.Join("..", "..")) {
		return file
	}
	return filepath.ToSlash(rel)
}

// relocate names the files of diagnostics, which are relative to root, for
// people.
func (r *runner) relocate(l diag.List, root string) diag.List {
	out := make(diag.List, len(l))
	for i, d := range l {
		d.Pos = r.place(d.Pos, root)
		notes := make([]diag.Note, len(d.Notes))
		for j, n := range d.Notes {
			notes[j] = diag.Note{Pos: r.place(n.Pos, root), Text: n.Text}
		}
		d.Notes = notes
		out[i] = d
	}
	return out
}

func (r *runner) place(p diag.Position, root string) diag.Position {
	if p.File == "" || lang.IsLibrary(p.File) || filepath.IsAbs(p.File) {
		return p
	}
	p.File = r.show(filepath.Join(root, filepath.FromSlash(p.File)))
	return p
}

// once computes a value for each key at most one time, however many ask.
type once[T any] struct {
	mu      sync.Mutex
	entries map[string]*entry[T]
}

type entry[T any] struct {
	once  sync.Once
	value T
	err   error
}

func (o *once[T]) do(key string, compute func() (T, error)) (T, error) {
	o.mu.Lock()
	if o.entries == nil {
		o.entries = map[string]*entry[T]{}
	}
	e := o.entries[key]
	if e == nil {
		e = new(entry[T])
		o.entries[key] = e
	}
	o.mu.Unlock()
	e.once.Do(func() { e.value, e.err = compute() })
	return e.value, e.err
}

// all is the values that there are, but for errors.
func (o *once[T]) all() []T {
	var values []T
	for _, e := range o.entries {
		if e.err == nil {
			values = append(values, e.value)
		}
	}
	return values
}
