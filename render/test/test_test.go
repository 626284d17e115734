package test_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/test"
)

// tree writes files to a directory and returns it.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// counter counts how often each program is evaluated.
type counter struct {
	mu    sync.Mutex
	calls map[string]int
}

type counting struct {
	lang.Evaluator
	*counter
}

func (c counting) Eval(ctx context.Context, p lang.Program) (*lang.Result, error) {
	c.mu.Lock()
	c.calls[fmt.Sprint(p.Entry, p.Inputs)]++
	c.mu.Unlock()
	return c.Evaluator.Eval(ctx, p)
}

func (c *counter) evaluators(string, render.Limits) (map[render.Language]lang.Evaluator, func(), error) {
	out := map[render.Language]lang.Evaluator{}
	for l, e := range render.FrontEnds() {
		out[l] = counting{e, c}
	}
	return out, func() {}, nil
}

// thousand is a project with a thousand facts in each language, and as many
// renderings of one unit.
func thousand() map[string]string {
	var jsonnet, cue, renderings strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&jsonnet, "    'fact %d': { got: lib.double(%d), want: %d },\n", i, i, 2*i)
		fmt.Fprintf(&cue, "\t\"fact %d\": {got: double[%d], want: %d}\n", i, i, 2*i)
		fmt.Fprintf(&renderings, "    'rendering %d': { inputs: { env: 'env%d' }, expect: [{ name: 'c', match: { data: { env: 'env%d' } } }] },\n", i, i%2, i%2)
	}
	return map[string]string{
		"lib.libsonnet":    "{ double(n): 2 * n }",
		"main.jsonnet":     "function(env) { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { env: env } }",
		"lib_test.jsonnet": "local lib = import 'lib.libsonnet';\n{\n  tests: {\n" + jsonnet.String() + "  },\n}\n",
		"doc_test.jsonnet": "{\n  tests: {\n" + renderings.String() + "  },\n}\n",
		"app.cue":          "package app\n\nimport \"list\"\n\ndouble: [for i in list.Range(0, 1000, 1) {2 * i}]\n",
		"app_test.cue":     "package app\n\ntests: {\n" + cue.String() + "}\n",
	}
}

func TestEvaluatesEachUnitOnce(t *testing.T) {
	files := thousand()
	delete(files, "app.cue") // main.jsonnet is the program; it has a package of its own
	files["cue/app.cue"], files["cue/app_test.cue"] = thousand()["app.cue"], files["app_test.cue"]
	delete(files, "app_test.cue")
	c := counter{calls: map[string]int{}}
	report, err := test.Run(t.Context(), test.Options{Path: tree(t, files), Evaluators: c.evaluators})
	if err != nil {
		t.Fatal(err)
	}
	if report.Passed != 3000 || report.Failed != 0 {
		t.Errorf("%d passed, %d failed, want 3000 and 0: %v", report.Passed, report.Failed, report.Files[0].Problems)
	}
	want := map[string]int{
		"lib_test.jsonnetmap[]": 1, "doc_test.jsonnetmap[]": 1, "cue/app_test.cuemap[]": 1,
		".map[env:env0]": 1, ".map[env:env1]": 1,
	}
	if d := cmp.Diff(want, c.calls); d != "" {
		t.Errorf("evaluations (-want +got):\n%s", d)
	}
	if report.Evaluations != 5 {
		t.Errorf("the report counts %d evaluations", report.Evaluations)
	}
}

// TestFactsWithInputs checks that a test file is evaluated once for each set of
// inputs, however many tests have it.
func TestFactsWithInputs(t *testing.T) {
	c := counter{calls: map[string]int{}}
	report, err := test.Run(t.Context(), test.Options{Evaluators: c.evaluators, Path: tree(t, map[string]string{
		"a_test.jsonnet": `{
		  local env = std.extVar('env'),
		  tests: {
		    a: { inputs: { env: 'x' }, got: env, want: 'x' },
		    b: { inputs: { env: 'x' }, got: env + 1, want: 'x1' },
		    c: { inputs: { env: 'y' }, got: env, want: 'y' },
		    d: { inputs: { env: true }, got: env, want: 'true' },
		    e: true,
		    f: { got: env, want: 'none is given' },
		  },
		}`,
	})})
	if err != nil {
		t.Fatal(err)
	}
	if report.Passed != 5 || report.Failed != 1 {
		t.Errorf("%d passed, %d failed, want 5 and 1: %+v", report.Passed, report.Failed, report.Files)
	}
	want := map[string]int{
		"a_test.jsonnetmap[]": 1, "a_test.jsonnetmap[env:x]": 1, "a_test.jsonnetmap[env:y]": 1, "a_test.jsonnetmap[env:true]": 1,
	}
	if d := cmp.Diff(want, c.calls); d != "" {
		t.Errorf("evaluations (-want +got):\n%s", d)
	}
}

func TestOrderAndSelection(t *testing.T) {
	dir := tree(t, map[string]string{
		"b/x_test.jsonnet": "{ tests: { zebra: true, ape: false, bee: true } }",
		"a/x_test.jsonnet": "{ tests: { one: true } }",
	})
	run := func(pattern string) (names []string) {
		report, err := test.Run(t.Context(), test.Options{Path: dir, Base: dir, Run: regexp.MustCompile(pattern), Parallel: 3})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Files {
			for _, c := range f.Cases {
				names = append(names, f.Name+" "+c.Name+" "+string(c.Status))
			}
		}
		return names
	}
	all := []string{"a/x_test.jsonnet one passed", "b/x_test.jsonnet zebra passed", "b/x_test.jsonnet ape failed", "b/x_test.jsonnet bee passed"}
	if d := cmp.Diff(all, run("")); d != "" {
		t.Errorf("all (-want +got):\n%s", d)
	}
	if d := cmp.Diff(all[3:], run("^b/.*: b")); d != "" {
		t.Errorf("selected (-want +got):\n%s", d)
	}
}

// TestCoverageOfAllTests checks that coverage adds up over facts, expected
// failures, renderings and the project's own inputs.
func TestCoverageOfAllTests(t *testing.T) {
	dir := tree(t, map[string]string{
		"writ.yaml": "name: x\nentry: main.jsonnet\ninputs: {size: small}\n",
		"main.jsonnet": `local lib = import 'lib.libsonnet';
function(size) { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { size: lib.size(size) } }`,
		"lib.libsonnet": `{
  size(s):
    if s == 'small' then '1'
    else if s == 'large' then '2'
    else if s == 'huge' then '3'
    else if s == 'none' then '0'
    else error 'no size ' + s,
}`,
		"a_test.jsonnet": `{ tests: {
		  fact: (import 'lib.libsonnet').size('huge') == '3',
		  rendering: { inputs: { size: 'large' } },
		  refused: { inputs: { size: 'xxl' }, fail: 'no size xxl' },
		} }`,
	})
	report, err := test.Run(t.Context(), test.Options{Path: dir, Base: dir, Cover: true})
	if err != nil {
		t.Fatal(err)
	}
	if report.Failed != 0 || len(report.Coverage.Skipped) != 0 {
		t.Errorf("failed: %+v %v", report.Files, report.Coverage.Skipped)
	}
	var missed []string
	for _, f := range report.Coverage.Files {
		for _, p := range f.Points {
			if !p.Hit {
				missed = append(missed, fmt.Sprint(p.Kind, " ", p.Pos(f.File)))
			}
		}
	}
	if d := cmp.Diff([]string{"then lib.libsonnet:6:30"}, missed); d != "" {
		t.Errorf("not used (-want +got):\n%s", d)
	}
	if got := report.Coverage; got.Total-got.Hit != 1 || got.Kinds[lang.PointThen] != (test.KindCount{Hit: 3, Total: 4}) {
		t.Errorf("counts are %d of %d, %v", got.Hit, got.Total, got.Kinds)
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := test.Run(ctx, test.Options{Path: tree(t, map[string]string{"a_test.jsonnet": "{ tests: {} }"})}); err != context.Canceled {
		t.Errorf("got %v, want the context's error", err)
	}
}

// TestRoots checks where the module root is taken to be.
func TestRoots(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"the directory asked for": {
			"lib.libsonnet": "1", "deep/er/a_test.jsonnet": "{ tests: { a: (import '../../lib.libsonnet') == 1 } }",
		},
		"a project above": {
			"writ.yaml": "name: x\n", "lib.libsonnet": "1", "deep/a_test.jsonnet": "{ tests: { a: (import '../lib.libsonnet') == 1 } }",
		},
		"a module above the project": {
			"jsonnetfile.json": "{}", "lib.libsonnet": "1", "deep/writ.yaml": "name: x\n",
			"deep/a_test.jsonnet": "{ tests: { a: (import '../lib.libsonnet') == 1 } }",
		},
		"two projects": {
			"a/writ.yaml": "name: a\nentry: p.jsonnet\n", "a/p.jsonnet": "{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }",
			"a/a_test.jsonnet": "{ tests: { a: { expect: [{ name: 'a' }] } } }",
			"b/writ.yaml":      "name: b\nnamespace: bs\n", "b/main.jsonnet": "{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'b' } }",
			"b/a_test.jsonnet": "{ tests: { b: { expect: [{ name: 'b', namespace: 'bs' }] } } }",
		},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := test.Run(t.Context(), test.Options{Path: tree(t, files)})
			if err != nil || report.Failed > 0 || report.Passed == 0 {
				t.Errorf("%v, %+v", err, report)
			}
		})
	}
}
