package cue_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

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
