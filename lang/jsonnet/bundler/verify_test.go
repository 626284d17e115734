package bundler_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/lang/jsonnet/bundler"
)

// A package of two files and a directory whose name sorts between them. The sum
// is that of "one", "two", "three" together, worked out by other means:
//
//	printf onetwothree | openssl dgst -sha256 -binary | base64
const sum = "RZIJLhBhx+qFryrtGUYhzBeidiuuM6eb+M4z/QFouAE="

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func dependency(name, rest string) string {
	host, repo, _ := strings.Cut(name, "/")
	return fmt.Sprintf(`{"source": {"git": {"remote": "https://%s/%s.git", "subdir": ""}}%s}`, host, repo, rest)
}

func list(dependencies ...string) string {
	return "{\"version\": 1, \"dependencies\": [\n" + strings.Join(dependencies, ",\n") + "\n], \"legacyImports\": true}\n"
}

func module() fstest.MapFS {
	return fstest.MapFS{
		"jsonnetfile.json":                          file(list(dependency("example.com/a/b", `, "version": "main"`))),
		"jsonnetfile.lock.json":                     file(list(dependency("example.com/a/b", `, "version": "0123", "sum": "`+sum+`"`))),
		"vendor/example.com/a/b/a.libsonnet":        file("one"),
		"vendor/example.com/a/b/b/x.libsonnet":      file("two"),
		"vendor/example.com/a/b/c.libsonnet":        file("three"),
		"vendor/example.com/a/other.libsonnet":      file("not part of it"),
		"vendor/example.com/a/b-other/a.jsonnet":    file("nor this"),
		"vendor/example.com/unknown/x/y.libsonnet":  file("nor this"),
		"lib/nothing-to-do-with-packages.libsonnet": file("{}"),
	}
}

func TestVerify(t *testing.T) {
	for name, c := range map[string]struct {
		change func(fstest.MapFS)
		want   string // code, position and part of the message; "" for nothing wrong
	}{
		"good": {func(fstest.MapFS) {}, ""},
		"no jsonnetfile": {func(m fstest.MapFS) {
			delete(m, "jsonnetfile.json")
			m["vendor/example.com/a/b/a.libsonnet"] = file("another")
		}, ""},
		"changed":     {func(m fstest.MapFS) { m["vendor/example.com/a/b/b/x.libsonnet"] = file("2") }, "VENDOR002 jsonnetfile.lock.json:2:1 package example.com/a/b in vendor has changed"},
		"a file more": {func(m fstest.MapFS) { m["vendor/example.com/a/b/b/y"] = file("2") }, "VENDOR002 jsonnetfile.lock.json:2:1 has changed"},
		"missing": {func(m fstest.MapFS) {
			maps.DeleteFunc(m, func(n string, _ *fstest.MapFile) bool { return strings.HasPrefix(n, "vendor/example.com/a/b/") })
		}, "VENDOR001 jsonnetfile.lock.json:2:1 package example.com/a/b is not in vendor"},
		"no vendor": {func(m fstest.MapFS) {
			maps.DeleteFunc(m, func(n string, _ *fstest.MapFile) bool { return strings.HasPrefix(n, "vendor/") })
		}, ""},
		"no sum":  {func(m fstest.MapFS) { m["jsonnetfile.lock.json"] = file(list(dependency("example.com/a/b", ""))) }, "VENDOR004 jsonnetfile.lock.json:2:1 has no sum"},
		"no lock": {func(m fstest.MapFS) { delete(m, "jsonnetfile.lock.json") }, "VENDOR003 jsonnetfile.json there is no jsonnetfile.lock.json"},
		"not locked": {func(m fstest.MapFS) {
			m["jsonnetfile.json"] = file(list(dependency("example.com/a/b", ""), dependency("example.com/c/d", "")))
		}, "VENDOR003 jsonnetfile.json:3:1 package example.com/c/d is not in jsonnetfile.lock.json"},
		"not JSON":     {func(m fstest.MapFS) { m["jsonnetfile.lock.json"] = file("{") }, "JSON001 jsonnetfile.lock.json:1:2"},
		"wrong source": {func(m fstest.MapFS) { m["jsonnetfile.json"] = file(list(`{"source": {"svn": {}}}`)) }, "VENDOR005 jsonnetfile.json:2:1 is neither git nor local"},
		"new format":   {func(m fstest.MapFS) { m["jsonnetfile.json"] = file(`{"version": 2}`) }, "VENDOR005 jsonnetfile.json:1:13 is a format that is not known"},
		"transitive": {func(m fstest.MapFS) {
			// A package of which the sum is right asks for one that is not locked.
			m["vendor/example.com/a/b/a.libsonnet"] = file("")
			m["vendor/example.com/a/b/b/x.libsonnet"] = file("")
			m["vendor/example.com/a/b/c.libsonnet"] = file("")
			m["vendor/example.com/a/b/jsonnetfile.json"] = file("{\"dependencies\":[\n{\"source\":{\"git\":{\"remote\":\"https://example.com/e/f\"}}}]}")
			m["jsonnetfile.lock.json"] = file(list(dependency("example.com/a/b", `, "sum": "h5vvYXzy17gKiCIlwWJPyCCjeF+c7Is6MyRIGoxszzA="`)))
		}, "VENDOR003 vendor/example.com/a/b/jsonnetfile.json:2:1 package example.com/e/f is not in jsonnetfile.lock.json; example.com/a/b needs it"},
		"empty file": {func(m fstest.MapFS) { m["jsonnetfile.json"] = file("") }, ""},
		"old format": {func(m fstest.MapFS) {
			m["jsonnetfile.json"] = file(`{"dependencies": [{"name": "b", "source": {"git": {"remote": "https://example.com/a/b", "subdir": ""}}, "version": "main"}]}`)
		}, ""},
		"a package in a directory of a repository": {func(m fstest.MapFS) {
			m["jsonnetfile.json"] = file(list(`{"source": {"git": {"remote": "git@example.com:a/b.git", "subdir": "/b"}}}`))
			m["jsonnetfile.lock.json"] = file(list(`{"source": {"git": {"remote": "ssh://git@example.com/a/b.git", "subdir": "b"}}, "sum": "P8TM/nRYcOLA2Z9x8w/wZWyN7dQcwdfT03aw2+aF4vM="}`))
		}, ""},
		"local": {func(m fstest.MapFS) {
			m["jsonnetfile.json"] = file(list(`{"source": {"local": {"directory": "jsonnet/own"}}}`))
			m["jsonnetfile.lock.json"] = file(list(`{"source": {"local": {"directory": "jsonnet/own"}}}`))
			m["vendor/own/x"] = file("")
		}, ""},
		"local that is not there": {func(m fstest.MapFS) {
			m["jsonnetfile.json"] = file(list(`{"source": {"local": {"directory": "jsonnet/own"}}}`))
			m["jsonnetfile.lock.json"] = file(list(`{"source": {"local": {"directory": "jsonnet/own"}}}`))
		}, "VENDOR001 jsonnetfile.lock.json:2:1 package own is not in vendor"},
	} {
		t.Run(name, func(t *testing.T) {
			m := module()
			c.change(m)
			_, err := bundler.Verify(m)
			if c.want == "" {
				if err != nil {
					t.Fatalf("got %v", err)
				}
				return
			}
			l := diag.From(err)
			if len(l) != 1 {
				t.Fatalf("want one problem, got %v", l)
			}
			got := l[0].Code + " " + l[0].Pos.String() + " " + l[0].Message
			part := strings.SplitN(c.want, " ", 3)
			if !strings.HasPrefix(got, part[0]+" "+part[1]) || len(part) == 3 && !strings.Contains(got, part[2]) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			if l[0].Hint == "" && l[0].Code != "JSON001" {
				t.Errorf("there is no hint: %s", got)
			}
		})
	}
}

// TestReads changes each file of a module, which must change what was read.
func TestReads(t *testing.T) {
	v, err := bundler.Verify(module())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range v.Reads {
		if again := r.Again(module(), nil); again != r.SHA256 {
			t.Errorf("%s: is %s, and %s when it is read again", r.File, r.SHA256, again)
		}
	}
	for name := range module() {
		m := module()
		m[name] = file("changed")
		changed := slices.ContainsFunc(v.Reads, func(r lang.Read) bool { return r.Again(m, nil) != r.SHA256 })
		part := strings.HasPrefix(name, "vendor/example.com/a/b/") || strings.HasPrefix(name, "jsonnetfile")
		if changed != part {
			t.Errorf("a change of %s is seen: %v", name, changed)
		}
	}
}

func TestWarnings(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("jsonnetfile.json", list(dependency("example.com/a/k", ""), dependency("example.com/b/k", "")))
	write("jsonnetfile.lock.json", "{}")
	for name, version := range map[string]string{"a": "v1", "b": "v2"} {
		write("vendor/example.com/"+name+"/k/jsonnetfile.json", list(dependency("example.com/c/d", `, "version": "`+version+`"`)))
	}
	write("vendor/example.com/c/d/x", "")
	if err := os.Symlink("example.com/a/k", filepath.Join(dir, "vendor", "k")); err != nil {
		t.Skip(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	// The lock of what is there, from the sums that the errors tell.
	lock := []string{dependency("example.com/a/k", `, "sum": "x"`), dependency("example.com/b/k", `, "sum": "x"`), dependency("example.com/c/d", `, "sum": "x"`)}
	write("jsonnetfile.lock.json", list(lock...))
	_, err = bundler.Verify(root.FS())
	problems := diag.From(err)
	if len(problems) != 3 {
		t.Fatalf("want three changed packages, got %v", err)
	}
	for i, p := range problems {
		_, rest, _ := strings.Cut(p.Message, "its sum is ")
		sum, _, _ := strings.Cut(rest, ",")
		lock[i] = strings.Replace(lock[i], `"x"`, `"`+sum+`"`, 1)
	}
	write("jsonnetfile.lock.json", list(lock...))
	v, err := bundler.Verify(root.FS())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range v.Warnings {
		got = append(got, w.Code)
	}
	if want := []string{"VENDOR007", "VENDOR006"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", v.Warnings, want)
	}
	// The module's own word counts.
	write("jsonnetfile.json", list(dependency("example.com/a/k", ""), dependency("example.com/b/k", ""), dependency("example.com/c/d", "")))
	if err := os.Remove(filepath.Join(dir, "vendor", "k")); err != nil {
		t.Fatal(err)
	}
	if v, err = bundler.Verify(root.FS()); err != nil || len(v.Warnings) > 0 {
		t.Errorf("got %v, %v", v.Warnings, err)
	}
}

// FuzzParse checks that no text panics, and that names stay below vendor.
func FuzzParse(f *testing.F) {
	f.Add([]byte(list(dependency("example.com/a/b", `, "version": "main", "sum": "x", "single": true, "name": "y"`))))
	f.Add([]byte(`{"dependencies": [{"source": {"local": {"directory": "../.."}}}]}`))
	f.Add([]byte(`{"dependencies": [{"source": {"git": {"remote": "git@h:../../../x.git", "subdir": "../.."}}}]}`))
	f.Add([]byte(`{"dependencies": [{"source": {"git": {"remote": "https://a.gitlab.com/x/y", "subdir": "/z/"}}}], "legacyImports": 1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := bundler.Parse("jsonnetfile.json", data)
		if err != nil {
			if l := diag.From(err); len(l) == 0 || l[0].Code == "" {
				t.Errorf("an error without a code: %v", err)
			}
			return
		}
		for _, d := range file.Dependencies {
			if d.Name != "" && !fs.ValidPath("vendor/"+d.Name) {
				t.Errorf("%q is no name of a directory", d.Name)
			}
		}
	})
}
