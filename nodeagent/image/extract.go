package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	// maxLayer bounds an unpacked layer, in bytes.
	maxLayer = 16 << 30
	// maxEntries bounds the number of files in a layer.
	maxEntries = 1 << 20
	// Whiteout file names of the OCI image spec, layer.md.
	whiteoutPrefix = ".wh."
	whiteoutOpaque = ".wh..wh..opq"
)

// extractor unpacks one layer below root, which no entry can leave: every
// operation goes through os.Root, which refuses to follow a link out.
type extractor struct {
	root *os.Root
	own  bool
	// dirs are finished last: a directory without write permission must first
	// be filled, and filling it changes its time.
	dirs []tar.Header
}

// extract unpacks a layer archive into dir. Device nodes are left out: /dev is
// the runtime's. Owners are kept by root only.
func extract(r io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	e := &extractor{root: root, own: keepsOwners()}
	archive := tar.NewReader(r)
	for n := 0; ; n++ {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("is not a readable archive: %w", err)
		}
		if n == maxEntries {
			return fmt.Errorf("holds more than %d files", maxEntries)
		}
		if err := e.entry(h, archive); err != nil {
			return fmt.Errorf("entry %q: %w", h.Name, err)
		}
	}
	for _, h := range slices.Backward(e.dirs) {
		if err := e.finish(&h); err != nil {
			return fmt.Errorf("entry %q: %w", h.Name, err)
		}
	}
	return os.Chmod(dir, 0o755)
}

// local turns a name from an archive into a path below the root.
func local(name string) (string, error) {
	if strings.IndexByte(name, 0) >= 0 {
		return "", errors.New("has a zero byte in its name")
	}
	if slices.Contains(strings.Split(name, "/"), "..") {
		return "", errors.New("leads out of the image")
	}
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	if name == "" {
		name = "."
	}
	return name, nil
}

func (e *extractor) entry(h *tar.Header, content io.Reader) error {
	name, err := local(h.Name)
	if err != nil {
		return err
	}
	for record := range h.PAXRecords {
		// A few bytes of archive could fill the disk with holes.
		if strings.HasPrefix(record, "GNU.sparse.") {
			return errors.New("is a sparse file, which image layers cannot have")
		}
	}
	if h.Linkname != "" && h.Typeflag == tar.TypeLink {
		if h.Linkname, err = local(h.Linkname); err != nil {
			return fmt.Errorf("its target %w", err)
		}
	}
	dir, base := path.Dir(name), path.Base(name)
	if err := e.root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if base == whiteoutOpaque {
		return e.within(dir, markOpaque)
	}
	if hidden, ok := strings.CutPrefix(base, whiteoutPrefix); ok {
		if strings.HasPrefix(hidden, whiteoutPrefix) {
			return nil // Bookkeeping of aufs, which means nothing here.
		}
		if hidden == "" || hidden == "." || hidden == ".." {
			return errors.New("hides nothing")
		}
		return e.within(dir, func(d *os.File) error { return makeWhiteout(d, hidden) })
	}
	h.Name = name
	if h.Typeflag == tar.TypeDir {
		return e.dir(h)
	}
	if name == "." {
		return errors.New("replaces the image's root")
	}
	if err := e.root.RemoveAll(name); err != nil {
		return err
	}
	return e.file(h, content)
}

func (e *extractor) dir(h *tar.Header) error {
	info, err := e.root.Lstat(h.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = e.root.Mkdir(h.Name, 0o700)
	case err == nil && !info.IsDir():
		if err = e.root.Remove(h.Name); err == nil {
			err = e.root.Mkdir(h.Name, 0o700)
		}
	}
	if err != nil {
		return err
	}
	e.dirs = append(e.dirs, *h)
	return nil
}

func (e *extractor) file(h *tar.Header, content io.Reader) error {
	switch h.Typeflag {
	case tar.TypeReg:
		f, err := e.root.OpenFile(h.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		return e.finish(h)
	case tar.TypeLink:
		return e.root.Link(h.Linkname, h.Name)
	case tar.TypeSymlink:
		if err := e.root.Symlink(h.Linkname, h.Name); err != nil {
			return err
		}
		if e.own {
			return e.root.Lchown(h.Name, h.Uid, h.Gid)
		}
		return nil
	case tar.TypeFifo:
		dir, base := path.Dir(h.Name), path.Base(h.Name)
		if err := e.within(dir, func(d *os.File) error { return makeFifo(d, base) }); err != nil {
			return err
		}
		return e.finish(h)
	case tar.TypeChar, tar.TypeBlock:
		return nil
	default:
		return fmt.Errorf("is of an unknown type %q", h.Typeflag)
	}
}

// finish sets owner, mode and time. The owner comes first: changing it clears
// the set-user-ID bit.
func (e *extractor) finish(h *tar.Header) error {
	if e.own {
		if err := e.root.Lchown(h.Name, h.Uid, h.Gid); err != nil {
			return err
		}
	}
	if err := e.root.Chmod(h.Name, h.FileInfo().Mode()&(fs.ModePerm|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky)); err != nil {
		return err
	}
	if h.ModTime.IsZero() {
		h.ModTime = time.Unix(0, 0)
	}
	return e.root.Chtimes(h.Name, h.ModTime, h.ModTime)
}

// within opens a directory of the layer for an operation os.Root lacks.
func (e *extractor) within(dir string, do func(*os.File) error) error {
	d, err := e.root.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return do(d)
}
