package render

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// stream is an evaluator for tests: JSON values, one after the other.
type stream struct{}

func (stream) Eval(_ context.Context, p lang.Program) (*lang.Result, error) {
	text, err := fs.ReadFile(p.FS, p.Entry)
	if err != nil {
		return nil, err
	}
	values, err := lang.ParseJSONStream(p.Entry, text)
	if err != nil {
		return nil, err
	}
	return &lang.Result{Value: lang.Value{Kind: lang.List, Items: values}}, nil
}

func renderText(t testing.TB, text string) (*Bundle, error) {
	t.Helper()
	return Render(t.Context(), Options{
		FS:         fstest.MapFS{"a.json": {Data: []byte(text)}},
		Entry:      "a.json",
		Evaluators: map[Language]lang.Evaluator{YAML: stream{}},
	})
}

func TestRender(t *testing.T) {
	b, err := renderText(t, `
{"z": {"deep": [{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{"n":"9007199254740993"},"gone":null}]},
 "list": {"apiVersion":"v1","kind":"List","items":[
   {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"other"},"spec":{"big":12345678901234567890}},
   {"apiVersion":"v1","kind":"ConfigMapList","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}]}]},
 "empty": null, "config": {"kind": "just a word"}}
{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t"}}
{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other"}}
null`)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other"}}
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}}
{"apiVersion":"v1","data":{"n":"9007199254740993"},"kind":"ConfigMap","metadata":{"name":"b","namespace":"default"}}
{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"other"},"spec":{"big":12345678901234567890}}
{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t"}}
`
	if d := cmp.Diff(want, string(b.JSONLines())); d != "" {
		t.Errorf("documents (-want +got):\n%s", d)
	}
	again, err := renderText(t, strings.ReplaceAll(string(b.JSON()), "\n", " "))
	if err != nil {
		t.Fatal(err)
	}
	if again.Digest != b.Digest || !strings.HasPrefix(b.Digest, "sha256:") {
		t.Errorf("digest of the same documents is %s, then %s", b.Digest, again.Digest)
	}
	if pos := b.Documents[2].Origin.Field(".data.n"); pos != (diag.Position{File: "a.json", Line: 2, Column: 87}) {
		t.Errorf("position of .data.n is %v", pos)
	}
}

func TestRenderRefuses(t *testing.T) {
	for _, c := range []struct {
		name, text, want, hint string
		notes                  int
	}{
		{"nothing", `{"a":1,"b":[true]}`, "a.json: the program has no document: its result is a list of 1", "apiVersion and kind", 0},
		{"no apiVersion", `{"x":{"kind":"Pod","metadata":{"name":"a"}}}`, "a.json:1:6: [0].x: document has no apiVersion", "add apiVersion", 0},
		{"no kind", `{"apiVersion":"v1","metadata":{"name":"a"}}`, "a.json:1:1: [0]: document has no kind", "add kind", 0},
		{"no metadata", `{"apiVersion":"v1","kind":"Pod"}`, "a.json:1:1: [0]: Pod has no metadata", "", 0},
		{"no name", `{"apiVersion":"v1","kind":"Pod","metadata":{}}`, "a.json:1:33: [0].metadata: Pod has no name", "add metadata.name", 0},
		{"generated name", `{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"a-"}}`, "a.json:1:33: [0].metadata: Pod has no name", "replace metadata.generateName", 0},
		{"label that is a bool", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"release":false}}}`, "a.json:1:66: Pod a: .metadata.labels.release: false is a boolean, and labels are strings", `quote it: "false"`, 0},
		{"list of something", `{"apiVersion":"v1","kind":"List","items":[1]}`, "a.json:1:43: [0].items[0]: an item of a List must be a document", "", 0},
		{"items that are no list", `{"apiVersion":"v1","kind":"List","items":{}}`, "must be a list", "", 0},
		{"the same twice", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}` + "\n" + `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"default"}}`,
			"a.json:2:1: Pod default/a: is written twice", "another name", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := renderText(t, c.text)
			list := diag.From(err)
			if len(list) != 1 || !strings.Contains(list[0].Error(), c.want) || !strings.Contains(list[0].Hint, c.hint) || len(list[0].Notes) != c.notes {
				t.Errorf("got %q, hint %q; want %q", list.Error(), list.Error(), c.want)
			}
		})
	}
}

func TestDetect(t *testing.T) {
	files := func(names ...string) fstest.MapFS {
		m := fstest.MapFS{}
		for _, n := range names {
			m[n] = &fstest.MapFile{}
		}
		return m
	}
	for _, c := range []struct {
		name  string
		fs    fstest.MapFS
		entry string
		want  Language
		err   string
	}{
		{"cue", files("a.cue", "b.yaml"), ".", CUE, ""},
		{"jsonnet", files("main.jsonnet", "lib.libsonnet"), ".", Jsonnet, ""},
		{"yaml", files("a.yml", "README.md"), ".", YAML, ""},
		{"yaml below", files("k8s/a.yml", "README.md"), ".", "", "nothing to render"},
		{"files", files("x/y.jsonnet"), "x/y.jsonnet", Jsonnet, ""},
		{"both", files("a.cue", "main.jsonnet"), ".", "", "not clear which is the program"},
		{"another jsonnet", files("app.jsonnet"), ".", "", "nothing to render"},
		{"only the project file", files("writ.yaml", ".git/x.json"), ".", "", "nothing to render"},
		{"absent", files("a.cue"), "b", "", "no such file or directory: b"},
		{"what is this", files("a.toml"), "a.toml", "", "no language has this file extension"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Detect(c.fs, c.entry)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %q, %v; want %q, %q", got, err, c.want, c.err)
			}
		})
	}
}

func TestOriginField(t *testing.T) {
	v, err := lang.ParseJSON("a.json", []byte(`{
"metadata": {"labels": {"a.b/c": "x"}},
"spec": {
"ports": [
{"port": 80},
{"port": 53, "protocol": "UDP",
"name": "dns"}
], "args": ["a",
"b"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	o := NewOrigin(diag.Position{File: "start.json", Line: 1}, "", v)
	for path, line := range map[string]int{
		`.metadata.labels["a.b/c"]`:                  2,
		`.metadata.labels["nope"]`:                   2,
		".spec.ports[1].name":                        7,
		".spec.ports[port=53,protocol=UDP].name":     7,
		".spec.ports[port=80,protocol=TCP].nodePort": 5,
		".spec.ports[port=99,protocol=TCP].nodePort": 4,
		".spec.args[1]":                              9,
		".spec.args[7]":                              8,
		".spec.nothing.at.all":                       3,
		".spec.ports[":                               4,
		"]]":                                         1,
		`.spec["`:                                    3,
	} {
		if got := o.Field(path); got.Line != line {
			t.Errorf("Field(%q) is at line %d, want %d", path, got.Line, line)
		}
	}
	// What the library wrote is found at the user's nearest place.
	lib := NewOrigin(diag.Position{File: "app.cue", Line: 3}, "", lang.Value{Kind: lang.Object, Pos: diag.Position{File: lang.LibraryPrefix + "app.cue", Line: 99}, Fields: []lang.Field{
		{Name: "image", Pos: diag.Position{File: lang.LibraryPrefix + "app.cue", Line: 98}, Value: lang.Value{Kind: lang.String, Text: "x", Pos: diag.Position{File: "app.cue", Line: 5}}},
		{Name: "kind", Pos: diag.Position{File: lang.LibraryPrefix + "app.cue", Line: 97}, Value: lang.Value{Kind: lang.String, Text: "Pod"}},
	}})
	if got := lib.Field(".image"); got.File != "app.cue" || got.Line != 5 {
		t.Errorf("a value from the user is at %v", got)
	}
	if got := lib.Field(".kind"); got.File != "app.cue" || got.Line != 3 {
		t.Errorf("a value from the library is at %v", got)
	}
}

// TestRenderYAML takes what people write for kubectl through the real front
// end, and back through our own YAML.
func TestRenderYAML(t *testing.T) {
	const text = `---
# nothing here
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c}
  data: {a: 'no', b: "0755", y: on the way}
---
apiVersion: v1
kind: Namespace
metadata:
  name: other
`
	render := func(text string) *Bundle {
		t.Helper()
		b, err := Render(t.Context(), Options{FS: fstest.MapFS{"k8s/a.yaml": {Data: []byte(text)}, "k8s/writ.yaml": {Data: []byte("name: x")}}, Entry: "k8s"})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := render(text)
	want := `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other"}}
{"apiVersion":"v1","data":{"a":"no","b":"0755","y":"on the way"},"kind":"ConfigMap","metadata":{"name":"c","namespace":"default"}}
`
	if d := cmp.Diff(want, string(b.JSONLines())); d != "" {
		t.Errorf("documents (-want +got):\n%s", d)
	}
	if pos := b.Documents[1].Origin.Field(".data.b"); pos.File != "k8s/a.yaml" || pos.Line != 10 {
		t.Errorf("position of .data.b is %v", pos)
	}
	if again := render(string(b.YAML())); again.Digest != b.Digest {
		t.Errorf("our own YAML reads as other documents:\n%s", b.YAML())
	}
}

// TestDetectIgnoresTests checks that tests beside data do not make it a program.
func TestDetectIgnoresTests(t *testing.T) {
	fsys := fstest.MapFS{"a.yaml": {}, "a_test.cue": {}, "b_test.jsonnet": {}}
	if l, err := Detect(fsys, "."); l != YAML {
		t.Errorf("the language is %q, %v", l, err)
	}
	delete(fsys, "a.yaml")
	if l, err := Detect(fsys, "."); err == nil || strings.Contains(err.Error(), "_test") {
		t.Errorf("with tests alone the language is %q, %v", l, err)
	}
}

func TestLookup(t *testing.T) {
	v, err := lang.ParseJSON("x", []byte(`{"spec":{"ports":[{"name":"a","port":1},{"name":"b","port":2}],"a.b":null}}`))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"": `{"spec":{"a.b":null,"ports":[{"name":"a","port":1},{"name":"b","port":2}]}}`, ".spec.ports[name=b].port": "2", ".spec.ports[0].name": `"a"`,
		`.spec["a.b"]`: "null", ".spec.ports[name=c].port": "none", ".spec.ports[7]": "none", ".nope.x": "none",
	} {
		got := "none"
		if found, ok := Lookup(v, path); ok {
			got = string(found.AppendJSON(nil))
		}
		if got != want {
			t.Errorf("%q is %s, want %s", path, got, want)
		}
	}
}
