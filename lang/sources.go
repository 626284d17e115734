package lang

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/writ-dev/writ/lang/diag"
)

// Sources lists the files below a directory, or the one file, whose names end in
// one of the extensions. Hidden directories and those that hold copies or data of
// tests are left out.
func Sources(fsys fs.FS, root string, extensions []string) ([]string, error) {
	var names []string
	err := fs.WalkDir(fsys, root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			skip := strings.HasPrefix(d.Name(), ".") || strings.HasSuffix(d.Name(), SnapshotsSuffix) ||
				slices.Contains([]string{"vendor", "cue.mod", "testdata", "node_modules"}, d.Name())
			if skip && name != root {
				return fs.SkipDir
			}
		case d.Type().IsRegular() && slices.Contains(extensions, path.Ext(name)):
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find sources: %w", err)
	}
	if len(names) == 0 {
		last := len(extensions) - 1
		return nil, diag.List{{Message: "no sources in " + root, Hint: "name a directory with " + strings.Join(extensions[:last], ", ") + " or " + extensions[last] + " files"}}
	}
	return names, nil
}

// ReadSource reads a file of no more than MaxFileSize.
func ReadSource(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	if err == nil && len(data) > MaxFileSize {
		err = fmt.Errorf("is larger than %d MiB", MaxFileSize>>20)
	}
	return data, err
}
