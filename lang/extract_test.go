package lang_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang"
)

func TestExtract(t *testing.T) {
	module := fstest.MapFS{
		"a/main.jsonnet":  {Data: []byte("1")},
		"a/unread.json":   {Data: []byte("2")},
		"cue/x.cue":       {Data: []byte("x: 1")},
		"cue/other.cue":   {Data: []byte("y: 1")},
		"cue/other.txt":   {Data: []byte("z")},
		"cue/sub.cue/f":   {Data: []byte("f")},
		"yaml/a.yaml":     {Data: []byte("a: 1")},
		"yaml/b.txt":      {Data: []byte("b")},
		"yaml/sub/c.yaml": {Data: []byte("c")},
	}
	read := func(p lang.Program) []lang.Read {
		r := lang.NewReader(p)
		for _, name := range []string{"a/main.jsonnet", "a/gone.json", "cue/x.cue", "yaml/a.yaml", "@writ/x"} {
			_, _ = r.ReadFile(name)
		}
		_, _ = r.ReadNames("cue", ".cue")
		_, _ = r.ReadNames("nowhere", ".cue")
		_, _ = r.ReadDir("yaml")
		return r.Reads()
	}
	library := fstest.MapFS{"x": {Data: []byte("library")}}
	reads := read(lang.Program{FS: module, Library: library})
	dir := filepath.Join(t.TempDir(), "copy")
	if err := lang.Extract(module, reads, dir); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if d := cmp.Diff(reads, read(lang.Program{FS: root.FS(), Library: library})); d != "" {
		t.Errorf("reads of the copy (-module +copy):\n%s", d)
	}
	for _, name := range []string{"a/unread.json", "cue/other.txt", "@writ/x"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was not read and is in the copy", name)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "cue/other.cue")); err != nil || len(b) > 0 {
		t.Errorf("cue/other.cue was listed and not read: got %q, %v", b, err)
	}
}

func TestExtractChanged(t *testing.T) {
	reads := []lang.Read{{File: "a.json", SHA256: lang.Digest(nil)}}
	if err := lang.Extract(fstest.MapFS{}, reads, t.TempDir()); err == nil {
		t.Error("a file that is gone was copied")
	}
}
