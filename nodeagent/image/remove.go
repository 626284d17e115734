package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Remove takes a name, or with a digest the image under all its names, out of
// the store, and deletes the blobs that no image needs any more. ErrNotFound
// if there is none. Running containers are not disturbed: unpacked layers
// stay.
func (s *Store) Remove(ref string) error {
	r, err := ParseReference(ref)
	if err != nil {
		return err
	}
	return s.changeIndex(func(index *v1.IndexManifest) error {
		kept := make([]v1.Descriptor, 0, len(index.Manifests))
		for _, d := range index.Manifests {
			gone := r.Digest != "" && d.Digest.String() == r.Digest ||
				r.Digest == "" && d.Annotations[refAnnotation] == r.Tagged()
			if !gone {
				kept = append(kept, d)
			}
		}
		if len(kept) == len(index.Manifests) {
			return fmt.Errorf("%s: %w", ref, ErrNotFound)
		}
		index.Manifests = kept
		// The index is written first: a crash then leaves blobs too many,
		// never too few.
		if err := s.writeIndex(index); err != nil {
			return err
		}
		return s.collect(index)
	})
}

// collect deletes blobs that no image in the index needs.
func (s *Store) collect(index *v1.IndexManifest) error {
	needed := map[string]bool{}
	for _, d := range index.Manifests {
		m, err := s.manifest(d.Digest)
		if err != nil {
			return err
		}
		needed[d.Digest.Hex], needed[m.Config.Digest.Hex] = true, true
		for _, layer := range m.Layers {
			needed[layer.Digest.Hex] = true
		}
	}
	dir := filepath.Join(s.dir, "blobs", "sha256")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if needed[e.Name()] {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
