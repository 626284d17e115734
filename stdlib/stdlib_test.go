package stdlib_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/check"
)

// renderFile renders one file below testdata.
func renderFile(t testing.TB, entry string, inputs map[string]string) *render.Bundle {
	t.Helper()
	root, err := os.OpenRoot("testdata")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	b, err := render.Render(t.Context(), render.Options{FS: root.FS(), Entry: entry, Inputs: inputs})
	if err != nil {
		t.Fatalf("%s: %v", entry, err)
	}
	return b
}

// TestTwins renders the same apps in both languages.
func TestTwins(t *testing.T) {
	for name, want := range map[string]struct {
		documents int
		inputs    map[string]string
	}{
		"small": {documents: 2},
		"full":  {documents: 6, inputs: map[string]string{"image_web": "web@sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}},
		"many":  {documents: 4*3 + 3},
	} {
		t.Run(name, func(t *testing.T) {
			cue := renderFile(t, name+"/app.cue", want.inputs)
			jsonnet := renderFile(t, name+"/app.jsonnet", want.inputs)
			if d := cmp.Diff(string(cue.YAML()), string(jsonnet.YAML())); d != "" {
				t.Errorf("CUE and Jsonnet differ (-CUE +Jsonnet):\n%s", d)
			}
			if cue.Digest != jsonnet.Digest {
				t.Errorf("digests differ: %s and %s", cue.Digest, jsonnet.Digest)
			}
			if len(cue.Documents) != want.documents {
				t.Errorf("%d documents, want %d", len(cue.Documents), want.documents)
			}
			for _, b := range []*render.Bundle{cue, jsonnet} {
				report, err := check.Bundle(t.Context(), b, check.Options{})
				if err != nil {
					t.Errorf("check: %v", err)
				}
				if report.Checked != len(b.Documents) {
					t.Errorf("%d of %d checked", report.Checked, len(b.Documents))
				}
			}
		})
	}
}

// TestOriginIsTheUsersFile: what the library writes is found where the user
// asked for it.
func TestOriginIsTheUsersFile(t *testing.T) {
	for _, file := range []string{"full/app.cue", "full/app.jsonnet"} {
		b := renderFile(t, file, map[string]string{"image_web": "web@sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"})
		for _, d := range b.Documents {
			if d.Origin.Pos.File != file {
				t.Errorf("%s: %s is at %v", file, d.Object.Key(), d.Origin.Pos)
			}
			if pos := d.Origin.Field(".spec.target.service"); pos.File != file {
				t.Errorf("%s: a field of %s is at %v", file, d.Object.Key(), pos)
			}
		}
	}
}

func TestGolden(t *testing.T) {
	const golden = "testdata/full/app.golden.yaml"
	got := renderFile(t, "full/app.cue", map[string]string{"image_web": "web@sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}).YAML()
	if os.Getenv("WRIT_UPDATE") != "" {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("golden (-want +got):\n%s", d)
	}
}

// TestMistakes checks that each mistake is explained, in both languages.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		name, cue, jsonnet string
		wantCUE, want      string
	}{
		{"unknown field", `replica: 2`, `replica: 2`, "replica: field not allowed", "has no field replica; it has args"},
		{"bad name of a port", `ports: "HTTP": port: 80`, `ports: { HTTP: { port: 80 } }`, "ports.HTTP: field not allowed", "ports.HTTP: the name of a port is lower-case"},
		{"port that is no number", `ports: http: port: "80"`, `ports: { http: { port: '80' } }`, `ports.http.port`, `ports.http.port: must be a whole number from 1 to 65535, not "80"`},
		{"negative replicas", `replicas: -1`, `replicas: -1`, "replicas is a whole number, 0 or more", "replicas: must be a whole number"},
		{"number in env", `env: A: 1`, `env: { A: 1 }`, "put numbers in quotes", "put numbers in quotes"},
		{"dependency without port", `dependencies: api: service: "api"`, `dependencies: { api: { service: 'api' } }`, `a service is written "name:port"`, `a service is written "name:port"`},
		{"relative probe", `probes: http: path: "x"`, `probes: { http: { path: 'x' } }`, "a path begins with /", "a path begins with /"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for file, want := range map[string]string{"app.cue": c.wantCUE, "main.jsonnet": c.want} {
				dir := t.TempDir()
				text := "package main\n\nimport \"writ.dev/app\"\n\nweb: app.#App & {name: \"web\", image: \"x\"}\nweb: " + c.cue + "\n"
				if file == "main.jsonnet" {
					text = "local writ = import 'writ.libsonnet';\n{ web: writ.app('web', { image: 'x',\n" + c.jsonnet + " }) }\n"
				}
				if err := os.WriteFile(dir+"/"+file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				root, err := os.OpenRoot(dir)
				if err != nil {
					t.Fatal(err)
				}
				_, err = render.Render(t.Context(), render.Options{FS: root.FS()})
				_ = root.Close()
				list := diag.From(err)
				if len(list) == 0 || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: got %v, want %q", file, err, want)
				} else if list[0].Pos.File != file {
					t.Errorf("%s: the mistake is at %v", file, list[0].Pos)
				}
			}
		})
	}
}
