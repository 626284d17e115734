package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	for _, s := range []string{"", "name: a", "images: {web: {go: ./web}}", "inputs: &a {x: *a}", "? {a: b}\n: c", "a: b: c", "- - -", "<<: {name: x}", "\xff", "name: !!binary aGk="} {
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
