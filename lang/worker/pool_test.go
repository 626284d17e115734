package worker_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/lang/worker"
)

// TestOrderDoesNotMatter evaluates programs in one process in many orders:
// what a program comes to does not depend on what was evaluated before.
func TestOrderDoesNotMatter(t *testing.T) {
	dir := module(t, map[string]string{
		"cue.mod/module.cue": "module: \"example.com/m\"\nlanguage: version: \"v0.14.0\"\n",
		"lib/lib.cue":        "package lib\n\n#A: {name: string, n: *1 | int}\n",
		"a.cue":              "package a\n\nimport \"example.com/m/lib\"\n\nx: lib.#A & {name: \"a\"}\n",
		"b.cue":              "package b\n\nimport \"example.com/m/lib\"\n\nx: lib.#A & {name: \"b\", n: 2}\n",
		"bad.cue":            "package c\n\nimport \"example.com/m/lib\"\n\nx: lib.#A & {name: 1}\n",
		"l.libsonnet":        "{ n: std.length(std.range(1, 100)), f(x): x + self.n }",
		"a.jsonnet":          "(import 'l.libsonnet').f(1)",
		"b.jsonnet":          "(import 'l.libsonnet') { n: 5 }.f(1)",
		"bad.jsonnet":        "(import 'l.libsonnet').g",
		"a.yaml":             "a: &x [1]\nb: *x\n",
	})
	entries := []string{"a.cue", "b.cue", "bad.cue", "a.jsonnet", "b.jsonnet", "bad.jsonnet", "a.yaml"}
	eval := func(p *worker.Pool, entry string) string {
		language := map[string]string{"e": "cue", "t": "jsonnet", "l": "yaml"}[entry[len(entry)-1:]]
		r, err := p.Evaluator(language).Eval(t.Context(), lang.Program{Entry: entry})
		b, jsonErr := json.Marshal([]any{r, diag.From(err)})
		if jsonErr != nil {
			t.Fatal(jsonErr)
		}
		return string(b)
	}
	want := map[string]string{}
	fresh := pool(t, worker.Options{Root: dir, Fresh: true})
	for _, e := range entries {
		want[e] = eval(fresh, e)
	}
	one := pool(t, worker.Options{Root: dir, Size: 1})
	for range 10 {
		order := slices.Clone(entries)
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, e := range order {
			if got := eval(one, e); got != want[e] {
				t.Fatalf("%s in the order %v:\n%s\nin a process of its own:\n%s", e, order, got, want[e])
			}
		}
	}
}

// TestOthersGoOn: a program that is stopped takes only its own process along.
func TestOthersGoOn(t *testing.T) {
	files := map[string]string{"endless.jsonnet": endless}
	for i := range 20 {
		files[fmt.Sprintf("%d.jsonnet", i)] = fmt.Sprint(i)
	}
	p := pool(t, worker.Options{Root: module(t, files), Size: 3, Timeout: time.Second})
	e := p.Evaluator("jsonnet")
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if _, err := e.Eval(t.Context(), lang.Program{Entry: "endless.jsonnet"}); err == nil || diag.From(err)[0].Code != "LANG101" {
				t.Errorf("an endless program: %v", err)
			}
		})
	}
	for i := range 20 {
		wg.Go(func() {
			r, err := e.Eval(t.Context(), lang.Program{Entry: fmt.Sprintf("%d.jsonnet", i)})
			if err != nil || r.Value.Text != fmt.Sprint(i) {
				t.Errorf("program %d: %v, %v", i, r, err)
			}
		})
	}
	wg.Wait()
}

// TestAbandoned: a process whose input ends does not go on, however busy.
func TestAbandoned(t *testing.T) {
	dir := module(t, map[string]string{"endless.jsonnet": endless})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, worker.Argument)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	request := fmt.Sprintf(`{"language":"jsonnet","root":%q,"entry":"endless.jsonnet"}`, dir)
	if _, err := fmt.Fprintf(in, "%s%s", []byte{0, 0, 0, 0, 0, 0, 0, byte(len(request))}, request); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	in.Close()
	timer := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 84 {
		t.Errorf("it ended with %v, want exit status 84", err)
	}
}

func BenchmarkPool(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(dir+"/a.jsonnet", []byte("{ a: std.range(1, 100) }"), 0o644); err != nil {
		b.Fatal(err)
	}
	for _, fresh := range []bool{false, true} {
		b.Run(fmt.Sprintf("fresh=%v", fresh), func(b *testing.B) {
			e := pool(b, worker.Options{Root: dir, Fresh: fresh}).Evaluator("jsonnet")
			for b.Loop() {
				if _, err := e.Eval(b.Context(), lang.Program{Entry: "a.jsonnet"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
