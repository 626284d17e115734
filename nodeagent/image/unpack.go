package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// Rootfs is an image ready to run.
type Rootfs struct {
	// Digest is that of the manifest, ConfigDigest that of the config (what
	// Kubernetes calls the image ID).
	Digest, ConfigDigest string
	// Layers are directories to use read-only as overlay lower layers, the
	// bottom one first as in the manifest. Whiteouts are in overlayfs's own
	// form, opaque directories in that of its userxattr mount option.
	Layers []string
	Config Config
}

// Config is how the image wants to be run.
type Config struct {
	Entrypoint, Cmd, Env []string
	WorkingDir, User     string
}

// Unpack returns the image's layers as directories, unpacking those that no
// image has been unpacked for before. It may be called by several at once.
// Unpacked layers stay until the store's directory is deleted.
func (s *Store) Unpack(ctx context.Context, ref string) (Rootfs, error) {
	found, err := s.Resolve(ref)
	if err != nil {
		return Rootfs{}, err
	}
	digest, err := v1.NewHash(found.Digest)
	if err != nil {
		return Rootfs{}, fmt.Errorf("image %s: %w", ref, err)
	}
	manifest, err := s.manifest(digest)
	if err != nil {
		return Rootfs{}, err
	}
	config, err := s.config(digest, manifest)
	if err != nil {
		return Rootfs{}, err
	}
	root := Rootfs{Digest: found.Digest, ConfigDigest: manifest.Config.Digest.String(), Config: Config{
		Entrypoint: config.Config.Entrypoint, Cmd: config.Config.Cmd, Env: config.Config.Env,
		WorkingDir: config.Config.WorkingDir, User: config.Config.User}}
	for i, diffID := range config.RootFS.DiffIDs {
		dir := filepath.Join(s.dir, "rootfs", rootfsName(diffID))
		if _, err := os.Stat(dir); err != nil {
			if err := s.unpackLayer(ctx, digest, manifest.Layers[i].Digest, diffID, dir); err != nil {
				return Rootfs{}, fmt.Errorf("unpack image %s: layer %s: %w", ref, manifest.Layers[i].Digest, err)
			}
		}
		root.Layers = append(root.Layers, dir)
	}
	return root, nil
}

// rootfsName names the directory of an unpacked layer. Who may not give files
// away unpacks them all as his own, which is another directory.
func rootfsName(diffID v1.Hash) string {
	if keepsOwners() {
		return diffID.Hex
	}
	return diffID.Hex + ".own"
}

func (s *Store) unpackLayer(ctx context.Context, image, layer, diffID v1.Hash, dir string) error {
	img, err := layout.Path(s.dir).Image(image)
	if err != nil {
		return err
	}
	blob, err := img.LayerByDigest(layer)
	if err != nil {
		return err
	}
	content, err := blob.Uncompressed()
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	defer content.Close()
	tmp, err := os.MkdirTemp(filepath.Join(s.dir, "tmp"), "layer-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	sum := sha256.New()
	stream := io.TeeReader(&source{ctx: ctx, r: content, left: maxLayer}, sum)
	if err := extract(stream, tmp); err != nil {
		return err
	}
	// What follows the archive's end belongs to the digest too.
	if _, err := io.Copy(io.Discard, stream); err != nil {
		return err
	}
	if diffID.Algorithm != "sha256" || hex.EncodeToString(sum.Sum(nil)) != diffID.Hex {
		return errDamaged
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr == nil {
			return nil // Another process was faster.
		}
		return err
	}
	return nil
}

// source ends a stream when its context does or when it is too long.
type source struct {
	ctx  context.Context
	r    io.Reader
	left int64
}

func (s *source) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	if s.left <= 0 {
		return 0, fmt.Errorf("is larger than %d GiB unpacked", int64(maxLayer)>>30)
	}
	n, err := s.r.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("read: %w", err)
	}
	return n, err
}
