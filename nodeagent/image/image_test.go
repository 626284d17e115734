package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func open(t testing.TB) *Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "images")
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	// An ordinary user cannot empty the locked directories of an image.
	t.Cleanup(func() {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				return os.Chmod(path, 0o700)
			}
			return nil
		})
	})
	return s
}

// putProgram stores an image made of given bytes.
func putProgram(t testing.TB, s *Store, content, ref string) Result {
	t.Helper()
	img, err := programImage([]byte(content), "prog", "linux", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.put(img, parsed)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestResolveListRemove(t *testing.T) {
	s := open(t)
	one := putProgram(t, s, "one", "team/one:v1")
	two := putProgram(t, s, "two", "two")
	again, err := Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"team/one:v1", one.Ref, one.Digest, "other/name@" + one.Digest, "docker.io/team/one:v1"} {
		if got, err := again.Resolve(ref); err != nil || got.Digest != one.Digest {
			t.Errorf("Resolve(%q) = %+v, %v; want digest %s", ref, got, err, one.Digest)
		}
	}
	for _, ref := range []string{"team/one", "team/one:v2", "two:v1", "two@sha256:" + strings.Repeat("0", 64)} {
		if got, err := s.Resolve(ref); !errors.Is(err, ErrNotFound) {
			t.Errorf("Resolve(%q) = %+v, %v; want ErrNotFound", ref, got, err)
		}
	}
	// A new image takes the name; the old one is still there by digest.
	three := putProgram(t, s, "three", "team/one:v1")
	if got, err := s.Resolve("team/one:v1"); err != nil || got.Digest != three.Digest {
		t.Errorf("Resolve after replacing: %+v, %v; want %s", got, err, three.Digest)
	}
	if _, err := s.Resolve(one.Digest); err != nil {
		t.Errorf("Resolve of a replaced image: %v", err)
	}
	var names []string
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		names = append(names, l.Ref)
		if l.Size < 1000 {
			t.Errorf("size of %+v", l)
		}
	}
	if diff := cmp.Diff([]string{"", "team/one:v1", "two:latest"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for _, ref := range []string{one.Digest, "two", "team/one:v1"} {
		if err := s.Remove(ref); err != nil {
			t.Errorf("Remove(%q): %v", ref, err)
		}
	}
	if err := s.Remove(two.Ref); !errors.Is(err, ErrNotFound) {
		t.Errorf("second Remove: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(s.dir, "blobs", "sha256", "*")); err != nil || len(left) != 0 {
		t.Errorf("blobs left: %q, %v", left, err)
	}
}

func TestRemoveKeepsSharedBlobs(t *testing.T) {
	s := open(t)
	a := putProgram(t, s, "same", "a")
	putProgram(t, s, "same", "b")
	if err := s.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Unpack(t.Context(), "b"); err != nil {
		t.Error(err)
	}
	if _, err := s.Resolve(a.Digest); err != nil {
		t.Error(err)
	}
}

// TestProcessesShareStore adds images from several processes, each with many
// writers: none may be lost.
func TestProcessesShareStore(t *testing.T) {
	const processes, writers, images = 3, 3, 4
	if dir := os.Getenv("WRIT_IMAGE_DIR"); dir != "" {
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range images {
					name := fmt.Sprintf("p%s/w%d:i%d", os.Getenv("WRIT_IMAGE_PROCESS"), w, i)
					putProgram(t, s, name, name)
				}
			})
		}
		wg.Wait()
		return
	}
	s := open(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for p := range processes {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), self, "-test.run", "^TestProcessesShareStore$", "-test.timeout", "60s")
			cmd.Env = append(os.Environ(), "WRIT_IMAGE_DIR="+s.dir, fmt.Sprint("WRIT_IMAGE_PROCESS=", p))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", p, err, out)
			}
		})
	}
	wg.Wait()
	list, err := s.List()
	if err != nil || len(list) != processes*writers*images {
		t.Errorf("%d images, %v; want %d", len(list), err, processes*writers*images)
	}
}

func TestDamage(t *testing.T) {
	blob := func(s *Store, h v1.Hash) string { return filepath.Join(s.dir, "blobs", h.Algorithm, h.Hex) }
	for _, test := range []struct {
		name   string
		damage func(*testing.T, *Store, *v1.Manifest, string) error
		want   []string
	}{
		{"layer changed", func(_ *testing.T, s *Store, m *v1.Manifest, _ string) error {
			data, err := os.ReadFile(blob(s, m.Layers[0].Digest))
			if err != nil {
				return err
			}
			data[len(data)/3] ^= 1
			return os.WriteFile(blob(s, m.Layers[0].Digest), data, 0o644)
		}, []string{"unpack image x", "layer sha256:"}},
		{"layer cut", func(_ *testing.T, s *Store, m *v1.Manifest, _ string) error {
			return os.Truncate(blob(s, m.Layers[0].Digest), 700)
		}, []string{"unpack image x", "layer sha256:", "not a readable archive"}},
		{"layer missing", func(_ *testing.T, s *Store, m *v1.Manifest, _ string) error {
			return os.Remove(blob(s, m.Layers[0].Digest))
		}, []string{"unpack image x", "no such file"}},
		{"config changed", func(_ *testing.T, s *Store, m *v1.Manifest, _ string) error {
			return os.WriteFile(blob(s, m.Config.Digest), []byte("{}"), 0o644)
		}, []string{"config sha256:", "damaged"}},
		{"manifest changed", func(_ *testing.T, s *Store, _ *v1.Manifest, digest string) error {
			return os.WriteFile(filepath.Join(s.dir, "blobs", strings.Replace(digest, ":", "/", 1)), []byte("{"), 0o644)
		}, []string{"manifest", "damaged"}},
		{"index damaged", func(_ *testing.T, s *Store, _ *v1.Manifest, _ string) error {
			return os.WriteFile(filepath.Join(s.dir, "index.json"), []byte("{"), 0o644)
		}, []string{"index.json is damaged"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := open(t)
			r := putProgram(t, s, strings.Repeat("program", 500), "x")
			h, err := v1.NewHash(r.Digest)
			if err != nil {
				t.Fatal(err)
			}
			m, err := s.manifest(h)
			if err != nil {
				t.Fatal(err)
			}
			if err := test.damage(t, s, m, r.Digest); err != nil {
				t.Fatal(err)
			}
			_, err = s.Unpack(t.Context(), "x")
			if err == nil {
				t.Fatal("a damaged image was unpacked")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
			if left, err := filepath.Glob(filepath.Join(s.dir, "rootfs", "*")); err != nil || len(left) != 0 {
				t.Errorf("half an image was left: %q, %v", left, err)
			}
			if test.name == "index damaged" {
				if _, err := Open(s.dir); err == nil || !strings.Contains(err.Error(), "index.json is damaged") {
					t.Errorf("Open: %v", err)
				}
				return
			}
			// Storing it again repairs it.
			putProgram(t, s, strings.Repeat("program", 500), "x")
			if _, err := s.Unpack(t.Context(), "x"); err != nil {
				t.Errorf("after storing again: %v", err)
			}
		})
	}
}

func TestOpenRefusesOtherLayout(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "oci-layout"), []byte(`{"imageLayoutVersion":"9.0"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "9.0") {
		t.Errorf("Open: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); err == nil {
		t.Error("a file was opened as a store")
	}
}

func TestParseReference(t *testing.T) {
	digest := "sha256:" + strings.Repeat("ab", 32)
	for _, test := range []struct {
		in   string
		want Reference
	}{
		{"redis", Reference{Name: "redis"}},
		{"redis:7", Reference{Name: "redis", Tag: "7"}},
		{"docker.io/library/redis:7", Reference{Name: "redis", Tag: "7"}},
		{"localhost:5000/a/b", Reference{Name: "localhost:5000/a/b"}},
		{"localhost:5000/a/b:t@" + digest, Reference{Name: "localhost:5000/a/b", Tag: "t", Digest: digest}},
		{digest, Reference{Digest: digest}},
	} {
		if got, err := ParseReference(test.in); err != nil || got != test.want {
			t.Errorf("ParseReference(%q) = %+v, %v; want %+v", test.in, got, err, test.want)
		}
	}
	for _, in := range []string{"", "Redis", "a b", "a:", "a@", "a@sha256:12", "a@sha512:" + strings.Repeat("ab", 64),
		"/a", "a/", "a//b", "../a", "a:b:c", strings.Repeat("a", 1000), "a\x00", "sha256:" + strings.Repeat("zz", 32)} {
		if got, err := ParseReference(in); err == nil {
			t.Errorf("ParseReference(%q) = %+v, want an error", in, got)
		}
	}
}

func FuzzParseReference(f *testing.F) {
	for _, s := range []string{"a", "a:b", "a/b:c@sha256:" + strings.Repeat("ab", 32), "localhost:1/a", "docker.io/library/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseReference(s)
		if err != nil || r.Name == "" {
			return
		}
		if strings.Contains(r.Name, "..") || strings.HasPrefix(r.Name, "/") {
			t.Errorf("ParseReference(%q) = %+v", s, r)
		}
		// What the index keeps must mean the same when read again.
		again, err := ParseReference(r.Tagged())
		if err != nil || again.Name != r.Name || again.Tagged() != r.Tagged() {
			t.Errorf("ParseReference(%q) = %+v, %v; want %+v", r.Tagged(), again, err, r)
		}
	})
}
