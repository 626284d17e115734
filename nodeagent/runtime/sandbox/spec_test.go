//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/nodeagent/image"
	"github.com/writ-dev/writ/nodeagent/runtime"
)

func TestMergeCommand(t *testing.T) {
	img := image.Config{Entrypoint: []string{"entry"}, Cmd: []string{"cmd", "x"}}
	for _, test := range []struct {
		name          string
		command, args []string
		img           image.Config
		want          []string
	}{
		{"image alone", nil, nil, img, []string{"entry", "cmd", "x"}},
		{"args", nil, []string{"a"}, img, []string{"entry", "a"}},
		{"command", []string{"c"}, nil, img, []string{"c"}},
		{"both", []string{"c"}, []string{"a"}, img, []string{"c", "a"}},
		{"cmd alone", nil, nil, image.Config{Cmd: []string{"only"}}, []string{"only"}},
		{"nothing", nil, nil, image.Config{}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := merge(runtime.ContainerConfig{Command: test.command, Args: test.args}, test.img, "h")
			if (err != nil) != (test.want == nil) {
				t.Fatalf("error %v", err)
			}
			if err == nil {
				if diff := cmp.Diff(test.want, s.Argv); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestMergeRest(t *testing.T) {
	img := image.Config{Cmd: []string{"x"}, Env: []string{"A=image", "PATH=/image", "B=image"}, WorkingDir: "/image"}
	s, err := merge(runtime.ContainerConfig{
		Env: []string{"B=own", "C=1", "C=2", "nothing", "=bad"}, WorkingDir: "rel/../dir",
		Mounts: []runtime.Mount{{Source: "/s1", Target: "/a/b/c"}, {Source: "/s2", Target: "/a/"}, {Source: "/s3", Target: "/x/../a/b"}},
	}, img, "host")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"PATH=/image", "A=image", "B=own", "HOSTNAME=host", "C=2"}, s.Env); diff != "" {
		t.Errorf("environment:\n%s", diff)
	}
	if s.Dir != "/dir" {
		t.Errorf("working directory %q", s.Dir)
	}
	var targets []string
	for _, m := range s.Mounts {
		targets = append(targets, m.Target)
	}
	if diff := cmp.Diff([]string{"/a", "/a/b", "/a/b/c"}, targets); diff != "" {
		t.Errorf("mounts:\n%s", diff)
	}
	for name, c := range map[string]runtime.ContainerConfig{
		"mount at root":        {Mounts: []runtime.Mount{{Source: "/s", Target: "/x/.."}}},
		"mount in proc":        {Mounts: []runtime.Mount{{Source: "/s", Target: "/proc/sys"}}},
		"relative source":      {Mounts: []runtime.Mount{{Source: "s", Target: "/s"}}},
		"zero byte":            {Args: []string{"a\x00b"}},
		"zero byte in setting": {Env: []string{"A=\x00"}},
	} {
		if _, err := merge(c, img, "h"); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestMergeUser(t *testing.T) {
	id := func(n int64) *int64 { return &n }
	for _, test := range []struct {
		name        string
		image       string
		user, group *int64
		nonRoot     bool
		want, err   string
	}{
		{name: "nothing"},
		{name: "image", image: "app:staff", want: "app:staff"},
		{name: "image by number", image: "1000", nonRoot: true, want: "1000"},
		{name: "own user", image: "app:staff", user: id(5), want: "5"},
		{name: "own group", image: "app:staff", group: id(7), want: "app:7"},
		{name: "group alone", group: id(7), want: "0:7"},
		{name: "both", user: id(5), group: id(7), nonRoot: true, want: "5:7"},
		{name: "root by default", nonRoot: true, err: "must not run as root"},
		{name: "root by image", image: "0:5", nonRoot: true, err: "must not run as root"},
		{name: "root by own choice", image: "app", user: id(0), nonRoot: true, err: "must not run as root"},
		{name: "unknown name", image: "app", nonRoot: true, err: "not a number"},
		{name: "negative", user: id(-1), err: "-1 is not a user"},
		{name: "too large", group: id(1 << 31), err: "is not a user or group"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := mergeUser(runtime.ContainerConfig{User: test.user, Group: test.group, RunAsNonRoot: test.nonRoot}, test.image)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want one with %q", err, test.err)
				}
				return
			}
			if err != nil || got != test.want {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"a/tool": 0o755, "b/tool": 0o755, "a/data": 0o644, "b/late": 0o755} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "a") + ":" + filepath.Join(dir, "b")
	for _, test := range []struct{ name, want, err string }{
		{"tool", filepath.Join(dir, "a", "tool"), ""},
		{"late", filepath.Join(dir, "b", "late"), ""},
		{"data", "", "not executable"},
		{"none", "", "not found in the container's PATH (" + path + ")"},
		{"./rel", "./rel", ""},
		{"", "", "empty"},
	} {
		got, err := lookPath(test.name, path)
		if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("lookPath(%q) = %q, %v; want %q, %q", test.name, got, err, test.want, test.err)
		}
	}
}

func TestMapped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "uid_map")
	if err := os.WriteFile(file, []byte("         0       1000          1\n         1     100000      65536\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ranges, err := readIDMap(file)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[int]bool{0: true, 1: true, 65536: true, 65537: false, 1 << 30: false} {
		if got := mapped(ranges, id); got != want {
			t.Errorf("mapped(%d) = %v", id, got)
		}
	}
	if err := os.WriteFile(file, []byte("nonsense\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readIDMap(file); err == nil {
		t.Error("nonsense was read")
	}
}

// FuzzLookupEntry reads whatever an image may have for /etc/passwd.
func FuzzLookupEntry(f *testing.F) {
	f.Add("root:x:0:0:root:/root:/bin/sh\n")
	f.Add(":::::::\nx:x:99999999999999999999:0:::\na:b:-1:2:c:d:e\n")
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "passwd")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		entry, err := lookupEntry(file, 7, func(f []string) bool { return f[0] != "" })
		if err == nil && entry != nil && len(entry) < 7 {
			t.Errorf("entry %q", entry)
		}
	})
}
