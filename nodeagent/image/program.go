package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The files that a static program may look for besides itself.
const (
	passwd = "root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n"
	group  = "root:x:0:\nnobody:x:65534:\n"
)

// programImage makes an image of one static binary. Everything that is not
// the binary is constant: times are the epoch, owners root. The layer is not
// compressed, so its digest does not hang on a compressor's version.
func programImage(binary []byte, name, os, arch string) (v1.Image, error) {
	layer, err := programLayer(binary, name)
	if err != nil {
		return nil, fmt.Errorf("make layer: %w", err)
	}
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	img = mutate.ConfigMediaType(img, types.OCIConfigJSON)
	img, err = mutate.AppendLayers(img, static.NewLayer(layer, types.OCIUncompressedLayer))
	if err != nil {
		return nil, fmt.Errorf("make image: %w", err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("make image: %w", err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = os, arch
	file.Created = v1.Time{Time: time.Unix(0, 0).UTC()}
	file.History = nil
	file.Config = v1.Config{
		Entrypoint: []string{"/bin/" + name},
		Env:        []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		WorkingDir: "/",
	}
	img, err = mutate.ConfigFile(img, file)
	if err != nil {
		return nil, fmt.Errorf("make image: %w", err)
	}
	return img, nil
}

func programLayer(binary []byte, name string) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range []struct {
		name string
		mode int64
		data []byte
	}{
		{"bin/", 0o755, nil},
		{"bin/" + name, 0o755, binary},
		{"etc/", 0o755, nil},
		{"etc/group", 0o644, []byte(group)},
		{"etc/passwd", 0o644, []byte(passwd)},
		{"root/", 0o700, nil},
		{"tmp/", 0o1777, nil},
	} {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)),
			Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
		if f.name[len(f.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
