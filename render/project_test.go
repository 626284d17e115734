package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang/diag"
)

func TestParseProject(t *testing.T) {
	p, err := ParseProject([]byte("# the guestbook\nname: guestbook\nentry: ./config\nnamespace: shop\ninputs:\n  replicas: 2\n  beta: no\nimages:\n  web: {go: ./web}\n  front-end:\n    go: cmd/front\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Project{
		Name: "guestbook", Entry: "config", Namespace: "shop",
		Inputs: map[string]string{"replicas": "2", "beta": "no"},
		InputPos: map[string]diag.Position{
			"replicas": {File: "writ.yaml", Line: 6, Column: 13},
			"beta":     {File: "writ.yaml", Line: 7, Column: 9},
		},
		Images: []Image{
			{Name: "web", Go: "web", Pos: diag.Position{File: "writ.yaml", Line: 9, Column: 8}},
			{Name: "front-end", Go: "cmd/front", Pos: diag.Position{File: "writ.yaml", Line: 11, Column: 5}},
		},
	}
	if d := cmp.Diff(want, p); d != "" {
		t.Errorf("project (-want +got):\n%s", d)
	}
	if got := p.Images[1].Input(); got != "image_front_end" {
		t.Errorf("input is %q", got)
	}
}

func TestParseProjectRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"nam: x":                       `writ.yaml:1:1: .nam: unknown field`,
		"name: x\nname: y":             `writ.yaml:2:1: .name: is given twice`,
		"name: Big":                    `writ.yaml:1:7: .name: "Big" is no name`,
		"entry: ../x":                  `writ.yaml:1:8: .entry: "../x" is outside of the project`,
		"entry: /etc":                  `is outside of the project`,
		"images: {web: {go: ../../x}}": `is outside of the project`,
		"images: {web: {}}":            `writ.yaml:1:15: .images.web: says not what to build`,
		"images: {web: {rust: x}}":     `.images.web.rust: unknown field`,
		"images: {web: ./web}":         `writ.yaml:1:15: .images.web: must be a mapping`,
		"images: {Web: {go: x}}":       `an image's name is lower-case`,
		"inputs: [a]":                  `writ.yaml:1:9: .inputs: must be a mapping`,
		"inputs: {a: [1]}":             `.inputs.a: must be a string`,
		"inputs: {a: null}":            `.inputs.a: must be a string`,
		"inputs: {1: a}":               `a key must be a string`,
		"inputs: {image_web: x}\nimages: {web: {go: web}}": `input image_web is given under inputs as well`,
		"a: b: c":            `writ.yaml: mapping values are not allowed`,
		"name: x\n---\na: b": `has only one document`,
		"- a":                `must be a mapping`,
	} {
		_, err := ParseProject([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"", "# nothing\n", "---\n", "{}", "null"} {
		if p, err := ParseProject([]byte(text)); err != nil || p.Entry != "." {
			t.Errorf("%q: got %+v, %v", text, p, err)
		}
	}
}

func TestLoadProject(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "My App_2")
	if _, err := LoadProject(dir); err == nil || !strings.Contains(err.Error(), "no such directory") {
		t.Errorf("absent directory: %v", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := LoadProject(dir)
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "my-app-2" || p.Entry != "." || p.Namespace != "default" {
		t.Errorf("project is %+v", p)
	}
	if err := os.WriteFile(filepath.Join(dir, ProjectFile), []byte("inputs: {a: b}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err = LoadProject(dir); err != nil || p.Inputs["a"] != "b" || p.Name != "my-app-2" {
		t.Errorf("project is %+v, %v", p, err)
	}
}

func FuzzParseProject(f *testing.F) {
	for _, s := range []string{"", "name: a", "images: {web: {go: ./web}}", "inputs: &a {x: *a}", "? {a: b}\n: c", "a: b: c", "- - -", "<<: {name: x}", "\xff", "name: !!binary aGk=", "lint: {ignore: [{rule: A, files: ['[', ..], reason: a}]}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParseProject(text)
		if err != nil {
			if len(diag.From(err)) == 0 {
				t.Errorf("no diagnostic in %v", err)
			}
			return
		}
		if strings.HasPrefix(p.Entry, "/") || strings.HasPrefix(p.Entry, "..") {
			t.Errorf("entry %q leaves the project", p.Entry)
		}
	})
}

func TestTargets(t *testing.T) {
	p, err := ParseProject([]byte(`
name: shop
namespace: shop
inputs: {a: "1", b: "1", c: "1"}
units:
  apps: {entry: "apps/*", inputs: {c: "3"}}
  base: {entry: base, namespace: sys}
environments:
  dev: {namespace: dev, inputs: {b: "2"}, units: ["apps/[a-m]*"]}
  prod:
limits: {time: 90s, memory: 512MiB}
policies: [p/a.yaml]
schemas: [crds]
`))
	if err != nil {
		t.Fatal(err)
	}
	if p.Limits != (Limits{Time: 90 * time.Second, Memory: 512 << 20}) || len(p.Policies) != 1 {
		t.Errorf("limits %+v, policies %v", p.Limits, p.Policies)
	}
	if len(p.Schemas) != 1 || p.Schemas[0] != "crds" {
		t.Errorf("schemas %v", p.Schemas)
	}
	dir := fstest.MapFS{}
	for _, f := range []string{"apps/api/x.cue", "apps/web.jsonnet", "apps/web_test.jsonnet", "apps/notes.txt", "apps/.git/x.cue", "apps/_old/x.cue", "base/x.yaml"} {
		dir[f] = &fstest.MapFile{}
	}
	got, err := p.Targets(dir, Select{Environments: []string{"all"}, Inputs: map[string]string{"a": "9", "c": "9"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Target{
		{Unit: "apps/api", Environment: "dev", Entry: "apps/api", Namespace: "dev", Inputs: map[string]string{"c": "9"}, Offers: map[string]string{"a": "9", "b": "2", "c": "1"}},
		{Unit: "apps/api", Environment: "prod", Entry: "apps/api", Namespace: "shop", Inputs: map[string]string{"c": "9"}, Offers: map[string]string{"a": "9", "b": "1", "c": "1"}},
		{Unit: "apps/web", Environment: "prod", Entry: "apps/web.jsonnet", Namespace: "shop", Inputs: map[string]string{"c": "9"}, Offers: map[string]string{"a": "9", "b": "1", "c": "1"}},
		{Unit: "base", Environment: "prod", Entry: "base", Namespace: "sys", Inputs: map[string]string{}, Offers: map[string]string{"a": "9", "b": "1", "c": "9"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("targets (-want +got):\n%s", d)
	}
	sources := p.InputSources(got[0], Select{Inputs: map[string]string{"c": "9"}}, "c")
	wantSources := []InputSource{
		{Where: "--input", Value: "9"},
		{Where: "unit apps/api", Value: "3", Pos: diag.Position{File: "writ.yaml", Line: 6, Column: 39}},
		{Where: "project", Value: "1", Pos: diag.Position{File: "writ.yaml", Line: 4, Column: 29}},
	}
	if d := cmp.Diff(wantSources, sources); d != "" {
		t.Errorf("sources of c (-want +got):\n%s", d)
	}
	if got := p.InputSources(got[0], Select{}, "b"); len(got) != 2 || got[0].Where != "environment dev" || got[0].Value != "2" {
		t.Errorf("sources of b: %+v", got)
	}
}

func TestParseUnitsRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"units: {A: x}":                     `a unit's name is lower-case`,
		"units: {a: ../x}":                  `.units.a: "../x" is outside of the project`,
		"units: {a: {}}":                    `.units.a: says not what to evaluate`,
		"units: {a: {entry: '[x'}}":         `"[x" is no pattern`,
		"entry: x\nunits: {a: y}":           `the project has an entry as well`,
		"units: {a: {entry: x, input: {}}}": `.units.a.input: unknown field`,
		"environments: {all: }":             `not "all"`,
		"environments: {a: {units: x}}":     `.environments.a.units: must be a list`,
		"limits: {time: soon}":              `invalid duration`,
		"limits: {time: -1s}":               `is not positive`,
		"limits: {memory: 1TB}":             `"1TB" is no size`,
		"policies: x":                       `must be a list`,
		"images: {w: {go: w}}\nenvironments: {a: {inputs: {image_w: x}}}": `input image_w is given under environments.a.inputs as well`,
	} {
		_, err := ParseProject([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
