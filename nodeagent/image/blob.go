package image

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// errDamaged tells that stored bytes are not those that were stored.
var errDamaged = errors.New("does not match its digest: the image store is damaged; build or load the image again")

// document reads a small blob whole and checks its digest.
func (s *Store) document(h v1.Hash) ([]byte, error) {
	file, err := os.Open(filepath.Join(s.dir, "blobs", h.Algorithm, h.Hex))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxManifest+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxManifest {
		return nil, fmt.Errorf("is larger than %d MiB", maxManifest>>20)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != h.Hex {
		return nil, errDamaged
	}
	return data, nil
}

func (s *Store) manifest(h v1.Hash) (*v1.Manifest, error) {
	data, err := s.document(h)
	if err != nil {
		return nil, fmt.Errorf("image %s: manifest: %w", h, err)
	}
	m, err := v1.ParseManifest(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("image %s: manifest: %w", h, err)
	}
	return m, nil
}

func (s *Store) config(image v1.Hash, m *v1.Manifest) (*v1.ConfigFile, error) {
	data, err := s.document(m.Config.Digest)
	if err != nil {
		return nil, fmt.Errorf("image %s: config %s: %w", image, m.Config.Digest, err)
	}
	c, err := v1.ParseConfigFile(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("image %s: config %s: %w", image, m.Config.Digest, err)
	}
	if len(c.RootFS.DiffIDs) != len(m.Layers) {
		return nil, fmt.Errorf("image %s: config names %d layers, manifest %d", image, len(c.RootFS.DiffIDs), len(m.Layers))
	}
	return c, nil
}

// put stores an image's blobs and gives it a name. An older image of that
// name loses it.
func (s *Store) put(img v1.Image, ref Reference) (Result, error) {
	digest, err := img.Digest()
	if err != nil {
		return Result{}, err
	}
	size, err := img.Size()
	if err != nil {
		return Result{}, err
	}
	mediaType, err := img.MediaType()
	if err != nil {
		return Result{}, err
	}
	entry := v1.Descriptor{MediaType: mediaType, Digest: digest, Size: size}
	// Blobs are written under the lock, so that a concurrent Remove cannot
	// take them for garbage before the index names them.
	err = s.changeIndex(func(index *v1.IndexManifest) error {
		if err := s.putBlobs(img); err != nil {
			return fmt.Errorf("store image %s: %w", ref.Tagged(), err)
		}
		rename(index, entry, ref.Tagged())
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	return Result{Ref: ref.Name + "@" + digest.String(), Digest: digest.String()}, nil
}

// name gives a stored image one more name. It reports false, and changes
// nothing, when the store does not hold the image whole.
func (s *Store) name(digest v1.Hash, ref Reference) (found bool, err error) {
	manifest, err := s.manifest(digest)
	if err != nil {
		return false, nil
	}
	for _, blob := range append(manifest.Layers, manifest.Config) {
		info, err := os.Stat(filepath.Join(s.dir, "blobs", blob.Digest.Algorithm, blob.Digest.Hex))
		if err != nil || info.Size() != blob.Size {
			return false, nil
		}
	}
	err = s.changeIndex(func(index *v1.IndexManifest) error {
		for _, d := range index.Manifests {
			if d.Digest == digest {
				found = true
				rename(index, d, ref.Tagged())
				return nil
			}
		}
		return nil
	})
	return found, err
}

func (s *Store) putBlobs(img v1.Image) error {
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	for _, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			return err
		}
		content, err := layer.Compressed()
		if err != nil {
			return err
		}
		err = s.putBlob(digest, content)
		if err := errors.Join(err, content.Close()); err != nil {
			return fmt.Errorf("layer %s: %w", digest, err)
		}
	}
	config, err := img.RawConfigFile()
	if err != nil {
		return err
	}
	name, err := img.ConfigName()
	if err != nil {
		return err
	}
	if err := s.putBlob(name, bytes.NewReader(config)); err != nil {
		return fmt.Errorf("config %s: %w", name, err)
	}
	manifest, err := img.RawManifest()
	if err != nil {
		return err
	}
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	return s.putBlob(digest, bytes.NewReader(manifest))
}

// putBlob stores content under its digest, in one step. What is there already
// is kept only if it is sound, so that storing again repairs a damaged store.
func (s *Store) putBlob(h v1.Hash, content io.Reader) error {
	path := filepath.Join(s.dir, "blobs", h.Algorithm, h.Hex)
	if old, err := os.Open(path); err == nil {
		have, _, err := v1.SHA256(old)
		old.Close()
		if err == nil && have == h {
			return nil
		}
	}
	tmp, err := os.CreateTemp(filepath.Join(s.dir, "tmp"), "blob-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(tmp, sum), content)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != h.Hex {
		return errors.New("content does not match its digest")
	}
	return os.Rename(tmp.Name(), path)
}

// rename makes the index name one image tagged. The image that had the name
// stays in the index, without one, because a running release may still refer
// to it by digest.
func rename(index *v1.IndexManifest, image v1.Descriptor, tagged string) {
	kept := make([]v1.Descriptor, 0, len(index.Manifests)+1)
	var old []v1.Descriptor
	for _, d := range index.Manifests {
		switch {
		case d.Annotations[refAnnotation] == tagged:
			d.Annotations = nil
			old = append(old, d)
		case d.Digest == image.Digest && d.Annotations[refAnnotation] == "":
			// It has a name now.
		default:
			kept = append(kept, d)
		}
	}
	image.Annotations = map[string]string{refAnnotation: tagged}
	kept = append(kept, image)
	for _, d := range old {
		if !slices.ContainsFunc(kept, func(k v1.Descriptor) bool { return k.Digest == d.Digest }) {
			kept = append(kept, d)
		}
	}
	index.Manifests = kept
}

// stale tells whether a temporary file can no longer be in use: no build or
// unpacking takes a day.
func stale(t time.Time) bool { return time.Since(t) > 24*time.Hour }
