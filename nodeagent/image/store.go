// Package image keeps container images in a local directory, builds them from
// Go packages, and unpacks them for a runtime.
//
// The store is an OCI image layout (index.json, blobs/) with two directories
// of its own beside it: rootfs/ holds unpacked layers and builds/ remembers
// which inputs gave which image. Several processes may use one store at the
// same time: the index changes under a file lock and by rename, blobs and
// unpacked layers appear by rename only.
//
// Invariants: a blob is named by its digest and content is checked against it
// whenever it is read; a directory below rootfs/ is complete; building the
// same sources for the same platform gives the same digest wherever they lie.
//
// The package never talks to a registry and never runs a container.
//
//	store, err := image.Open(dir)
//	built, err := store.Build(ctx, image.BuildOptions{Dir: "./web", Ref: "guestbook/web"})
//	root, err := store.Unpack(ctx, built.Ref)
package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// ErrNotFound is returned for a reference that the store does not hold.
var ErrNotFound = errors.New("no such image in the local store")

const (
	layoutVersion = "1.0.0"
	// refAnnotation names a manifest in index.json (OCI image layout spec).
	refAnnotation = "org.opencontainers.image.ref.name"
	// maxManifest bounds index, manifest and config documents, in bytes.
	maxManifest = 4 << 20
)

// Store is a local image store. Make one with Open; it needs no Close.
type Store struct {
	dir string
	// mu orders the writers of this process; the file lock orders processes.
	mu sync.Mutex
}

// Result names an image: Ref is name@digest (or the digest alone where no name
// was given), Digest that of the manifest.
type Result struct {
	Ref, Digest string
}

// Listed is one entry of List. Ref is name:tag, empty for an image whose name
// a newer one took. Size is the sum of its blobs in bytes.
type Listed struct {
	Ref, Digest string
	Size        int64
}

// Open opens the store in dir and creates it if it is missing.
func Open(dir string) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open image store %s: %w", dir, err)
	}
	s := &Store{dir: abs}
	for _, sub := range []string{filepath.Join("blobs", "sha256"), "rootfs", "builds", "tmp"} {
		if err := os.MkdirAll(filepath.Join(abs, sub), 0o755); err != nil {
			return nil, fmt.Errorf("open image store: %w", err)
		}
	}
	unlock, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := s.checkLayout(); err != nil {
		return nil, fmt.Errorf("open image store %s: %w", dir, err)
	}
	s.sweep()
	return s, nil
}

// checkLayout writes the two files of an empty layout or checks what is there.
func (s *Store) checkLayout() error {
	path := filepath.Join(s.dir, "oci-layout")
	var layout struct {
		Version string `json:"imageLayoutVersion"`
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := s.writeFile(path, []byte(`{"imageLayoutVersion":"`+layoutVersion+`"}`)); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(data, &layout); err != nil || layout.Version != layoutVersion {
			return fmt.Errorf("oci-layout is not of version %s: %q", layoutVersion, data)
		}
	}
	if _, err := s.readIndex(); errors.Is(err, fs.ErrNotExist) {
		return s.writeIndex(&v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{}})
	} else if err != nil {
		return err
	}
	return nil
}

func (s *Store) readIndex() (*v1.IndexManifest, error) {
	file, err := os.Open(filepath.Join(s.dir, "index.json"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	index, err := v1.ParseIndexManifest(file)
	if err != nil {
		return nil, fmt.Errorf("index.json is damaged: %w", err)
	}
	return index, nil
}

func (s *Store) writeIndex(index *v1.IndexManifest) error {
	data, err := json.Marshal(index)
	if err != nil {
		return err
	}
	return s.writeFile(filepath.Join(s.dir, "index.json"), data)
}

// writeFile replaces a file in one step.
func (s *Store) writeFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Join(s.dir, "tmp"), "file-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// changeIndex applies change to index.json under the store's lock.
func (s *Store) changeIndex(change func(*v1.IndexManifest) error) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	index, err := s.readIndex()
	if err != nil {
		return fmt.Errorf("read image store %s: %w", s.dir, err)
	}
	if err := change(index); err != nil {
		return err
	}
	if err := s.writeIndex(index); err != nil {
		return fmt.Errorf("write image store %s: %w", s.dir, err)
	}
	return nil
}

// Resolve finds the image that ref means. A digest wins over a tag; without
// either the tag is "latest". The result names it by digest. ErrNotFound when
// the store does not hold it.
func (s *Store) Resolve(ref string) (Result, error) {
	r, err := ParseReference(ref)
	if err != nil {
		return Result{}, err
	}
	index, err := s.readIndex()
	if err != nil {
		return Result{}, fmt.Errorf("read image store %s: %w", s.dir, err)
	}
	want := r.Tagged()
	for _, d := range index.Manifests {
		found := d.Annotations[refAnnotation] == want
		if r.Digest != "" {
			found = d.Digest.String() == r.Digest
		}
		if !found {
			continue
		}
		result := Result{Ref: d.Digest.String(), Digest: d.Digest.String()}
		if r.Name != "" {
			result.Ref = r.Name + "@" + result.Digest
		}
		return result, nil
	}
	return Result{}, fmt.Errorf("%s: %w", ref, ErrNotFound)
}

// List returns every image, ordered by name.
func (s *Store) List() ([]Listed, error) {
	index, err := s.readIndex()
	if err != nil {
		return nil, fmt.Errorf("read image store %s: %w", s.dir, err)
	}
	var list []Listed
	for _, d := range index.Manifests {
		size := d.Size
		manifest, err := s.manifest(d.Digest)
		if err != nil {
			return nil, err
		}
		for _, blob := range append(slices.Clone(manifest.Layers), manifest.Config) {
			size += blob.Size
		}
		list = append(list, Listed{Ref: d.Annotations[refAnnotation], Digest: d.Digest.String(), Size: size})
	}
	slices.SortFunc(list, func(a, b Listed) int { return strings.Compare(a.Ref, b.Ref) })
	return list, nil
}

// sweep removes what crashed processes left in tmp/. The lock is held.
func (s *Store) sweep() {
	entries, err := os.ReadDir(filepath.Join(s.dir, "tmp"))
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && stale(info.ModTime()) {
			_ = os.RemoveAll(filepath.Join(s.dir, "tmp", e.Name()))
		}
	}
}
