package jsonnet_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/jsonnet"
	"github.com/writ-dev/writ/lang/langtest"
)

func TestReusingCases(t *testing.T) { langtest.Run(t, jsonnet.Reusing(), "testdata/*.txtar") }

// TestReusingNoticesChanges changes one file after the other, between programs
// that share files, and expects what a new evaluator has.
func TestReusingNoticesChanges(t *testing.T) {
	files := map[string]string{
		"one.jsonnet":             "local l = import 'lib.libsonnet'; { a: l.a, text: l.text, env: l.env, v: import 'v.libsonnet' }",
		"two.jsonnet":             "function(env='none') { l: (import 'lib.libsonnet') + { env: env } }",
		"three.jsonnet":           "(import 'other.libsonnet') + { e: std.extVar('env') }",
		"lib.libsonnet":           "{ a: (import 'deep.libsonnet').n, text: importstr 'text', bin: importbin 'text', env:: 'fixed' }",
		"other.libsonnet":         "{ a: (import 'lib.libsonnet').a, hidden:: import 'missing.libsonnet', data: import 'data.json' }",
		"deep.libsonnet":          "{ n: 1 }",
		"text":                    "one",
		"data.json":               "[1]",
		"vendor/v.libsonnet":      "'vendored'",
		"vendor/unused.libsonnet": "1",
	}
	changes := []map[string]string{
		{},
		{"text": "two"},
		{"deep.libsonnet": "{ n: 2, e:: std.extVar('env') }"},
		{"deep.libsonnet": "{ n: std.extVar('env') }"},
		{"v.libsonnet": "'mine'"},
		{"v.libsonnet": ""},
		{"data.json": "[2]"},
		{"missing.libsonnet": "{ here: true }"},
		{"lib.libsonnet": "{ a: error 'no', text: 1 }"},
		{"lib.libsonnet": "{ a: 1.00000000000000000001, text: 1 }"},
		{"lib.libsonnet": "{ a: import 'two.jsonnet', text: 1, env:: 1 }"},
		{"text": "", "lib.libsonnet": "{ a: 1, text: importstr 'text', env:: 1 }"},
		{"text": "three"},
		{"one.jsonnet": "{ a: 1 }"},
	}
	e := jsonnet.Reusing()
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
			{Entry: "one.jsonnet"}, {Entry: "two.jsonnet"},
			{Entry: "two.jsonnet", Inputs: map[string]string{"env": "prod"}}, {Entry: "two.jsonnet"},
			{Entry: "three.jsonnet", Inputs: map[string]string{"env": "a"}},
			{Entry: "three.jsonnet", Inputs: map[string]string{"env": "b"}}, {Entry: "three.jsonnet"},
			{Entry: "one.jsonnet", Offers: map[string]string{"env": "b"}},
		} {
			p.FS = fsys
			want, wantErr := jsonnet.Evaluator{}.Eval(t.Context(), p)
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
