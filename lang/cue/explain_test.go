package cue_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/cue"
	"github.com/writ-dev/writ/lang/langtest"
)

func TestExplain(t *testing.T) { langtest.Explain(t, cue.Evaluator{}, "testdata/*.txtar") }

// TestExplainLibrary has what the standard library makes explained.
func TestExplainLibrary(t *testing.T) {
	library := os.DirFS("../../stdlib")
	files, err := filepath.Glob("../../stdlib/testdata/*/app.cue")
	if err != nil || len(files) == 0 {
		t.Fatalf("find programs: %v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			langtest.CheckExplained(t, cue.Evaluator{}, lang.Program{
				FS: fstest.MapFS{"app.cue": {Data: data}}, Entry: "app.cue", Library: library,
				Offers: map[string]string{"image_web": "web:1"},
			})
		})
	}
}

// TestExplainedTogether: a value is explained as if nothing else were, although
// the evaluator cannot take a Dependency's target apart after its name.
func TestExplainedTogether(t *testing.T) {
	p := lang.Program{Entry: "app.cue", Library: os.DirFS("../../stdlib"), FS: fstest.MapFS{"app.cue": {Data: []byte(`
		import "writ.dev/app"
		web: app.#App & {name: "web", image: "web:1", dependencies: {db: service: "db:5432", cache: service: "cache:6379"}}
	`)}}}
	r, err := cue.Evaluator{}.Eval(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for path, v := range r.Value.All() {
		if strings.Contains(path, "dependency-") && len(v.Fields)+len(v.Items) == 0 {
			p.Explain = append(p.Explain, path)
		}
	}
	together, err := cue.Evaluator{}.Eval(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Explain) < 10 {
		t.Errorf("only %d values were explained", len(p.Explain))
	}
	for i, path := range p.Explain {
		one := p
		one.Explain = []string{path}
		alone, err := cue.Evaluator{}.Eval(t.Context(), one)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(alone.Explained[0], together.Explained[i]); diff != "" {
			t.Errorf("%s (-alone +together):\n%s", path, diff)
		}
	}
}

func FuzzExplain(f *testing.F) {
	for _, s := range []string{
		"a: *1 | int\na: 2", "#D: {x: int | *y, y: 1}\nd: #D", "let X = a\na: 1\nb: X + a", "a: {for k, v in {b: 1} {(k): v}}",
		"a: [...{b: *1 | int}]\na: [{}, {b: 2}]", "x: {a: y.a}\ny: {a: *x.a | 1}", "a: (#F & {in: 1}).out\n#F: {in: int, out: in + 1}",
		"a: [N=string]: {name: N}\na: web: _", "a: b: c: a.b.d\na: b: d: \"\\(a.e)\"\na: e: \"x\"", "a: and([>1, 3])\nb: or([1, 2]) & 2",
		"a: {1, #b: 2}\nc: a.#b", "a: if true {b: 1}", "x=a: 1\nb: x", "a: int @tag(n,type=int)",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 2000 {
			return
		}
		langtest.CheckExplained(t, cue.Evaluator{}, lang.Program{
			FS: fstest.MapFS{"a.cue": {Data: []byte(source)}}, Entry: "a.cue", Offers: map[string]string{"n": "2"},
		})
	})
}
