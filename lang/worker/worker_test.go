package worker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/cue"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/lang/jsonnet"
	"github.com/writ-dev/writ/lang/worker"
	"github.com/writ-dev/writ/lang/yaml"
)

func evaluators() map[string]lang.Evaluator {
	return map[string]lang.Evaluator{
		"cue": cue.Evaluator{}, "jsonnet": jsonnet.Evaluator{}, "yaml": yaml.Evaluator{},
	}
}

func library() fstest.MapFS {
	return fstest.MapFS{"jsonnet/writ.libsonnet": {Data: []byte("{ n: 1 }\n")}}
}

// TestMain is the worker process too: tests start this test binary again.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Argument {
		if err := worker.Main(context.Background(), os.Stdin, os.Stdout, evaluators(), library()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// module writes files to a directory and returns it.
func module(t *testing.T, files map[string]string) string {
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

func pool(t testing.TB, o worker.Options) *worker.Pool {
	t.Helper()
	p, err := worker.NewPool(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestSameAsInProcess(t *testing.T) {
	dir := module(t, map[string]string{
		"main.jsonnet": "function(env) [(import 'writ.libsonnet').n, env, 0.1, {}]",
		"a.cue":        "env: string @tag(env)\nn: 12345678901234567890\nl: []\n",
		"b.yaml":       "a: 0755\n---\nb: [no, 'no']\n",
		"bad.cue":      "a: 1\na: 2\n",
	})
	for _, c := range []struct{ language, entry string }{
		{"jsonnet", "main.jsonnet"}, {"cue", "a.cue"}, {"yaml", "b.yaml"}, {"cue", "bad.cue"},
	} {
		t.Run(c.entry, func(t *testing.T) {
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			p := lang.Program{FS: root.FS(), Entry: c.entry, Library: library(), Offers: map[string]string{"env": "offered", "nobody": "asks"}}
			if c.language != "yaml" && c.entry != "bad.cue" {
				p.Inputs = map[string]string{"env": "prod"}
			}
			want, wantErr := evaluators()[c.language].Eval(t.Context(), p)
			p.FS = nil
			got, gotErr := pool(t, worker.Options{Root: dir}).Evaluator(c.language).Eval(t.Context(), p)
			if d := cmp.Diff(diag.From(wantErr), diag.From(gotErr)); d != "" {
				t.Fatalf("error (-in process +worker):\n%s", d)
			}
			if wantErr != nil {
				return
			}
			if d := cmp.Diff(want.Inputs, got.Inputs); d != "" || c.language != "yaml" && got.Inputs["env"] != "prod" {
				t.Errorf("inputs %v (-in process +worker):\n%s", got.Inputs, d)
			}
			if d := cmp.Diff(want.Reads, got.Reads); d != "" {
				t.Errorf("reads (-in process +worker):\n%s", d)
			}
			if a, b := string(want.Value.AppendJSON(nil)), string(got.Value.AppendJSON(nil)); a != b {
				t.Errorf("in process %s, in the worker %s", a, b)
			}
			for path, v := range want.Value.All() {
				if w, _ := got.Value.At(path); w.Pos != v.Pos {
					t.Errorf("%s is at %s in process and at %s in the worker", path, v.Pos, w.Pos)
				}
			}
		})
	}
}

const (
	endless = "local f(n) = if n == 0 then 0 else f(n - 1) + f(n - 1); f(60)"
	greedy  = "local double(s, n) = if n == 0 then s else double(s + s, n - 1) tailstrict; std.length(double('xxxxxxxxxxxxxxxx', 35))"
)

func TestTestsAndCoverage(t *testing.T) {
	dir := module(t, map[string]string{
		"a_test.jsonnet": "local a = import 'a.libsonnet'; { tests: { ok: a.f(1) == 1, bad: a.g } }",
		"a.libsonnet":    "{ f(n): n, g: error 'g fails' }",
		"fails.jsonnet":  "{ a: (import 'a.libsonnet').g }",
	})
	e := pool(t, worker.Options{Root: dir}).Evaluator("jsonnet")
	r, err := e.Eval(t.Context(), lang.Program{Entry: "a_test.jsonnet", Tests: true, Cover: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Faults) != 1 || r.Faults[0].Path != ".bad" || r.Faults[0].Diagnostics[0].Message != "g fails" {
		t.Errorf("faults are %+v, want one of .bad", r.Faults)
	}
	if hit, total := r.Coverage.Count(); hit != 3 || total != 3 {
		t.Errorf("%d of %d points are used, want 3 of 3: %+v", hit, total, r.Coverage)
	}
	r, err = e.Eval(t.Context(), lang.Program{Entry: "fails.jsonnet", Cover: true})
	if err == nil || r == nil {
		t.Fatalf("got %v, %v, want the error and the coverage", r, err)
	}
	if hit, total := r.Coverage.Count(); hit != 2 || total != 4 {
		t.Errorf("%d of %d points are used, want 2 of 4: %+v", hit, total, r.Coverage)
	}
}

func TestLimits(t *testing.T) {
	dir := module(t, map[string]string{
		"endless.jsonnet": endless,
		"greedy.jsonnet":  greedy,
		"hungry.jsonnet":  "std.length(std.join('', [std.repeat('x', 1000000) for i in std.range(1, 100000)]))",
	})
	for _, c := range []struct {
		entry, code, text string
		timeout           time.Duration
	}{
		{"endless.jsonnet", "LANG101", "longer than 500ms", 500 * time.Millisecond},
		{"greedy.jsonnet", "LANG102", "more than 256 MiB", 30 * time.Second},
		{"hungry.jsonnet", "LANG102", "more than 256 MiB", 30 * time.Second},
	} {
		t.Run(c.entry, func(t *testing.T) {
			start := time.Now()
			_, err := pool(t, worker.Options{Root: dir, Timeout: c.timeout, Memory: 256 << 20}).Evaluator("jsonnet").Eval(t.Context(), lang.Program{Entry: c.entry})
			l := diag.From(err)
			if len(l) != 1 || l[0].Code != c.code || l[0].Pos.File != c.entry || !strings.Contains(l[0].Message, c.text) {
				t.Errorf("got %+v, want %s at %s with %q", l, c.code, c.entry, c.text)
			}
			if took := time.Since(start); took > c.timeout+5*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestStack(t *testing.T) {
	var chain strings.Builder
	chain.WriteString("a0: 1\n")
	for i := range 3000 {
		fmt.Fprintf(&chain, "a%d: a%d + 1\n", i+1, i)
	}
	dir := module(t, map[string]string{
		"chain.cue":    chain.String(),
		"deep.jsonnet": "local f(n) = if n == 0 then 0 else 1 + f(n - 1); f(100)",
	})
	for _, c := range []struct {
		language, entry string
		stack           int
		code, text      string
	}{
		{"jsonnet", "deep.jsonnet", 0, "", ""},
		{"jsonnet", "deep.jsonnet", 90, "JSONNET004", "deeper than 90"},
		// CUE counts no calls: the stack of its process has the size for them.
		{"cue", "chain.cue", 0, "", ""},
		{"cue", "chain.cue", 1, "LANG103", "256 KiB of stack"},
	} {
		_, err := pool(t, worker.Options{Root: dir, Stack: c.stack}).Evaluator(c.language).Eval(t.Context(), lang.Program{Entry: c.entry})
		if c.code == "" {
			if err != nil {
				t.Errorf("%s with a stack of %d: %v", c.entry, c.stack, err)
			}
			continue
		}
		if l := diag.From(err); len(l) != 1 || l[0].Code != c.code || l[0].Pos.File != c.entry || !strings.Contains(l[0].Message, c.text) || !strings.Contains(l[0].Hint, "--stack") {
			t.Errorf("%s with a stack of %d: got %+v, want %s with %q", c.entry, c.stack, l, c.code, c.text)
		}
	}
}

func TestCancel(t *testing.T) {
	dir := module(t, map[string]string{"endless.jsonnet": endless})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := pool(t, worker.Options{Root: dir}).Evaluator("jsonnet").Eval(ctx, lang.Program{Entry: "endless.jsonnet"})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Errorf("got %v after %s, want the context's error at once", err, time.Since(start))
	}
}

func TestOutsideOfRoot(t *testing.T) {
	dir := module(t, map[string]string{"secret.json": "1", "mod/ok.cue": "a: 1\n"})
	if err := os.Symlink("../secret.json", filepath.Join(dir, "mod", "link.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "secret.json"), filepath.Join(dir, "mod", "abs.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mod", "link.jsonnet"), []byte("import 'link.json'"), 0o644); err != nil {
		t.Fatal(err)
	}
	for entry, language := range map[string]string{"link.json": "yaml", "abs.json": "yaml", "link.jsonnet": "jsonnet"} {
		_, err := pool(t, worker.Options{Root: filepath.Join(dir, "mod")}).Evaluator(language).Eval(t.Context(), lang.Program{Entry: entry})
		if l := diag.From(err); len(l) != 1 || l[0].Code != "LANG002" {
			t.Errorf("%s: got %+v, want LANG002", entry, l)
		}
	}
}

func TestUnknown(t *testing.T) {
	dir := module(t, map[string]string{"a.cue": "a: 1\n"})
	_, err := pool(t, worker.Options{Root: dir}).Evaluator("cobol").Eval(t.Context(), lang.Program{Entry: "a.cue"})
	if err == nil || !strings.Contains(err.Error(), "cobol") {
		t.Errorf("unknown language: got %v", err)
	}
	_, err = pool(t, worker.Options{Root: filepath.Join(dir, "gone")}).Evaluator("cue").Eval(t.Context(), lang.Program{Entry: "a.cue"})
	if err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("missing root: got %v", err)
	}
	_, err = pool(t, worker.Options{Root: dir, Command: []string{"/bin/false"}}).Evaluator("cue").Eval(t.Context(), lang.Program{Entry: "a.cue"})
	if l := diag.From(err); len(l) != 1 || l[0].Code != "LANG104" {
		t.Errorf("a worker that fails: got %v", err)
	}
}
