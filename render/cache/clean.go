package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Clean removes everything that the cache, also of older versions of Writ, has
// written, and nothing else.
func (c *Cache) Clean() error {
	all, err := c.files()
	if err != nil {
		return fmt.Errorf("clean cache: %w", err)
	}
	for _, f := range all {
		err = errors.Join(err, remove(f.path))
	}
	return errors.Join(err, c.cleanOld())
}

// remove removes a file that another process may remove as well.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Before there were packs, an entry was a file, named by its key in hexadecimal:
// the first byte was the directory, the others the file.
var (
	oldDir  = regexp.MustCompile(`^[0-9a-f]{2}$`)
	oldFile = regexp.MustCompile(`^[0-9a-f]{62}$`)
)

// cleanOld removes entries that are files.
func (c *Cache) cleanOld() error {
	dirs, err := os.ReadDir(c.dir)
	if err != nil {
		return fmt.Errorf("clean cache: %w", err)
	}
	for _, d := range dirs {
		if !d.IsDir() || !oldDir.MatchString(d.Name()) {
			continue
		}
		dir := filepath.Join(c.dir, d.Name())
		entries, readErr := os.ReadDir(dir)
		err = errors.Join(err, readErr)
		for _, e := range entries {
			if e.Type().IsRegular() && (oldFile.MatchString(e.Name()) || strings.HasPrefix(e.Name(), newPrefix)) {
				err = errors.Join(err, remove(filepath.Join(dir, e.Name())))
			}
		}
		_ = os.Remove(dir) // only when it is empty
	}
	return err
}
