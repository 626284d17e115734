package cache_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/cue"
	"github.com/writ-dev/writ/lang/jsonnet"
	"github.com/writ-dev/writ/lang/yaml"
	"github.com/writ-dev/writ/render/cache"
)

var languages = map[string]lang.Evaluator{"cue": cue.Evaluator{}, "jsonnet": jsonnet.Evaluator{}, "yaml": yaml.Evaluator{}}

var library = fstest.MapFS{"jsonnet/writ.libsonnet": {Data: []byte("{ n: 1 }")}}

// tree is a module on disk whose files are old, so that their marks are used.
type tree struct {
	t    testing.TB
	dir  string
	root *os.Root
	c    *cache.Cache
}

func newTree(t testing.TB, files map[string]string) *tree {
	t.Helper()
	m := &tree{t: t, dir: t.TempDir()}
	for name, content := range files {
		m.write(name, content)
	}
	var err error
	if m.root, err = os.OpenRoot(m.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.root.Close() })
	if m.c, err = cache.Open(t.TempDir(), "build 1"); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *tree) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *tree) path(name string) string { return filepath.Join(m.dir, name) }

func (m *tree) write(name, content string) {
	m.t.Helper()
	m.must(os.MkdirAll(filepath.Dir(m.path(name)), 0o755))
	m.must(os.WriteFile(m.path(name), []byte(content), 0o644))
}

// counting counts the evaluations.
type counting struct {
	lang.Evaluator
	n *atomic.Int64
}

func (c counting) Eval(ctx context.Context, p lang.Program) (*lang.Result, error) {
	c.n.Add(1)
	return c.Evaluator.Eval(ctx, p)
}

// eval evaluates through the cache, in a session of its own, and says whether
// an evaluator was asked. The outcome must be that of the evaluator.
func (m *tree) eval(c *cache.Cache, language string, p lang.Program) (text string, asked bool) {
	m.t.Helper()
	p.FS, p.Library = m.root.FS(), library
	var n atomic.Int64
	s := c.Session(m.dir, p.FS, library)
	got, err := s.Evaluator(language, counting{languages[language], &n}).Eval(m.t.Context(), p)
	m.must(s.Close())
	want, wantErr := languages[language].Eval(m.t.Context(), p)
	if (err == nil) != (wantErr == nil) {
		m.t.Fatalf("%s: through the cache %v, without %v", p.Entry, err, wantErr)
	}
	if err != nil {
		return "error", n.Load() > 0
	}
	text = string(got.Value.AppendJSON(nil))
	if fresh := string(want.Value.AppendJSON(nil)); text != fresh {
		m.t.Fatalf("%s: stale: through the cache %s, without %s", p.Entry, text, fresh)
	}
	if !slices.Equal(got.Reads, want.Reads) {
		m.t.Errorf("%s: reads %v, want %v", p.Entry, got.Reads, want.Reads)
	}
	for path, v := range want.Value.All() {
		if w, _ := got.Value.At(path); w.Pos != v.Pos {
			m.t.Errorf("%s: %s is at %s, want %s", p.Entry, path, w.Pos, v.Pos)
		}
	}
	return text, n.Load() > 0
}

func cueProgram() map[string]string {
	return map[string]string{
		"cue.mod/module.cue": "module: \"example.com/m\"\nlanguage: version: \"v0.14.0\"\n",
		"lib/lib.cue":        "package lib\n\n#A: {n: int | *1, ...}\n",
		"app/a.cue":          "package app\n\nimport \"example.com/m/lib\"\n\nx: lib.#A\nenv: *\"none\" | string @tag(env)\n",
		"app/b.cue":          "package app\n\ny: 1\n",
	}
}

func jsonnetProgram() map[string]string {
	return map[string]string{
		"main.jsonnet":         "(import 'a.libsonnet') + { s: importstr 'text', e: std.extVar('env'), v: (import 'v.libsonnet').v, w: (import 'writ.libsonnet').n }",
		"a.libsonnet":          "{ a: 1 }",
		"text":                 "one",
		"vendor/v.libsonnet":   "{ v: 'vendor' }",
		"unrelated/x.jsonnet":  "1",
		"yaml/a.yaml":          "a: 1\n",
		"yaml/b.yaml":          "b: 1\n",
		"yaml/notes.txt":       "no YAML",
		"link.libsonnet.other": "{ v: 'linked' }",
	}
}

// TestNoStaleResult changes everything that a result depends on, one thing at a
// time, also such that size and modification time stay what they were.
func TestNoStaleResult(t *testing.T) {
	prog := func(entry string) lang.Program { return lang.Program{Entry: entry} }
	sameTimes := func(m *tree, name, content string) {
		info, err := os.Stat(m.path(name))
		m.must(err)
		m.write(name, content)
		m.must(os.Chtimes(m.path(name), info.ModTime(), info.ModTime()))
	}
	jsonnetIn := lang.Program{Entry: "main.jsonnet", Inputs: map[string]string{"env": "a"}}
	type change struct {
		name, language string
		files          map[string]string
		program        lang.Program
		change         func(m *tree)
		again          lang.Program
		stays          bool // the change makes no difference
	}
	changes := []change{
		{name: "content of the same size and time", language: "cue", files: cueProgram(), program: prog("app"),
			change: func(m *tree) { sameTimes(m, "app/b.cue", "package app\n\ny: 2\n") }},
		{name: "imported package", language: "cue", files: cueProgram(), program: prog("app"),
			change: func(m *tree) { sameTimes(m, "lib/lib.cue", "package lib\n\n#A: {n: int | *2, ...}\n") }},
		{name: "file that joins the package", language: "cue", files: cueProgram(), program: prog("app"),
			change: func(m *tree) { m.write("app/c.cue", "package app\n\nz: 1\n") }},
		{name: "file that joins the imported package", language: "cue", files: cueProgram(), program: prog("app"),
			change: func(m *tree) { m.write("lib/more.cue", "package lib\n\n#A: m: 1\n") }},
		{name: "file of the package above", language: "cue", files: cueProgram(), program: prog("app"),
			change: func(m *tree) { m.write("top.cue", "package app\n\ntop: 1\n") }},
		{name: "file that is removed", language: "cue", files: cueProgram(), program: prog("app"),
			change: func(m *tree) { m.must(os.Remove(m.path("app/b.cue"))) }},
		{name: "file that is replaced by an older one", language: "cue", files: cueProgram(), program: prog("app"),
			change: func(m *tree) {
				m.write("old.txt", "package app\n\ny: 7\n")
				m.must(os.Chtimes(m.path("old.txt"), time.Unix(1, 0), time.Unix(1, 0)))
				m.must(os.Rename(m.path("old.txt"), m.path("app/b.cue")))
			}},
		{name: "link that leads elsewhere", language: "cue", files: cueProgram(), program: prog("app"),
			change: func(m *tree) {
				m.write("other/b.cue", "package app\n\ny: 3\n")
				m.must(os.Remove(m.path("app/b.cue")))
				m.must(os.Symlink("../other/b.cue", m.path("app/b.cue")))
			}},
		{name: "directory beside the program", language: "cue", files: cueProgram(), program: prog("app"), stays: true,
			change: func(m *tree) { m.write("app/sub/x.txt", "x") }},
		{name: "another file beside the program", language: "cue", files: cueProgram(), program: prog("app"), stays: true,
			change: func(m *tree) { m.write("app/README.md", "x") }},
		{name: "the same content written again", language: "cue", files: cueProgram(), program: prog("app"), stays: true,
			change: func(m *tree) { m.write("app/b.cue", "package app\n\ny: 1\n") }},
		{name: "module of its own", language: "cue", files: cueProgram(), program: prog("app"),
			change: func(m *tree) {
				m.write("app/cue.mod/module.cue", "module: \"example.com/other\"\nlanguage: version: \"v0.14.0\"\n")
			}},
		{name: "input", language: "cue", files: cueProgram(), program: prog("app"), change: func(*tree) {},
			again: lang.Program{Entry: "app", Inputs: map[string]string{"env": "prod"}}},
		{name: "offered input", language: "cue", files: cueProgram(), program: prog("app"), change: func(*tree) {},
			again: lang.Program{Entry: "app", Offers: map[string]string{"env": "prod"}}},
		{name: "import", language: "jsonnet", files: jsonnetProgram(), program: jsonnetIn,
			change: func(m *tree) { sameTimes(m, "a.libsonnet", "{ a: 2 }") }},
		{name: "importstr", language: "jsonnet", files: jsonnetProgram(), program: jsonnetIn,
			change: func(m *tree) { sameTimes(m, "text", "two") }},
		{name: "file that goes before a vendored one", language: "jsonnet", files: jsonnetProgram(), program: jsonnetIn,
			change: func(m *tree) { m.write("v.libsonnet", "{ v: 'mine' }") }},
		{name: "link that goes before a vendored one", language: "jsonnet", files: jsonnetProgram(), program: jsonnetIn,
			change: func(m *tree) { m.must(os.Symlink("link.libsonnet.other", m.path("v.libsonnet"))) }},
		{name: "external variable", language: "jsonnet", files: jsonnetProgram(), program: jsonnetIn, change: func(*tree) {},
			again: lang.Program{Entry: "main.jsonnet", Inputs: map[string]string{"env": "b"}}},
		{name: "import that is gone", language: "jsonnet", files: jsonnetProgram(), program: jsonnetIn,
			change: func(m *tree) { m.must(os.Remove(m.path("a.libsonnet"))) }},
		{name: "unrelated file", language: "jsonnet", files: jsonnetProgram(), program: jsonnetIn, stays: true,
			change: func(m *tree) { m.write("unrelated/x.jsonnet", "2") }},
		{name: "new YAML file", language: "yaml", files: jsonnetProgram(), program: prog("yaml"),
			change: func(m *tree) { m.write("yaml/c.yaml", "c: 1\n") }},
		{name: "changed YAML file", language: "yaml", files: jsonnetProgram(), program: prog("yaml"),
			change: func(m *tree) { sameTimes(m, "yaml/a.yaml", "a: 2\n") }},
		{name: "directory that became a file", language: "yaml", files: jsonnetProgram(), program: prog("yaml"),
			change: func(m *tree) {
				m.must(os.RemoveAll(m.path("yaml")))
				m.write("yaml", "a: 1\n")
			}},
	}
	run := func(t *testing.T, m *tree, c change) {
		m.t = t
		before, asked := m.eval(m.c, c.language, c.program)
		if !asked {
			t.Fatal("an empty cache had a result")
		}
		if _, asked := m.eval(m.c, c.language, c.program); asked {
			t.Fatal("nothing has changed, and it was evaluated again")
		}
		c.change(m)
		again := c.again
		if again.Entry == "" {
			again = c.program
		}
		after, asked := m.eval(m.c, c.language, again)
		if asked == c.stays {
			t.Errorf("evaluated again: %v", asked)
		}
		if !c.stays && c.name != "module of its own" && before == after {
			t.Errorf("the change made no difference: %s", after)
		}
	}
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) { run(t, newTree(t, c.files), c) })
	}
	// Once more when the files are so old that the system's word is trusted.
	settled := make([]*tree, len(changes))
	for i, c := range changes {
		settled[i] = newTree(t, c.files)
	}
	time.Sleep(2100 * time.Millisecond)
	for i, c := range changes {
		t.Run("settled/"+c.name, func(t *testing.T) { run(t, settled[i], c) })
	}
}

// TestBuilds: another build of Writ, or another language, is another question.
func TestBuilds(t *testing.T) {
	m := newTree(t, map[string]string{"a.yaml": "a: 1\n"})
	m.eval(m.c, "yaml", lang.Program{Entry: "a.yaml"})
	other, err := cache.Open(m.c.Dir(), "build 2")
	m.must(err)
	if _, asked := m.eval(other, "yaml", lang.Program{Entry: "a.yaml"}); !asked {
		t.Error("a result of another build was used")
	}
	for _, p := range []lang.Program{{Entry: "a.yaml", Tests: true}, {Entry: "a.yaml", Cover: true}} {
		if _, asked := m.eval(m.c, "yaml", p); !asked {
			t.Errorf("%+v was taken for a plain evaluation", p)
		}
	}
}

// TestDamage cuts entries short and flips bytes: they are evaluated again.
func TestDamage(t *testing.T) {
	m := newTree(t, map[string]string{"a.yaml": "a: 1\n"})
	p := lang.Program{Entry: "a.yaml"}
	for i := range 40 {
		m.eval(m.c, "yaml", p)
		m.must(filepath.WalkDir(m.c.Dir(), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			at := min(i*len(b)/40, len(b)-1)
			if i%2 == 0 {
				return os.WriteFile(path, b[:at], 0o600)
			}
			b[at] ^= 0x55
			return os.WriteFile(path, b, 0o600)
		}))
		if _, asked := m.eval(m.c, "yaml", p); !asked {
			t.Fatalf("a damaged entry was used (%d)", i)
		}
	}
}

// TestFailuresAreNotKept: what failed is tried again.
func TestFailuresAreNotKept(t *testing.T) {
	m := newTree(t, map[string]string{"a.yaml": "a: [\n"})
	for range 2 {
		if _, asked := m.eval(m.c, "yaml", lang.Program{Entry: "a.yaml"}); !asked {
			t.Error("a failure came from the cache")
		}
	}
}

// changing changes a file while it is evaluated.
type changing struct {
	lang.Evaluator
	change func()
}

func (c changing) Eval(ctx context.Context, p lang.Program) (*lang.Result, error) {
	r, err := c.Evaluator.Eval(ctx, p)
	c.change()
	return r, err
}

// TestChangeDuringEvaluation: a result of what is no longer there is not kept.
func TestChangeDuringEvaluation(t *testing.T) {
	m := newTree(t, map[string]string{"a.yaml": "a: 1\n"})
	s := m.c.Session(m.dir, m.root.FS(), library)
	e := s.Evaluator("yaml", changing{languages["yaml"], func() { m.write("a.yaml", "a: 2\n") }})
	_, err := e.Eval(t.Context(), lang.Program{FS: m.root.FS(), Entry: "a.yaml"})
	m.must(err)
	m.must(s.Close())
	if text, asked := m.eval(m.c, "yaml", lang.Program{Entry: "a.yaml"}); !asked || text != `[{"a":2}]` {
		t.Errorf("got %s, evaluated again %v", text, asked)
	}
}

// TestManyAtOnce: processes share a cache without waiting for one another.
func TestManyAtOnce(t *testing.T) {
	m := newTree(t, cueProgram())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				m.eval(m.c, "cue", lang.Program{Entry: "app"})
			}
		})
	}
	wg.Wait()
	s, err := m.c.Stats()
	m.must(err)
	if s.Entries != 1 || s.Bytes == 0 {
		t.Errorf("stats %+v, want one entry", s)
	}
	m.must(m.c.Clean())
	if s, err := m.c.Stats(); err != nil || s.Entries != 0 {
		t.Errorf("after clean: %+v, %v", s, err)
	}
}

func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := cache.Open(filepath.Join(file, "cache"), ""); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a cache below a file: %v", err)
	}
}

// TestMemo: an answer counts while all that it was worked out from is as it was.
func TestMemo(t *testing.T) {
	m := newTree(t, map[string]string{"a.yaml": "a: 1\n", "b.yaml": "b: 1\n"})
	r, err := languages["yaml"].Eval(t.Context(), lang.Program{FS: m.root.FS(), Entry: "."})
	m.must(err)
	recall := func(question string) (string, bool) {
		s := m.c.Session(m.dir, m.root.FS(), library)
		defer func() { m.must(s.Close()) }()
		b, reads, ok := s.Recall(question)
		if ok && !slices.Equal(reads, r.Reads) {
			t.Errorf("reads %v, want %v", reads, r.Reads)
		}
		return string(b), ok
	}
	first := m.c.Session(m.dir, m.root.FS(), library)
	first.Remember("question", r.Reads, []byte("answer"))
	m.must(first.Close())
	if b, ok := recall("question"); !ok || b != "answer" {
		t.Errorf("recalled %q, %v", b, ok)
	}
	if _, ok := recall("another question"); ok {
		t.Error("another question has that answer")
	}
	m.write("c.yaml", "c: 1\n")
	if _, ok := recall("question"); ok {
		t.Error("a file more, and the answer is the same")
	}
	m.must(os.Remove(m.path("c.yaml")))
	if _, ok := recall("question"); !ok {
		t.Error("all is as it was, and the answer is gone")
	}
	m.write("b.yaml", "b: 2\n")
	if _, ok := recall("question"); ok {
		t.Error("a file changed, and the answer is the same")
	}
}

// TestManyRuns: what many runs keep is put into few files, the youngest answer to
// each question.
func TestManyRuns(t *testing.T) {
	m := newTree(t, map[string]string{"a.yaml": "a: 1\n"})
	reads := []lang.Read{{File: "a.yaml", SHA256: lang.Digest([]byte("a: 1\n"))}}
	for i := range 50 {
		s := m.c.Session(m.dir, m.root.FS(), library)
		s.Remember(fmt.Sprint("question ", i%20), reads, fmt.Append(nil, "answer ", i))
		m.must(s.Close())
		time.Sleep(2 * time.Millisecond) // so that times tell which is younger
	}
	files, err := os.ReadDir(m.c.Dir())
	if m.must(err); len(files) > 10 {
		t.Errorf("%d files", len(files))
	}
	s := m.c.Session(m.dir, m.root.FS(), library)
	defer func() { m.must(s.Close()) }()
	for i := range 20 {
		want := fmt.Sprint("answer ", i+20)
		if i < 10 {
			want = fmt.Sprint("answer ", i+40)
		}
		if b, _, ok := s.Recall(fmt.Sprint("question ", i)); !ok || string(b) != want {
			t.Errorf("question %d: %q, %v, want %q", i, b, ok, want)
		}
	}
	if c := s.Counts(); c != (cache.Counts{Hits: 20}) {
		t.Errorf("counts %+v", c)
	}
}

// TestLinksInTheWay: a directory that is swapped for an older one, while it is
// read, is noticed although no file in it is new.
func TestLinksInTheWay(t *testing.T) {
	m := newTree(t, map[string]string{"one/a.yaml": "a: 1\n", "two/a.yaml": "a: 2\n"})
	m.must(os.Symlink("one", m.path("now")))
	time.Sleep(2100 * time.Millisecond)
	s := m.c.Session(m.dir, m.root.FS(), library)
	e := s.Evaluator("yaml", changing{languages["yaml"], func() {
		m.must(os.Remove(m.path("now")))
		m.must(os.Symlink("two", m.path("now")))
	}})
	_, err := e.Eval(t.Context(), lang.Program{FS: m.root.FS(), Entry: "now/a.yaml"})
	m.must(err)
	m.must(s.Close())
	if text, _ := m.eval(m.c, "yaml", lang.Program{Entry: "now/a.yaml"}); text != `[{"a":2}]` {
		t.Errorf("got %s", text)
	}
}
