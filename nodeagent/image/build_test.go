package image

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeProgram makes a Go module with a program in it.
func writeProgram(t *testing.T, dir, main string) string {
	t.Helper()
	for name, data := range map[string]string{
		"go.mod": "module example.com/hello\n\ngo 1.24\n", "cmd/greet/main.go": main,
		"cmd/greet/text.txt": "hello", "text/text.go": "package text\n\nconst Name = \"world\"\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "cmd", "greet")
}

const greet = "package main\n\nimport (\n\t_ \"embed\"\n\n\t\"example.com/hello/text\"\n)\n\n//go:embed text.txt\nvar hello string\n\nfunc main() { println(hello, text.Name) }\n"

func TestBuildIsReproducible(t *testing.T) {
	s, other := open(t), open(t)
	dir := writeProgram(t, t.TempDir(), greet)
	first, err := s.Build(t.Context(), BuildOptions{Dir: dir, Ref: "team/greet"})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := writeProgram(t, filepath.Join(t.TempDir(), "deeper", "still"), greet)
	second, err := other.Build(t.Context(), BuildOptions{Dir: elsewhere, Ref: "team/greet"})
	if err != nil {
		t.Fatal(err)
	}
	if first != second || !strings.HasPrefix(first.Ref, "team/greet@sha256:") {
		t.Errorf("two builds of the same sources: %+v and %+v", first, second)
	}
	root, err := s.Unpack(t.Context(), first.Ref)
	if err != nil {
		t.Fatal(err)
	}
	if len(root.Layers) != 1 || !slices.Equal(root.Config.Entrypoint, []string{"/bin/greet"}) || root.Digest != first.Digest {
		t.Errorf("%+v", root)
	}
	if info, err := os.Stat(filepath.Join(root.Layers[0], "bin", "greet")); err != nil || info.Mode().Perm() != 0o755 || info.ModTime().Unix() != 0 {
		t.Errorf("program: %+v, %v", info, err)
	}
	if info, err := os.Stat(filepath.Join(root.Layers[0], "tmp")); err != nil || info.Mode() != os.ModeDir|os.ModeSticky|0o777 {
		t.Errorf("/tmp: %v, %v", info, err)
	}
}

func TestBuildAgain(t *testing.T) {
	s := open(t)
	dir := writeProgram(t, t.TempDir(), greet)
	var steps []string
	build := func(ref string) Result {
		t.Helper()
		steps = nil
		r, err := s.Build(t.Context(), BuildOptions{Dir: dir, Ref: ref, Progress: func(s string) { steps = append(steps, strings.Fields(s)[0]) }})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := build("greet")
	if !slices.Equal(steps, []string{"compile", "link"}) {
		t.Errorf("steps of the first build: %q", steps)
	}
	if again := build("greet"); again != first || slices.Contains(steps, "link") {
		t.Errorf("unchanged: %+v, steps %q; want %+v, not linked", again, steps, first)
	}
	if named := build("hello:v2"); named.Digest != first.Digest || slices.Contains(steps, "link") {
		t.Errorf("another name: %+v, steps %q", named, steps)
	}
	// What only a dependency or an embedded file changes counts too.
	for file, data := range map[string]string{
		filepath.Join(dir, "text.txt"):                       "good day",
		filepath.Join(dir, "..", "..", "text", "text.go"):    "package text\n\nvar Name = \"all\"\n",
		filepath.Join(dir, "..", "..", "cmd/greet/other.go"): "package main\n\nvar _ = \"nothing\"\n\nfunc init() { println() }\n",
	} {
		before, err := s.Resolve("greet")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		if changed := build("greet"); changed.Digest == before.Digest || !slices.Contains(steps, "link") {
			t.Errorf("after changing %s: the same image, steps %q", filepath.Base(file), steps)
		}
	}
	// An image that is gone is built again.
	if err := s.Remove("greet"); err != nil {
		t.Fatal(err)
	}
	last := build("greet")
	if _, err := s.Unpack(t.Context(), last.Ref); err != nil {
		t.Error(err)
	}
}

func TestBuildErrors(t *testing.T) {
	s := open(t)
	broken := writeProgram(t, t.TempDir(), "package main\n\nfunc main() { undefinedThing() }\n")
	missing := writeProgram(t, t.TempDir(), "package main\n\nimport _ \"example.com/hello/nothing\"\n\nfunc main() {}\n")
	library := filepath.Join(writeProgram(t, t.TempDir(), greet), "..", "..", "text")
	empty := t.TempDir()
	for _, test := range []struct {
		name, dir, ref, arch string
		want                 []string
	}{
		{"compile error", broken, "x", "", []string{"build image x from " + broken, "main.go:3:15: undefined: undefinedThing", "example.com/hello/cmd/greet"}},
		{"missing package", missing, "x", "", []string{"build image x", "example.com/hello/nothing"}},
		{"library", library, "x", "", []string{"example.com/hello/text is not a program"}},
		{"no module", empty, "x", "", []string{"build image x", "go"}},
		{"no directory", filepath.Join(empty, "none"), "x", "", []string{"no such file"}},
		{"file", filepath.Join(broken, "main.go"), "x", "", []string{"is not a directory"}},
		{"digest", broken, "x@sha256:" + strings.Repeat("0", 64), "", []string{"give a name"}},
		{"bad name", broken, "X", "", []string{`image reference "X"`}},
		{"bad platform", broken, "x", "z80", []string{"z80"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := s.Build(t.Context(), BuildOptions{Dir: test.dir, Ref: test.ref, Arch: test.arch})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
	t.Run("no go tool", func(t *testing.T) {
		t.Setenv("PATH", empty)
		if _, err := s.Build(t.Context(), BuildOptions{Dir: broken, Ref: "x"}); err == nil || !strings.Contains(err.Error(), "go tool is not on PATH") {
			t.Errorf("error %v", err)
		}
	})
}
