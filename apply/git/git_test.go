package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/apply/git"
)

// repository is a real one, to write to.
type repository struct {
	t   testing.TB
	dir string
}

func newRepository(t testing.TB) *repository {
	t.Helper()
	r := &repository{t, t.TempDir()}
	r.git("init", "--quiet", "--initial-branch=main")
	return r
}

// git runs git as a person would, without that person's own configuration.
func (r *repository) git(args ...string) string {
	r.t.Helper()
	return r.pipe("", args...)
}

// pipe is git with something to read.
func (r *repository) pipe(in string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", r.dir, "-c", "user.name=Ann", "-c", "user.email=ann@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes files and returns the new commit's id; a file that is "-" goes.
func (r *repository) commit(files map[string]string) string {
	r.t.Helper()
	for name, text := range files {
		full := filepath.Join(r.dir, name)
		if text == "-" {
			if err := os.Remove(full); err != nil {
				r.t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "-m", "change")
	return r.git("rev-parse", "HEAD")
}

func (r *repository) url() string { return "file://" + r.dir }

func openMirror(t testing.TB, o git.Options) *git.Mirror {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	m, err := git.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func fetch(t testing.TB, m *git.Mirror, r git.Remote) git.Commit {
	t.Helper()
	c, err := m.Fetch(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func checkout(t testing.TB, m *git.Mirror, id string) *git.Checkout {
	t.Helper()
	c, err := m.Checkout(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func wantReason(t testing.TB, err error, want git.Reason, text string) {
	t.Helper()
	if err == nil || git.ReasonOf(err) != want || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v (%s), want %s with %q", err, git.ReasonOf(err), want, text)
	}
}

func TestFetchRefs(t *testing.T) {
	r := newRepository(t)
	first := r.commit(map[string]string{"a": "1"})
	r.git("tag", "-a", "v1", "-m", "one")
	r.git("branch", "both")
	second := r.commit(map[string]string{"a": "2"})
	r.git("tag", "light")
	r.git("tag", "both")

	m := openMirror(t, git.Options{AllowFile: true})
	for _, tt := range []struct{ ref, id, full string }{
		{"", second, "refs/heads/main"},
		{"main", second, "refs/heads/main"},
		{"refs/heads/main", second, "refs/heads/main"},
		{"v1", first, "refs/tags/v1"},
		{"light", second, "refs/tags/light"},
		{"refs/heads/both", first, "refs/heads/both"},
		{first, first, ""},
		{second, second, ""},
	} {
		if got := fetch(t, m, git.Remote{URL: r.url(), Ref: tt.ref}); got.ID != tt.id || got.Ref != tt.full {
			t.Errorf("%q is %+v, want %s %s", tt.ref, got, tt.full, tt.id)
		}
	}
	if got, want := (git.Commit{ID: first, Ref: "refs/tags/v1"}).String(), "v1@sha1:"+first; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for ref, want := range map[string]git.Reason{
		"both": git.RefNotFound, "none": git.RefNotFound, strings.Repeat("0", 39) + "1": git.RefNotFound,
		"--upload-pack=x": git.InvalidRemote, "a..b": git.InvalidRemote, "a:b": git.InvalidRemote, "a\nb": git.InvalidRemote, "+a b": git.InvalidRemote,
	} {
		_, err := m.Fetch(t.Context(), git.Remote{URL: r.url(), Ref: ref})
		wantReason(t, err, want, "")
	}
	if n := strings.Count(r.git("--git-dir="+filepath.Join(filepath.Dir(m.Tree()), "objects.git"), "rev-list", "--all"), "\n") + 1; n != 1 {
		t.Errorf("the mirror has %d commits, want only the one fetched", n)
	}
}

// TestForcePush: history that is written anew is followed, and a commit that is
// gone is an error that leaves the tree alone.
func TestForcePush(t *testing.T) {
	r := newRepository(t)
	r.commit(map[string]string{"a": "1"})
	old := r.commit(map[string]string{"a": "2"})
	m := openMirror(t, git.Options{AllowFile: true})
	fetch(t, m, git.Remote{URL: r.url(), Ref: old})
	checkout(t, m, old)

	r.git("checkout", "--quiet", "--orphan", "other")
	r.git("rm", "-rq", "--cached", ".")
	next := r.commit(map[string]string{"b": "new"})
	r.git("branch", "-M", "main")
	r.git("reflog", "expire", "--expire=now", "--all")
	r.git("gc", "--quiet", "--prune=now")
	if got := fetch(t, m, git.Remote{URL: r.url(), Ref: "main"}); got.ID != next {
		t.Fatalf("got %v, want %s", got, next)
	}
	_, err := m.Fetch(t.Context(), git.Remote{URL: r.url(), Ref: old})
	wantReason(t, err, git.RefNotFound, "gone")
	if err := os.Rename(r.dir, r.dir+".gone"); err != nil {
		t.Fatal(err)
	}
	_, err = m.Fetch(t.Context(), git.Remote{URL: r.url(), Ref: "main"})
	wantReason(t, err, git.Unreachable, "does not appear to be a git repository")
	if m.CheckedOut() != old {
		t.Errorf("the tree is of %q, want still %s", m.CheckedOut(), old)
	}
	if b, _ := os.ReadFile(filepath.Join(m.Tree(), "a")); string(b) != "2" {
		t.Errorf("the tree has %q", b)
	}
}

func TestCheckoutWritesWhatDiffers(t *testing.T) {
	r := newRepository(t)
	first := r.commit(map[string]string{"same": "s", "x/y/gone": "g", "x/changed": "1", "turns": "file"})
	m := openMirror(t, git.Options{AllowFile: true})
	fetch(t, m, git.Remote{URL: r.url()})
	if c := checkout(t, m, first); c.Written != 4 {
		t.Errorf("wrote %d files, want 4", c.Written)
	}
	before, err := os.Stat(filepath.Join(m.Tree(), "same"))
	if err != nil {
		t.Fatal(err)
	}
	r.commit(map[string]string{"x/y/gone": "-", "x/changed": "22", "turns": "-"})
	second := r.commit(map[string]string{"turns/into": "a directory"})
	fetch(t, m, git.Remote{URL: r.url()})
	if c := checkout(t, m, second); c.Written != 2 || c.Removed != 2 {
		t.Errorf("got %+v, want 2 written and 2 removed", c)
	}
	after, err := os.Stat(filepath.Join(m.Tree(), "same"))
	if err != nil || !os.SameFile(before, after) || after.ModTime() != before.ModTime() {
		t.Errorf("a file that is the same was written again (%v)", err)
	}
	wantTree(t, m, map[string]string{"same": "s", "x/changed": "22", "turns/into": "a directory"})
	if c := checkout(t, m, second); c.Written+c.Removed != 0 {
		t.Errorf("the same commit again: %+v", c)
	}
	// A tree that was left half written is written anew.
	if err := os.Remove(filepath.Join(filepath.Dir(m.Tree()), "tree.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.Tree(), "same"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	checkout(t, m, second)
	wantTree(t, m, map[string]string{"same": "s", "x/changed": "22", "turns/into": "a directory"})
}

func wantTree(t *testing.T, m *git.Mirror, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(m.Tree(), func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if entries, _ := os.ReadDir(name); len(entries) == 0 {
				t.Errorf("%s is empty", name)
			}
			return err
		}
		b, err := os.ReadFile(name)
		rel, _ := filepath.Rel(m.Tree(), name)
		got[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Errorf("the tree has %d files, want %d: %v", len(got), len(want), got)
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is %q, want %q", name, got[name], text)
		}
	}
}

// TestHostileTree: links that lead out, alone or together, are refused, and
// nothing that a repository says is run.
func TestHostileTree(t *testing.T) {
	for name, links := range map[string]map[string]string{
		"absolute": {"l": "/etc/passwd"},
		"up":       {"d/l": "../../x"},
		"a chain":  {"a/b/in": "../..", "out": "a/b/in/../x"},
		"itself":   {"l": "l"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			r.commit(map[string]string{"a/b/c": "1"})
			for at, to := range links {
				blob := filepath.Join(t.TempDir(), "blob")
				if err := os.WriteFile(blob, []byte(to), 0o600); err != nil {
					t.Fatal(err)
				}
				r.git("update-index", "--add", "--cacheinfo", "120000,"+r.git("hash-object", "-w", blob)+","+at)
			}
			r.git("commit", "--quiet", "-m", "links")
			m := openMirror(t, git.Options{AllowFile: true})
			c := fetch(t, m, git.Remote{URL: r.url()})
			_, err := m.Checkout(t.Context(), c.ID)
			wantReason(t, err, git.Refused, "")
			if m.CheckedOut() != "" {
				t.Error("the tree counts as checked out")
			}
		})
	}
	t.Run("a git directory", func(t *testing.T) {
		r := newRepository(t)
		r.commit(map[string]string{"a": "1"})
		inner := r.pipe("100644 blob "+r.git("rev-parse", "HEAD:a")+"\tconfig\n", "mktree")
		outer := r.pipe("040000 tree "+inner+"\t.GIT\n", "mktree")
		r.git("update-ref", "refs/heads/main", r.git("commit-tree", outer, "-m", "evil"))
		m := openMirror(t, git.Options{AllowFile: true})
		_, err := m.Checkout(t.Context(), fetch(t, m, git.Remote{URL: r.url()}).ID)
		wantReason(t, err, git.Refused, ".GIT/config")
	})
	t.Run("harmless links", func(t *testing.T) {
		r := newRepository(t)
		r.commit(map[string]string{"a/b": "1"})
		for link, to := range map[string]string{"c": "a/b", "a/up": "../c", "dangling": "none"} {
			if err := os.Symlink(to, filepath.Join(r.dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		m := openMirror(t, git.Options{AllowFile: true})
		checkout(t, m, fetchNew(t, r, m))
		if b, err := os.ReadFile(filepath.Join(m.Tree(), "a", "up")); err != nil || string(b) != "1" {
			t.Errorf("read through links: %q, %v", b, err)
		}
	})
	t.Run("filters and submodules", func(t *testing.T) {
		r := newRepository(t)
		ran := filepath.Join(t.TempDir(), "ran")
		r.git("config", "filter.evil.smudge", "touch "+ran)
		r.git("config", "uploadpack.packObjectsHook", "touch "+ran+"; false")
		r.commit(map[string]string{".gitattributes": "* filter=evil export-subst\n", "f": "$Format:%H$"})
		r.git("update-index", "--add", "--cacheinfo", "160000,"+r.git("rev-parse", "HEAD")+",sub")
		r.git("commit", "--quiet", "-m", "submodule")
		m := openMirror(t, git.Options{AllowFile: true})
		c := checkout(t, m, fetch(t, m, git.Remote{URL: r.url()}).ID)
		if len(c.Skipped) != 1 || c.Skipped[0] != "sub" {
			t.Errorf("skipped %v, want sub", c.Skipped)
		}
		wantTree(t, m, map[string]string{".gitattributes": "* filter=evil export-subst\n", "f": "$Format:%H$"})
		if _, err := os.Stat(ran); err == nil {
			t.Error("a program of the repository's choice has run")
		}
	})
}

func fetchNew(t *testing.T, r *repository, m *git.Mirror) string {
	t.Helper()
	r.commit(nil)
	return fetch(t, m, git.Remote{URL: r.url()}).ID
}

func TestBounds(t *testing.T) {
	r := newRepository(t)
	noise := make([]byte, 3<<20)
	for i, x := 0, uint32(1); i < len(noise); i++ { // does not compress
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		noise[i] = byte(x)
	}
	big := r.commit(map[string]string{"noise": string(noise), "a": "1", "b": "2"})
	small := openMirror(t, git.Options{AllowFile: true, MaxFetch: 1 << 20})
	_, err := small.Fetch(t.Context(), git.Remote{URL: r.url()})
	wantReason(t, err, git.TooLarge, "1048576 bytes")
	for want, o := range map[string]git.Options{
		"2 files":       {AllowFile: true, MaxFiles: 2},
		"2097152 bytes": {AllowFile: true, MaxTree: 2 << 20},
	} {
		m := openMirror(t, o)
		fetch(t, m, git.Remote{URL: r.url()})
		_, err := m.Checkout(t.Context(), big)
		wantReason(t, err, git.TooLarge, want)
	}
}

// TestBrokenMirror: what a crash has left does not keep a mirror from working.
func TestBrokenMirror(t *testing.T) {
	r := newRepository(t)
	r.commit(map[string]string{"a": "1"})
	dir := t.TempDir()
	m := openMirror(t, git.Options{Dir: dir, AllowFile: true})
	fetch(t, m, git.Remote{URL: r.url()})
	second := r.commit(map[string]string{"a": "2"})
	objects := filepath.Join(dir, "objects.git")
	for _, name := range []string{"shallow.lock", "objects/pack/tmp_pack_abc", "refs/writ/fetched.lock"} {
		if err := os.WriteFile(filepath.Join(objects, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := fetch(t, m, git.Remote{URL: r.url()}); got.ID != second {
		t.Errorf("got %v", got)
	}
	third := r.commit(map[string]string{"a": "3"})
	packs, _ := filepath.Glob(filepath.Join(objects, "objects", "pack", "*"))
	for _, p := range packs {
		if err := os.Chmod(p, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("torn"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := fetch(t, m, git.Remote{URL: r.url()}); got.ID != third {
		t.Errorf("got %v, want %s", got, third)
	}
	checkout(t, m, third)
	wantTree(t, m, map[string]string{"a": "3"})
	// Many fetches do not pile up.
	for range 24 {
		checkout(t, m, fetchNew(t, r, m))
	}
	packs, _ = filepath.Glob(filepath.Join(objects, "objects", "pack", "*.pack"))
	if len(packs) > 21 {
		t.Errorf("%d packs", len(packs))
	}
}

func TestCheckURL(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.com/a/b.git": "https", "https://example.com:8443/a": "https",
		"ssh://git@example.com/a": "ssh", "ssh://example.com:2222/a": "ssh", "git@example.com:a/b.git": "ssh",
		"file:///srv/a": "file",
	} {
		if got, err := git.CheckURL(text); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "/srv/a", "a", "-oProxyCommand=x:y", "http://example.com/a", "git://example.com/a", "ext::sh -c touch%20x",
		"ssh://-oProxyCommand=x/a", "ssh://git@-x/a", "git@-x:a", "-x@h:a", "git@h:-x", "ssh://git@h/-x", "ssh://h:p@h/a",
		"https://tok@example.com/a", "https://u:secret@example.com/a", "https://example.com", "https:///a", "https://exa mple.com/a",
		"https://example.com/a?x=1", "https://example.com/a#x", "file://host/a", "ssh://git:secret@h/a", "https://example.com/\n", "h::a",
		"https://" + strings.Repeat("a", 3000) + "/a", "https://u:secret@%zz/a",
	} {
		if got, err := git.CheckURL(text); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %q, %v; want it refused, without what is secret in it", text, got, err)
		}
	}
}

func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{"https://h/a", "git@h:a", "file:///a", "-x:y"} {
		f.Add(s, "main")
	}
	f.Fuzz(func(t *testing.T, url, ref string) {
		if _, err := git.CheckURL(url); err == nil && (strings.HasPrefix(url, "-") || strings.ContainsAny(url, " \n\x00")) {
			t.Errorf("%q is taken", url)
		}
		if err := git.CheckRef(ref); err == nil && (strings.HasPrefix(ref, "-") || strings.ContainsAny(ref, " \n\x00:^~*?[\\") || strings.Contains(ref, "..")) {
			t.Errorf("%q is taken", ref)
		}
	})
}
