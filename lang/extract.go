package lang

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Extract writes to a new directory what was read of a module, and nothing
// else: files with their content, and in directories that were listed an empty
// file or directory for each name that was not read. Links become what they
// lead to. An evaluation of that directory reads the same as the one that reads
// are of, unless it read something that is not among them.
func Extract(module fs.FS, reads []Read, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	out, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer out.Close()
	x := extractor{module, out}
	// Listings last: they fill in what is not there.
	for _, listings := range []bool{false, true} {
		for _, r := range reads {
			ext, pattern := strings.CutPrefix(path.Base(r.File), "*")
			directory := strings.HasSuffix(r.File, "/")
			if IsLibrary(r.File) || r.SHA256 == "" || listings != (directory || pattern) {
				continue
			}
			switch {
			case directory:
				err = x.names(path.Clean(r.File), "")
			case pattern:
				err = x.names(path.Dir(r.File), ext)
			default:
				err = x.file(r.File)
			}
			if err != nil {
				return fmt.Errorf("copy %s: %w", r.File, err)
			}
		}
	}
	return nil
}

type extractor struct {
	module fs.FS
	out    *os.Root
}

func (x extractor) file(name string) error {
	data, err := readBounded(x.module, name)
	if err != nil {
		return err
	}
	if err := x.out.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o700); err != nil {
		return err
	}
	return x.out.WriteFile(filepath.FromSlash(name), data, 0o600)
}

// names makes what a listing shows, unless it is there.
func (x extractor) names(dir, ext string) error {
	entries, err := fs.ReadDir(x.module, dir)
	if err != nil {
		return err
	}
	if err := x.out.MkdirAll(filepath.FromSlash(dir), 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.FromSlash(path.Join(dir, e.Name()))
		if _, err := x.out.Lstat(name); !errors.Is(err, fs.ErrNotExist) || !strings.HasSuffix(e.Name(), ext) {
			continue
		}
		if e.IsDir() {
			err = x.out.Mkdir(name, 0o700)
		} else {
			err = x.out.WriteFile(name, nil, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
