package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Load stores every image of an archive made by `docker save` or holding an
// OCI image layout. From an image for several platforms it takes the one for
// linux on this architecture.
func (s *Store) Load(ctx context.Context, file string) ([]Result, error) {
	results, err := s.load(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("load images from %s: %w", file, err)
	}
	return results, nil
}

func (s *Store) load(ctx context.Context, file string) ([]Result, error) {
	names, err := archiveNames(ctx, file)
	if err != nil {
		return nil, err
	}
	switch {
	case slices.Contains(names, "manifest.json"):
		return s.loadDocker(file)
	case slices.Contains(names, "index.json"):
		return s.loadLayout(ctx, file)
	default:
		return nil, errors.New("it is neither a docker archive (manifest.json) nor an OCI layout (index.json)")
	}
}

// archiveNames lists the top-level entries.
func archiveNames(ctx context.Context, file string) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var names []string
	archive := tar.NewReader(&source{ctx: ctx, r: f, left: maxLayer})
	for n := 0; ; n++ {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, fmt.Errorf("is not a readable tar archive (compressed archives must be unpacked first): %w", err)
		}
		if n == maxEntries {
			return nil, fmt.Errorf("holds more than %d files", maxEntries)
		}
		if name := path.Clean(h.Name); path.Dir(name) == "." {
			names = append(names, name)
		}
	}
}

func (s *Store) loadDocker(file string) ([]Result, error) {
	opener := func() (io.ReadCloser, error) { return os.Open(file) }
	manifest, err := tarball.LoadManifest(opener)
	if err != nil {
		return nil, fmt.Errorf("manifest.json: %w", err)
	}
	var results []Result
	for _, d := range manifest {
		if len(d.RepoTags) == 0 {
			return nil, fmt.Errorf("image %s has no name: save it by name, as in `docker save name:tag`", d.Config)
		}
		for _, tag := range d.RepoTags {
			ref, err := ParseReference(tag)
			if err != nil {
				return nil, err
			}
			parsed, err := name.NewTag(tag)
			if err != nil {
				return nil, err
			}
			img, err := tarball.Image(opener, &parsed)
			if err != nil {
				return nil, fmt.Errorf("image %s: %w", tag, err)
			}
			result, err := s.put(img, ref)
			if err != nil {
				return nil, fmt.Errorf("image %s: %w", tag, err)
			}
			results = append(results, result)
		}
	}
	if len(results) == 0 {
		return nil, errors.New("it holds no image")
	}
	return results, nil
}

func (s *Store) loadLayout(ctx context.Context, file string) ([]Result, error) {
	dir, err := os.MkdirTemp(filepath.Join(s.dir, "tmp"), "load-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := extract(&source{ctx: ctx, r: f, left: maxLayer}, dir); err != nil {
		return nil, err
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("index.json: %w", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("index.json: %w", err)
	}
	var results []Result
	for _, d := range manifest.Manifests {
		named := d.Annotations["io.containerd.image.name"]
		if named == "" {
			named = d.Annotations[refAnnotation]
		}
		if named == "" {
			return nil, fmt.Errorf("image %s has no name: give it one in the annotation %s", d.Digest, refAnnotation)
		}
		ref, err := ParseReference(named)
		if err != nil {
			return nil, err
		}
		img, err := platformImage(index, d)
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", named, err)
		}
		result, err := s.put(img, ref)
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", named, err)
		}
		results = append(results, result)
	}
	if len(results) == 0 {
		return nil, errors.New("it holds no image")
	}
	return results, nil
}

// platformImage opens an image, choosing from an index the one to run here.
func platformImage(index v1.ImageIndex, d v1.Descriptor) (v1.Image, error) {
	switch d.MediaType {
	case types.OCIManifestSchema1, types.DockerManifestSchema2:
		return index.Image(d.Digest)
	case types.OCIImageIndex, types.DockerManifestList:
	default:
		return nil, fmt.Errorf("is a %s, not an image", d.MediaType)
	}
	inner, err := index.ImageIndex(d.Digest)
	if err != nil {
		return nil, err
	}
	manifest, err := inner.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, m := range manifest.Manifests {
		if m.Platform != nil && m.Platform.OS == "linux" && m.Platform.Architecture == runtime.GOARCH {
			return inner.Image(m.Digest)
		}
	}
	return nil, fmt.Errorf("has no variant for linux/%s", runtime.GOARCH)
}
