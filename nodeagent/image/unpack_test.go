//go:build linux

package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sys/unix"
)

// archive makes a tar archive. Headers without a type are files of data.
func archive(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range entries {
		data := h.PAXRecords["data"]
		h.PAXRecords = nil
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
			h.Size = int64(len(data))
		}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		h.ModTime, h.Uid, h.Gid = time.Unix(1000, 0), os.Getuid(), os.Getgid()
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func file(name, data string) tar.Header {
	return tar.Header{Name: name, PAXRecords: map[string]string{"data": data}}
}

func dir(name string, mode int64) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: mode}
}

func link(kind byte, name, target string) tar.Header {
	return tar.Header{Name: name, Typeflag: kind, Linkname: target}
}

func imageOf(t testing.TB, layers ...[]byte) v1.Image {
	t.Helper()
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	for _, l := range layers {
		var err error
		if img, err = mutate.AppendLayers(img, static.NewLayer(l, types.OCIUncompressedLayer)); err != nil {
			t.Fatal(err)
		}
	}
	return img
}

func putLayers(t testing.TB, s *Store, ref string, layers ...[]byte) Result {
	t.Helper()
	parsed, err := ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.put(imageOf(t, layers...), parsed)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestUnpack(t *testing.T) {
	s := open(t)
	bottom := archive(t, dir("etc/", 0o755), file("./etc/name", "one"), file("/abs", "kept inside"),
		dir("locked/", 0o555), file("locked/in", "filled before it was locked"),
		link(tar.TypeSymlink, "out", "/etc/passwd"), link(tar.TypeSymlink, "in", "etc"), file("in/through", "a link inside"),
		link(tar.TypeLink, "hard", "etc/name"), tar.Header{Name: "suid", Mode: 0o4755, PAXRecords: map[string]string{"data": "x"}},
		link(tar.TypeChar, "dev/sda", ""), tar.Header{Name: "pipe", Typeflag: tar.TypeFifo},
		file("twice", "first"), file("twice", "second"), file("was-file", "x"), dir("was-file/", 0o700))
	top := archive(t, file("etc/.wh.name", ""), dir("gone/", 0o755), file("gone/.wh..wh..opq", ""), file("gone/new", "n"), file(".wh..wh.plnk", ""))
	putLayers(t, s, "x", bottom, top)
	root, err := s.Unpack(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if len(root.Layers) != 2 {
		t.Fatalf("%d layers", len(root.Layers))
	}
	low, high := root.Layers[0], root.Layers[1]
	for path, want := range map[string]string{
		"etc/name": "one", "abs": "kept inside", "locked/in": "filled before it was locked",
		"etc/through": "a link inside", "hard": "one", "twice": "second",
	} {
		if got, err := os.ReadFile(filepath.Join(low, path)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", path, got, err, want)
		}
	}
	for path, want := range map[string]os.FileMode{
		"locked": os.ModeDir | 0o555, "suid": os.ModeSetuid | 0o755, "pipe": os.ModeNamedPipe | 0o755,
		"out": os.ModeSymlink | 0o777, "was-file": os.ModeDir | 0o700, ".": os.ModeDir | 0o755,
	} {
		if info, err := os.Lstat(filepath.Join(low, path)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want mode %v", path, info, err, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(low, "dev", "sda")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a device was made: %v", err)
	}
	info, err := os.Lstat(filepath.Join(high, "etc", "name"))
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || info.Sys().(*syscall.Stat_t).Rdev != 0 {
		t.Errorf("whiteout: %v, %v", info, err)
	}
	value := make([]byte, 8)
	if n, err := unix.Getxattr(filepath.Join(high, "gone"), "user.overlay.opaque", value); err != nil || string(value[:n]) != "y" {
		t.Errorf("opaque: %q, %v", value, err)
	}
	if left, err := filepath.Glob(filepath.Join(high, "*", ".wh.*")); err != nil || len(left) != 0 {
		t.Errorf("whiteout files: %q, %v", left, err)
	}
	again, err := s.Unpack(t.Context(), "x")
	if err != nil || again.Layers[0] != low {
		t.Errorf("second Unpack: %+v, %v", again, err)
	}
}

func TestUnpackRefuses(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	for _, test := range []struct {
		name    string
		entries []tar.Header
		want    string
	}{
		{"dots", []tar.Header{file("../escape", "x")}, "leads out of the image"},
		{"dots inside", []tar.Header{file("a/../../escape", "x")}, "leads out of the image"},
		{"through a link", []tar.Header{link(tar.TypeSymlink, "d", filepath.Dir(outside)), file("d/outside", "x")}, "d/outside"},
		{"through a relative link", []tar.Header{link(tar.TypeSymlink, "d", "../../../../../../../../../../tmp"), file("d/outside", "x")}, "d/outside"},
		{"hard link out", []tar.Header{link(tar.TypeLink, "passwd", "../../../../../../../etc/passwd")}, "its target leads out"},
		{"hard link through a link", []tar.Header{link(tar.TypeSymlink, "e", "/etc"), link(tar.TypeLink, "p", "e/passwd")}, `"p"`},
		{"directory through a link", []tar.Header{link(tar.TypeSymlink, "d", "/tmp"), dir("d/made/", 0o755)}, "d/made"},
		{"whiteout through a link", []tar.Header{link(tar.TypeSymlink, "d", "/etc"), file("d/.wh.passwd", "")}, "d/.wh.passwd"},
		{"whiteout of parent", []tar.Header{file("a/.wh...", "")}, "hides nothing"},
		{"root replaced", []tar.Header{link(tar.TypeSymlink, "./", "/etc")}, "root"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := open(t)
			putLayers(t, s, "bad:v1", archive(t, test.entries...))
			_, err := s.Unpack(t.Context(), "bad:v1")
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "bad:v1") {
				t.Errorf("error %v, want one with %q and the image's name", err, test.want)
			}
			for _, pattern := range []string{"rootfs/*", "tmp/*", "escape", "../escape"} {
				if left, err := filepath.Glob(filepath.Join(s.dir, pattern)); err != nil || len(left) != 0 {
					t.Errorf("left behind: %q, %v", left, err)
				}
			}
			if _, err := os.Lstat(outside); err == nil {
				t.Error("a file was made outside")
			}
		})
	}
}

func TestUnpackConcurrently(t *testing.T) {
	s := open(t)
	putLayers(t, s, "x", archive(t, file("a", strings.Repeat("a", 100_000))))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			root, err := s.Unpack(t.Context(), "x")
			if err != nil {
				t.Error(err)
				return
			}
			if info, err := os.Stat(filepath.Join(root.Layers[0], "a")); err != nil || info.Size() != 100_000 {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no longer wanted"))
	putLayers(t, s, "y", archive(t, file("b", "x")))
	if _, err := s.Unpack(ctx, "y"); err == nil || !strings.Contains(err.Error(), "no longer wanted") {
		t.Errorf("cancelled Unpack: %v", err)
	}
}

func TestLoad(t *testing.T) {
	img := imageOf(t, archive(t, file("a", "loaded")))
	tag, err := name.NewTag("docker.io/library/loaded:v1")
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	docker := filepath.Join(work, "docker.tar")
	if err := tarball.WriteToFile(docker, tag, img); err != nil {
		t.Fatal(err)
	}
	oci := filepath.Join(work, "oci")
	path, err := layout.Write(oci, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.AppendImage(img, layout.WithAnnotations(map[string]string{refAnnotation: "loaded:v1"})); err != nil {
		t.Fatal(err)
	}
	ociTar := filepath.Join(work, "oci.tar")
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := w.AddFS(os.DirFS(oci)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ociTar, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, archive := range []string{docker, ociTar} {
		s := open(t)
		results, err := s.Load(t.Context(), archive)
		if err != nil || len(results) != 1 {
			t.Fatalf("Load(%s): %+v, %v", filepath.Base(archive), results, err)
		}
		root, err := s.Unpack(t.Context(), "loaded:v1")
		if err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(filepath.Join(root.Layers[0], "a")); err != nil || string(data) != "loaded" {
			t.Errorf("%s: %q, %v", filepath.Base(archive), data, err)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	work := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(work, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(archive(t, file("index.json", "{}"))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, path, want string
	}{
		{"missing", filepath.Join(work, "none.tar"), "no such file"},
		{"not tar", write("text", []byte("hello, I am not an archive, but rather long so as to be read as one")), "not a readable tar"},
		{"compressed", write("z.tar.gz", zipped.Bytes()), "must be unpacked first"},
		{"other tar", write("other.tar", archive(t, file("a", "b"))), "neither a docker archive"},
		{"broken manifest", write("m.tar", archive(t, file("manifest.json", "{"))), "manifest.json"},
		{"empty docker", write("e.tar", archive(t, file("manifest.json", "[]"))), "no image"},
		{"broken index", write("i.tar", archive(t, file("index.json", "{"), file("oci-layout", "{}"))), "index.json"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := open(t).Load(t.Context(), test.path)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "load images from "+test.path) {
				t.Errorf("error %v, want one with %q and the file's name", err, test.want)
			}
		})
	}
}

// FuzzExtract unpacks arbitrary archives: nothing may appear outside.
func FuzzExtract(f *testing.F) {
	f.Add(archive(f, file("a", "b"), dir("d/", 0o755), link(tar.TypeSymlink, "l", "/etc"), file("l/x", "y")))
	f.Add(archive(f, file("../a", "b"), file(".wh.x", ""), file("d/.wh..wh..opq", "")))
	f.Add([]byte("not an archive"))
	f.Fuzz(func(t *testing.T, data []byte) {
		parent := t.TempDir()
		inner := filepath.Join(parent, "a", "root")
		if err := os.MkdirAll(inner, 0o755); err != nil {
			t.Fatal(err)
		}
		// A bad archive is an error, which is fine.
		_ = extract(bytes.NewReader(data), inner)
		for path, want := range map[string]string{parent: "a", filepath.Dir(inner): "root"} {
			entries, err := os.ReadDir(path)
			if err != nil || len(entries) != 1 || entries[0].Name() != want {
				t.Errorf("in %s: %v, %v", path, entries, err)
			}
		}
		if err := filepath.WalkDir(inner, func(path string, d os.DirEntry, err error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(path, 0o755) // So that it can be removed.
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}
