package render_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/render"
)

func outlined() fstest.MapFS {
	return fstest.MapFS{
		"cue.mod/module.cue":   {Data: []byte("module: \"example.com/m\"\nlanguage: version: \"v0.15.0\"\n")},
		"c/a.cue":              {Data: []byte("package c\nimport \"example.com/m/lib\"\na: lib.x\nb: string @tag(b)\n")},
		"c/debug.cue":          {Data: []byte("@if(debug)\n\npackage c\nimport \"example.com/m/more\"\nd: more.x\n")},
		"c/a_test.cue":         {Data: []byte("package c\nimport \"example.com/m/fixture\"\ntests: ok: {got: a, want: fixture.x}\n")},
		"d/a.cue":              {Data: []byte("package d\nimport \"example.com/m/lib\"\na: lib.x\n")},
		"lib/x.cue":            {Data: []byte("package lib\nx: 1\n")},
		"more/x.cue":           {Data: []byte("package more\nx: 1\n")},
		"fixture/x.cue":        {Data: []byte("package fixture\nx: 1\n")},
		"j/main.jsonnet":       {Data: []byte("local l = import 'l.libsonnet'; function(env, size='s') { t: if false then importstr 't.txt', r: std.extVar('region') }")},
		"j/l.libsonnet":        {Data: []byte("{ m: import 'missing.libsonnet', n: import '../n.libsonnet' }")},
		"j/t.txt":              {Data: []byte("text")},
		"n.libsonnet":          {Data: []byte("std.extVar('zone')")},
		"computed.jsonnet":     {Data: []byte("(import 'n.libsonnet') + std.extVar('a' + 'b')")},
		"y/a.yaml":             {Data: []byte("a: 1")},
		"y/b.json":             {Data: []byte("{}")},
		"y/writ.yaml":          {Data: []byte("")},
		"broken/main.jsonnet":  {Data: []byte("{")},
		"cycle/a.jsonnet":      {Data: []byte("import 'b.libsonnet'")},
		"cycle/b.libsonnet":    {Data: []byte("import 'a.jsonnet'")},
		"expression/a.jsonnet": {Data: []byte("function(x) x")},
	}
}

func TestOutline(t *testing.T) {
	cases := []struct {
		entry string
		code  string
		want  lang.Outline
	}{
		{entry: "c", want: lang.Outline{Files: []string{"c/a.cue", "c/debug.cue", "cue.mod/module.cue", "lib/x.cue", "more/x.cue"}, Inputs: []string{"b", "debug"}}},
		{entry: "d", want: lang.Outline{Files: []string{"cue.mod/module.cue", "d/a.cue", "lib/x.cue"}}},
		{entry: "c/a_test.cue", want: lang.Outline{Files: []string{"c/a.cue", "c/a_test.cue", "c/debug.cue", "cue.mod/module.cue", "fixture/x.cue", "lib/x.cue", "more/x.cue"}, Inputs: []string{"b", "debug"}}},
		{entry: "j", want: lang.Outline{Files: []string{"j/l.libsonnet", "j/main.jsonnet", "j/t.txt", "n.libsonnet"}, Inputs: []string{"env", "region", "size", "zone"}}},
		{entry: "computed.jsonnet", want: lang.Outline{Files: []string{"computed.jsonnet", "n.libsonnet"}, Inputs: []string{"zone"}, Any: true}},
		{entry: "cycle/a.jsonnet", want: lang.Outline{Files: []string{"cycle/a.jsonnet", "cycle/b.libsonnet"}}},
		{entry: "expression/a.jsonnet", code: "import 'n.libsonnet'", want: lang.Outline{Files: []string{"expression/a.jsonnet", "n.libsonnet"}, Inputs: []string{"x", "zone"}}},
		{entry: "y", want: lang.Outline{Files: []string{"y/a.yaml", "y/b.json"}}},
	}
	fs := outlined()
	var shared render.Outliner
	for range 2 {
		for _, c := range cases {
			o := render.Options{FS: fs, Entry: c.entry}
			if c.code != "" {
				o.Inputs, o.Settings = map[string]string{"x": c.code}, lang.Settings{Code: []string{"x"}}
			}
			var alone render.Outliner
			for who, outliner := range map[string]*render.Outliner{"alone": &alone, "after others": &shared} {
				got, err := outliner.Outline(o)
				if err != nil {
					t.Fatalf("%s, %s: %v", c.entry, who, err)
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Errorf("%s, %s (-want +got):\n%s", c.entry, who, d)
				}
			}
			if _, err := shared.Outline(render.Options{FS: fs, Entry: "broken"}); err == nil {
				t.Fatal("a broken program has an outline")
			}
		}
	}
}

// TestOutlineAgain: what has changed is seen, whatever is kept.
func TestOutlineAgain(t *testing.T) {
	fs := outlined()
	var x render.Outliner
	for _, entry := range []string{"c", "j"} {
		if _, err := x.Outline(render.Options{FS: fs, Entry: entry}); err != nil {
			t.Fatal(err)
		}
	}
	fs["lib/x.cue"] = &fstest.MapFile{Data: []byte("package lib\nimport \"example.com/m/fixture\"\nx: fixture.x\n")}
	got, err := x.Outline(render.Options{FS: fs, Entry: "d"})
	if want := []string{"cue.mod/module.cue", "d/a.cue", "fixture/x.cue", "lib/x.cue"}; err != nil || cmp.Diff(want, got.Files) != "" {
		t.Errorf("after a change: %v, %v", got.Files, err)
	}
	fs["n.libsonnet"] = &fstest.MapFile{Data: []byte("1")}
	got, err = x.Outline(render.Options{FS: fs, Entry: "j"})
	if want := []string{"env", "region", "size"}; err != nil || cmp.Diff(want, got.Inputs) != "" {
		t.Errorf("after the change: %v, %v", got.Inputs, err)
	}
}

func TestIgnoreCovers(t *testing.T) {
	i := render.Ignore{Files: []string{"docs", "*.json", "apps/*/test.yaml"}}
	for file, want := range map[string]bool{
		"docs/a.yaml": true, "docs/deep/a.yaml": true, "docsy/a.yaml": false, "a.json": true, "sub/a.json": false,
		"apps/web/test.yaml": true, "apps/web/main.yaml": false, "x/docs/a.yaml": false,
	} {
		if got := i.Covers(file); got != want {
			t.Errorf("%s is covered: %t, want %t", file, got, want)
		}
	}
}
