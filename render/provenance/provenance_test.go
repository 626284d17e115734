package provenance_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/provenance"
	"github.com/writ-dev/writ/render/why"
)

// source is a rendered project, and who can be asked about it.
type source struct {
	asker  why.Asker
	all    []why.Rendering
	bundle *render.Bundle
}

func renderProject(t testing.TB, dir string, files map[string]string) source {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	project, err := render.LoadProject(dir)
	if err != nil {
		t.Fatal(err)
	}
	fsys := os.DirFS(dir)
	targets, err := project.Targets(fsys, render.Select{})
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		for _, i := range project.Images {
			target.Offers[i.Input()] = "image:1"
		}
	}
	bundles, err := render.All(t.Context(), targets, render.AllOptions{FS: fsys, Dir: "."})
	if err != nil {
		t.Fatal(err)
	}
	s := source{asker: why.Asker{FS: fsys, Dir: ".", Project: project}}
	for i, target := range targets {
		s.all = append(s.all, why.Rendering{Target: target, Bundle: bundles[i]})
	}
	if s.bundle, err = render.Merge(targets, bundles); err != nil {
		t.Fatal(err)
	}
	return s
}

// project has documents in all languages, from the library and not, with a
// namespace that no program gives, numbers, empty things and names that must be
// quoted.
var project = map[string]string{
	"writ.yaml": "units: {c: c.cue, j: j.jsonnet, y: y.yaml}\nnamespace: there\n",
	"c.cue": `package c

import "writ.dev/app"

_v: *"a" | string
web: app.#App & {name: "web", image: "web:1", replicas: 2, dependencies: db: service: "db:5432"}
map: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "map", labels: {"a/b.c": _v}}, data: {}, x: null}
`,
	"j.jsonnet": `local base = { data: { a: '1', b: std.toString(1 + 1) } };
[base { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'j%d' % i }, data+: { b+: 'x', n: '%d' % i } } for i in [1, 2]]
+ [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { password: 'hunter' + '2' } }]
`,
	"y.yaml": "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: thing, namespace: ns}\nspec: {f: 1.50, i: 12345678901234567890, e: [], list: [{a: 1}, [2, null]], \"no\": yes}\n",
}

// TestRecordTellsTheSame: what a record tells of every field is what the source
// tells.
func TestRecordTellsTheSame(t *testing.T) {
	for name, s := range map[string]source{
		"project":   renderProject(t, t.TempDir(), project),
		"guestbook": renderProject(t, "../../examples/guestbook", nil),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := render.WriteDir(dir, s.bundle.Documents); err != nil {
				t.Fatal(err)
			}
			for _, chains := range []bool{false, true} {
				record, err := provenance.New(s.bundle.Digest, s.all)
				if err != nil {
					t.Fatal(err)
				}
				if chains {
					if err := record.Explain(t.Context(), s.asker, s.all, 2); err != nil {
						t.Fatal(err)
					}
				}
				if err := record.Write(dir); err != nil {
					t.Fatal(err)
				}
				compare(t, s, dir, chains)
			}
		})
	}
}

func compare(t *testing.T, s source, dir string, chains bool) {
	t.Helper()
	store, err := provenance.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	fields := 0
	var questions []why.Question
	var answers []*why.Answer
	for _, rendering := range s.all {
		for _, d := range rendering.Bundle.Documents {
			k := d.Object.Key()
			want := why.Found{Rendering: rendering, Document: d}
			found, err := store.Find(t.Context(), why.Name{Kind: k.Kind + "." + k.Group, Namespace: k.Namespace, Name: k.Name})
			if k.Group == "" {
				found, err = store.Find(t.Context(), why.Name{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name})
			}
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(found.Document.Object.JSON(), d.Object.JSON()) || found.Document.Origin.Path != d.Origin.Path || found.Document.Origin.Pos != d.Origin.Pos {
				t.Errorf("found %s at %s %s, want %s at %s %s", found.Document.Object.JSON(), found.Document.Origin.Path, found.Document.Origin.Pos, d.Object.JSON(), d.Origin.Path, d.Origin.Pos)
			}
			for at, v := range found.Document.Origin.Value().All() {
				fields++
				if got, want := found.Document.Origin.Field(at), d.Origin.Field(at); got != want {
					t.Errorf("%s %s is from %s, want %s", k, at, got, want)
				}
				answer, err := store.Answer(why.Question{Found: found, Path: at})
				if err != nil {
					t.Fatal(err)
				}
				if leaf := len(v.Fields)+len(v.Items) == 0; !chains || !leaf {
					if len(answer.Steps) != 1 || answer.Steps[0].Pos != d.Origin.Field(at) || answer.Gap == "" {
						t.Errorf("%s %s: %+v", k, at, answer)
					}
					continue
				}
				questions, answers = append(questions, why.Question{Found: want, Path: at}), append(answers, answer)
			}
		}
	}
	real, err := s.asker.AskAll(t.Context(), questions)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range real {
		if strings.HasPrefix(want.Document, "Secret ") {
			for i := range want.Steps {
				x := &want.Steps[i]
				x.Value, x.Text, x.Note, x.Source = nil, "", "", ""
			}
		}
		if diff := cmp.Diff(want, answers[i]); diff != "" {
			t.Errorf("%s %s (-source +record):\n%s", want.Document, want.Path, diff)
		}
	}
	if fields < 50 {
		t.Errorf("only %d fields were compared", fields)
	}
}

// TestSecretsAreNotRecorded: neither what a secret holds nor the line of source
// that it is written in.
func TestSecretsAreNotRecorded(t *testing.T) {
	s := renderProject(t, t.TempDir(), project)
	record, err := provenance.New(s.bundle.Digest, s.all)
	if err != nil {
		t.Fatal(err)
	}
	if err := record.Explain(t.Context(), s.asker, s.all, 0); err != nil {
		t.Fatal(err)
	}
	b, err := record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte("hunter")) {
		t.Error("the record holds the secret")
	}
	again, err := provenance.New(s.bundle.Digest, s.all)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Explain(t.Context(), s.asker, s.all, 1); err != nil {
		t.Fatal(err)
	}
	if b2, _ := again.Encode(); !bytes.Equal(b, b2) {
		t.Error("another record of the same")
	}
}

func TestStaleAndDamaged(t *testing.T) {
	s := renderProject(t, t.TempDir(), project)
	thing := why.Name{Kind: "thing", Name: "thing"}
	for name, c := range map[string]struct {
		change     func(dir string) error
		code, want string
	}{
		"nothing": {change: func(string) error { return nil }},
		"written otherwise": {change: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "ns/thing.example.com-thing.yaml"), []byte("{kind: Thing, apiVersion: example.com/v1, metadata: {namespace: ns, name: thing}, spec: {list: [{a: 1}, [2, null]], e: [], i: 12345678901234567890, f: 1.5, \"no\": true}}"), 0o644)
		}},
		"changed": {change: func(dir string) error {
			path := filepath.Join(dir, "ns/thing.example.com-thing.yaml")
			b, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, bytes.Replace(b, []byte("a: 1"), []byte("a: 2"), 1), 0o644)
			}
			return err
		}, code: provenance.CodeStale, want: "ns/thing.example.com-thing.yaml: Thing.example.com ns/thing: the document is not the one that the provenance is of"},
		"gone": {change: func(dir string) error { return os.RemoveAll(filepath.Join(dir, "ns")) }, code: provenance.CodeStale, want: "is not there"},
		"no record": {change: func(dir string) error { return os.Remove(filepath.Join(dir, provenance.File)) },
			code: provenance.CodeUnreadable, want: "there is no provenance"},
		"cut": {change: func(dir string) error { return os.Truncate(filepath.Join(dir, provenance.File), 100) },
			code: provenance.CodeUnreadable, want: "is damaged"},
		"of the future": {change: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, provenance.File), []byte(`{"version": 9, "documents": 1}`), 0o644)
		}, code: provenance.CodeUnreadable, want: "has format 9, and this Writ reads 1"},
		"one place less": {change: func(dir string) error {
			path := filepath.Join(dir, provenance.File)
			b, err := os.ReadFile(path)
			if err == nil {
				b = bytes.ReplaceAll(b, []byte("]}"), []byte(",0]}"))
				err = os.WriteFile(path, b, 0o644)
			}
			return err
		}, code: provenance.CodeUnreadable, want: "is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := render.WriteDir(dir, s.bundle.Documents); err != nil {
				t.Fatal(err)
			}
			record, err := provenance.New(s.bundle.Digest, s.all)
			if err != nil {
				t.Fatal(err)
			}
			if err := record.Write(dir); err != nil {
				t.Fatal(err)
			}
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
			store, err := provenance.Open(dir)
			if err == nil {
				defer store.Close()
				_, err = store.Find(t.Context(), thing)
			}
			if c.code == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			l := diag.From(err)
			if len(l) != 1 || l[0].Code != c.code || !strings.Contains(l[0].Error(), c.want) || l[0].Hint == "" {
				t.Errorf("got %+v, want %s: %s", l, c.code, c.want)
			}
		})
	}
}

// FuzzParse: no input is a panic, and what is a record is one again.
func FuzzParse(f *testing.F) {
	s := renderProject(f, f.TempDir(), project)
	record, err := provenance.New(s.bundle.Digest, s.all)
	if err != nil {
		f.Fatal(err)
	}
	if err := record.Explain(f.Context(), s.asker, s.all, 0); err != nil {
		f.Fatal(err)
	}
	b, err := record.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"version":1,"files":[],"units":[""],"documents":[{"at":[[0,1,1]]}]}`))
	f.Add([]byte(fmt.Sprintf(`{"version":1,"files":["a"],"units":[""],"steps":[{"kind":"gap","pos":[0,1]}],"documents":[{"at":[0],"why":[[%d,0,0]]}]}`, 1<<40)))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := provenance.Parse(b)
		if err != nil {
			return
		}
		out, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := provenance.Parse(out)
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if out2, err := again.Encode(); err != nil || !bytes.Equal(out, out2) {
			t.Errorf("%s\nis not\n%s: %v", out2, out, err)
		}
	})
}
