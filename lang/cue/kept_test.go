package cue_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/cue"
	"github.com/writ-dev/writ/lang/langtest"
)

func TestReusingCases(t *testing.T) { langtest.Run(t, cue.Reusing(), "testdata/*.txtar") }

// TestReusingNoticesChanges changes one file after the other, between programs
// that share packages, and expects what a new evaluator has.
func TestReusingNoticesChanges(t *testing.T) {
	files := map[string]string{
		"cue.mod/module.cue":                 "module: \"example.com/m\"\nlanguage: version: \"v0.17.0\"\n",
		"top.cue":                            "package lib\n\n#Top: 1\n",
		"lib/a.cue":                          "package lib\n\nimport \"example.com/m/base\"\n\n#A: {n: int | *base.n, name: string, top: #Top, ...}\n",
		"base/b.cue":                         "package base\n\nimport \"strings\"\n\nn: 1\ns: strings.ToUpper(\"x\")\n",
		"cue.mod/pkg/other.org/v/v.cue":      "package v\n\nimport \"other.org/w\"\n\nv: w.w\n",
		"cue.mod/pkg/other.org/w/w.cue":      "package w\n\nw: 1\n",
		"app/one/a.cue":                      "package app\n\nimport (\n\t\"example.com/m/lib\"\n\t\"other.org/v\"\n)\n\nenv: *\"none\" | string @tag(env)\nx: lib.#A & {name: env, v: v.v}\n",
		"app/two/a.cue":                      "package app\n\nimport (\n\t\"example.com/m/base\"\n\t\"other.org/w\"\n\t\"example.com/m/lib\"\n)\n\nx: lib.#A & {name: \"two\", b: base.n, w: w.w}\n",
		"app/app.cue":                        "package app\n\ny: int | *1\n",
		"lone/cue.mod/module.cue":            "module: \"example.com/lone\"\nlanguage: version: \"v0.17.0\"\n",
		"lone/a.cue":                         "package lone\n\nimport \"other.org/w\"\n\nw: w.w\n",
		"lone/cue.mod/pkg/other.org/w/w.cue": "package w\n\nw: \"another\"\n",
	}
	changes := []map[string]string{
		{},
		{"base/b.cue": "package base\n\nn: 2\n"},
		{"base/c.cue": "package base\n\nm: 2\n"},
		{"base/c.cue": ""},
		{"cue.mod/pkg/other.org/w/w.cue": "package w\n\nw: \"changed\"\n"},
		{"cue.mod/usr/other.org/w/w.cue": "package w\n\nw: \"conflict\"\n"},
		{"cue.mod/usr/other.org/w/w.cue": ""},
		{"top.cue": "package lib\n\n#Top: 2\n"},
		{"lib/a.cue": "package lib\n\n#A: {name: string, top: #Top, ...} &\n"},
		{"lib/a.cue": "package lib\n\nimport \"other.org/v\"\n\n#A: {name: string, top: #Top, v: v.v, ...}\n"},
		{"cue.mod/pkg/other.org/v/v.cue": "package v\n\nimport \"example.com/m/lib\"\n\nv: lib.v\n"},
		{"cue.mod/pkg/other.org/v/v.cue": "package v\n\nv: 3\n"},
		{"cue.mod/module.cue": "module: \"example.com/n\"\nlanguage: version: \"v0.17.0\"\n"},
		{"cue.mod/module.cue": "module: \"example.com/m\"\nlanguage: version: \"v0.17.0\"\n"},
	}
	e := cue.Reusing()
	for i, change := range changes {
		for name, text := range change {
			if files[name] = text; text == "" {
				delete(files, name)
			}
		}
		fsys := fstest.MapFS{}
		for name, text := range files {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		for _, p := range []lang.Program{
			{Entry: "app/one"}, {Entry: "app/one", Inputs: map[string]string{"env": "prod"}},
			{Entry: "app/two"}, {Entry: "lone"}, {Entry: "lib"}, {Entry: "app/one"},
		} {
			p.FS = fsys
			want, wantErr := cue.Evaluator{}.Eval(t.Context(), p)
			got, err := e.Eval(t.Context(), p)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("change %d %v, %s %v (-want +got):\n%s", i, change, p.Entry, p.Inputs, d)
			}
			if d := cmp.Diff(wantErr, err); d != "" {
				t.Fatalf("change %d, %s: errors (-want +got):\n%s", i, p.Entry, d)
			}
		}
	}
}
