//go:build linux

package sandbox

import (
	"archive/tar"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/writ-dev/writ/nodeagent/image"
	"github.com/writ-dev/writ/nodeagent/runtime"
)

type entry struct {
	name, data, link string
	mode             int64
}

func layer(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: tar.TypeReg, Mode: e.mode, Size: int64(len(e.data)), Linkname: e.link,
			Uid: os.Getuid(), Gid: os.Getgid()}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		switch {
		case e.link != "":
			h.Typeflag = tar.TypeSymlink
		case strings.HasSuffix(e.name, "/"):
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// loadImage stores an image of the probe program with further layers on it.
func loadImage(t *testing.T, store *image.Store, ref, user string, layers ...[]byte) {
	t.Helper()
	root, err := store.Unpack(t.Context(), probe64)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join(root.Layers[0], "bin", "probe"))
	if err != nil {
		t.Fatal(err)
	}
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	for _, l := range append([][]byte{layer(t, entry{name: "bin/probe", data: string(program)})}, layers...) {
		if img, err = mutate.AppendLayers(img, static.NewLayer(l, types.OCIUncompressedLayer)); err != nil {
			t.Fatal(err)
		}
	}
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	file = file.DeepCopy()
	file.Config.Entrypoint, file.Config.User = []string{"/bin/probe"}, user
	if img, err = mutate.ConfigFile(img, file); err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(ref)
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "image.tar")
	if err := tarball.WriteToFile(archive, tag, img); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Load(t.Context(), archive); err != nil {
		t.Fatal(err)
	}
}

// runImage runs one container in a runtime whose directory has a name that
// means something to overlayfs, and returns its output.
func runImage(t *testing.T, ref string, args ...string) string {
	t.Helper()
	store, err := probeStore()
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Options{Dir: filepath.Join(t.TempDir(), `odd,name:with\all`), Images: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := r.CreateSandbox(ctx, runtime.SandboxConfig{ID: "p", Hostname: "p", ResolvConf: "ours", Hosts: "our hosts"}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.StartContainer(ctx, runtime.ContainerConfig{ID: "c", SandboxID: "p", Image: ref, Args: args, Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	if exit, err := r.Wait(ctx, "c"); err != nil || exit.Code != 0 {
		t.Fatalf("exit %+v, %v, output %q", exit, err, out.String())
	}
	return out.String()
}

func TestLayersAreOneTree(t *testing.T) {
	store, err := probeStore()
	if err != nil {
		t.Fatal(err)
	}
	loadImage(t, store, "test/layers:v1", "",
		layer(t, entry{name: "data/one", data: "1"}, entry{name: "data/two", data: "2"}, entry{name: "old/gone", data: "x"}, entry{name: "same", data: "low"}),
		layer(t, entry{name: "data/.wh.one"}, entry{name: "old/"}, entry{name: "old/.wh..wh..opq"}, entry{name: "old/new", data: "n"}, entry{name: "same", data: "high"}))
	got := runImage(t, "test/layers:v1", "list:/data/*", "list:/old/*", "read:/same", "read:/data/two")
	if want := "/data/two\n/old/new\nhigh\n2\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLinksStayInside starts an image whose links point at the host from where
// the runtime makes directories and mounts.
func TestLinksStayInside(t *testing.T) {
	store, err := probeStore()
	if err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	loadImage(t, store, "test/links:v1", "",
		layer(t, entry{name: "etc/"}, entry{name: "etc/resolv.conf", link: "../run/resolv.conf"},
			entry{name: "etc/hosts", link: filepath.Join(outside, "hosts")}, entry{name: "tmp", link: "/var/tmp"}, entry{name: "var/tmp/"}))
	got := runImage(t, "test/links:v1", "read:/etc/resolv.conf", "read:/etc/hosts", "write:/tmp/x=y", "list:/var/tmp/*")
	if want := "ours\nour hosts\n/var/tmp/x\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 0 {
		t.Errorf("made outside: %v, %v", left, err)
	}
}

func TestImageUser(t *testing.T) {
	store, err := probeStore()
	if err != nil {
		t.Fatal(err)
	}
	passwd := layer(t, entry{name: "etc/passwd", data: "broken\nroot:x:0:0::/root:\napp:x:1234:567::/home/app:\n", mode: 0o644},
		entry{name: "etc/group", data: "staff:x:890:\n", mode: 0o644})
	loadImage(t, store, "test/user:root", "root", passwd)
	if got := runImage(t, "test/user:root", "ids", "env:HOME"); got != "0 0 1\nHOME=/root\n" {
		t.Errorf("root: %q", got)
	}
	ids, err := readIDMaps("/proc/self")
	if err != nil {
		t.Fatal(err)
	}
	if !mapped(ids.users, 1234) {
		return // The contract's test of users covers the refusal.
	}
	loadImage(t, store, "test/user:app", "app:staff", passwd)
	if got := runImage(t, "test/user:app", "ids", "env:HOME"); got != "1234 890 1\nHOME=/home/app\n" {
		t.Errorf("app: %q", got)
	}
}
