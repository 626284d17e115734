package units_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/units"
)

func program(name string, inputs map[string]string, reads ...lang.Read) units.Program {
	return units.Program{
		Target: render.Target{Unit: name, Entry: name, Offers: inputs},
		Bundle: &render.Bundle{Reads: reads, Inputs: inputs},
	}
}

func TestIndex(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "real/sub"), 0o755),
		os.WriteFile(filepath.Join(dir, "real/sub/x"), nil, 0o644),
		os.Symlink("real", filepath.Join(dir, "now")),
		os.Symlink("real/sub/x", filepath.Join(dir, "file")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	x := units.NewIndex(dir, []units.Program{
		program("a", nil, lang.Read{File: "a/", SHA256: "1"}, lang.Read{File: "a/*.cue", SHA256: "2"}, lang.Read{File: "a/a.cue", SHA256: "3"}),
		program("b", nil, lang.Read{File: "@writ/x", SHA256: "1"}, lang.Read{File: "vendor/x"}, lang.Read{File: "lib/x", SHA256: "4"}, lang.Read{File: "lib/*.cue", SHA256: "4"}),
		program("c", nil, lang.Read{File: "now/sub/x", SHA256: "5"}, lang.Read{File: "now/sub/", SHA256: "5"}, lang.Read{File: "file", SHA256: "5"}),
	})
	for file, want := range map[string]string{
		"a/a.cue":     "map[0:[reads a/a.cue lists a]]",
		"a/new.cue":   "map[0:[lists a]]",
		"a/new.txt":   "map[0:[lists a]]",
		"a":           "map[0:[reads a/a.cue]]",
		"a.cue":       "map[]",
		"vendor/x":    "map[1:[looks for vendor/x]]",
		"vendor/./x":  "map[1:[looks for vendor/x]]",
		"vendor":      "map[1:[looks for vendor/x]]",
		"lib/new.cue": "map[1:[lists lib]]",
		"lib/new.txt": "map[]",
		"real/sub/x":  "map[2:[reads file reads now/sub/x lists now/sub]]",
		"real/sub/y":  "map[2:[lists now/sub]]",
		"now/sub/x":   "map[2:[reads now/sub/x lists now/sub]]",
		"file":        "map[2:[reads file]]",
		".":           "map[0:[reads a/a.cue] 1:[reads lib/x looks for vendor/x] 2:[reads file reads now/sub/x]]",
		"../x":        "map[]",
		"@writ/x":     "map[]",
	} {
		if got := fmt.Sprint(x.Users(file)); got != want {
			t.Errorf("users of %s: %s, want %s", file, got, want)
		}
	}
}

func TestChanges(t *testing.T) {
	base := fstest.MapFS{"a/a.yaml": {Data: []byte("1")}, "gone/x.yaml": {Data: []byte("1")}}
	read := func(fsys fstest.MapFS, name string) lang.Read {
		r := lang.Read{File: name}
		r.SHA256 = r.Again(fsys, nil)
		return r
	}
	was := render.Target{Unit: "a", Entry: "a", Offers: map[string]string{"n": "1", "other": "1"}}
	for _, c := range []struct {
		name  string
		now   fstest.MapFS
		reads []string
		edit  func(*units.Program)
		want  []string
	}{
		{name: "nothing", now: base, reads: []string{"a/", "a/a.yaml", "vendor/x"}},
		{name: "content", now: fstest.MapFS{"a/a.yaml": {Data: []byte("2")}}, reads: []string{"a/", "a/a.yaml"}, want: []string{"reads a/a.yaml"}},
		{name: "a file more", now: fstest.MapFS{"a/a.yaml": {Data: []byte("1")}, "a/b.yaml": {}}, reads: []string{"a/", "a/*.yaml", "a/a.yaml", "a/b.yaml"}, want: []string{"reads a/b.yaml", "lists a"}},
		{name: "a file less", now: fstest.MapFS{}, reads: []string{"gone/x.yaml"}, want: []string{"looks for gone/x.yaml"}},
		{name: "input that it has", now: base, edit: func(p *units.Program) { p.Offers["n"] = "2"; p.Bundle.Inputs["n"] = "2" }, want: []string{"takes n"}},
		{name: "input that it has not", now: base, edit: func(p *units.Program) { p.Offers["other"] = "2" }},
		{name: "input that is offered no more", now: base, edit: func(p *units.Program) { delete(p.Offers, "other") }, want: []string{"takes other"}},
		{name: "input that is new", now: base, edit: func(p *units.Program) { p.Inputs = map[string]string{"new": "1"}; p.Bundle.Inputs["new"] = "1" }, want: []string{"takes new"}},
		{name: "namespace", now: base, edit: func(p *units.Program) { p.Namespace = "x" }, want: []string{"unlike writ.yaml"}},
		{name: "entry", now: base, edit: func(p *units.Program) { p.Entry = "b" }, want: []string{"unlike writ.yaml"}},
		{name: "another unit", now: base, edit: func(p *units.Program) { p.Unit = "b" }, want: []string{"new"}},
		{name: "another environment", now: base, edit: func(p *units.Program) { p.Environment = "dev" }, want: []string{"new"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := program("a", map[string]string{"n": "1"})
			p.Offers = map[string]string{"n": "1", "other": "1"}
			for _, name := range c.reads {
				p.Bundle.Reads = append(p.Bundle.Reads, read(c.now, name))
			}
			if c.edit != nil {
				c.edit(&p)
			}
			before := units.Before{FS: base, Targets: []render.Target{was}}
			var got []string
			for _, u := range before.Changes(p) {
				got = append(got, u.String())
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if gone := before.Gone([]units.Program{p}); (len(gone) == 1) != (len(got) == 1 && got[0] == "new") {
				t.Errorf("gone: %v", gone)
			}
			before.Same = func(lang.Read) bool { return true }
			if n := len(before.Changes(p)); c.reads != nil && n > 0 {
				t.Errorf("%d changes are not overlooked", n)
			}
		})
	}
}
