// Package test runs the tests of configuration: files named *_test.cue and
// *_test.jsonnet, in either language with the same content.
//
// A file has one field "tests", whose members are the tests, by name. A test is
// one of:
//
//	true                                   a fact that holds
//	{holds: BOOL}                          the same, with room for a message
//	{got: X, want: Y}                      two values that are equal
//	{value: X, fail: "REGEXP"}             a value that cannot be evaluated
//	{expect: [...], snapshot: true, ...}   a rendering
//
// Any test may have a message, shown when it fails; inputs, an object of the
// parameters that the program or the test file sees while it is evaluated; and
// env, the environment of writ.yaml whose inputs are offered. Images that
// writ.yaml builds have a made-up reference, NAME/IMAGE:test, unless the test
// gives another.
//
// A rendering evaluates and checks programs as "writ render" does, then looks at
// their documents. Which programs:
//
//	unit: "web"        the unit of writ.yaml, or those whose names match
//	entry: "a.cue"     a file or directory, relative to the test file
//	neither            the unit that is the test file's directory, or is called
//	                   as the test file without _test; in the directory of
//	                   writ.yaml all units; else the directory is the program
//
// Then:
//
//	fail: "REGEXP"     it must fail with a message that matches
//	snapshot: true     the documents must be those in the golden file
//	                   FILE.snapshots/NAME.yaml beside the test file; a string
//	                   instead of true names the file
//	expect: [...]      what the documents must be, each item being
//	  {apiVersion, kind, name, namespace   which documents; all are optional
//	   count: N                            how many there are; else at least one
//	   absent: true                        there is none
//	   match: {...}                        fields that each has: objects may have
//	                                       more, lists are as long, null is absent
//	   fields: {".spec.x[name=a].y": V}}   the same by path
//
// All other fields are errors. A rendering that only has inputs or an env says
// that the program renders. Programs are evaluated once for each set of inputs,
// however many tests look at the result, and so is each test file.
//
// For example, in CUE, in the package under test:
//
//	tests: {
//		"two replicas in production": {got: web.replicas, want: 2}
//		"a name is needed": {value: #App & {name: ""}, fail: "MinRunes"}
//		"the web is public": {
//			inputs: env: "prod"
//			expect: [{kind: "Service", name: "web", match: spec: type: "NodePort"}]
//		}
//	}
//
// and in Jsonnet:
//
//	local app = import 'app.libsonnet';
//	{
//	  tests: {
//	    'two replicas in production': { got: app.web.replicas, want: 2 },
//	    'a name is needed': { value: app.new(''), fail: 'name' },
//	    'the web is public': {
//	      inputs: { env: 'prod' },
//	      expect: [{ kind: 'Service', name: 'web', match: { spec: { type: 'NodePort' } } }],
//	    },
//	  },
//	}
package test

import (
	"cmp"
	"context"
	"regexp"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/check"
)

// Options say what to run and how.
type Options struct {
	// Path is the directory to look for tests in, or one test file.
	Path string
	// Base is the directory that files are named relative to in the report;
	// empty means the working directory.
	Base string
	// Run selects tests by "FILE: NAME", FILE being as in the report; nil
	// selects all.
	Run *regexp.Regexp
	// Parallel is how many evaluations run at a time; 0 means one a processor.
	Parallel int
	// Update writes snapshots instead of comparing, and removes obsolete ones.
	Update bool
	// Cover counts what of the programs the tests and the environments use.
	Cover bool
	// Check is how rendered documents are checked.
	Check check.Options
	// Evaluators make those of a module root, which are used until stop; nil
	// means in this process, and without limits.
	Evaluators func(root string, l render.Limits) (byLanguage map[render.Language]lang.Evaluator, stop func(), err error)
}

// Run runs the tests. The error is about running them at all; tests that fail
// are in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	start := time.Now()
	if o.Parallel <= 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	found, err := find(o.Path)
	if err != nil {
		return nil, err
	}
	r, err := newRunner(o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	suites := make([]*suite, len(found.tests))
	err = r.each(ctx, len(suites), func(i int) error {
		s, err := r.load(ctx, found.tests[i])
		suites[i] = s
		return err
	})
	if err != nil {
		return nil, err
	}
	var cases []*testCase
	for _, s := range suites {
		cases = append(cases, s.cases...)
	}
	if err := r.each(ctx, len(cases), func(i int) error { return r.run(ctx, cases[i]) }); err != nil {
		return nil, err
	}
	report := r.report(suites)
	if err := r.tidySnapshots(report, suites, found.snapshots); err != nil {
		return nil, err
	}
	if o.Cover {
		if err := r.cover(ctx, report, found.programs); err != nil {
			return nil, err
		}
	}
	report.Seconds = time.Since(start).Seconds()
	return report, nil
}

// each calls do for 0 to n-1, some at a time. The first error that is not about
// a test ends it.
func (r *runner) each(ctx context.Context, n int, do func(int) error) error {
	g, running := errgroup.WithContext(ctx)
	g.SetLimit(r.Parallel)
	for i := range n {
		g.Go(func() error {
			if err := running.Err(); err != nil {
				return err
			}
			return do(i)
		})
	}
	return cmp.Or(ctx.Err(), g.Wait())
}
