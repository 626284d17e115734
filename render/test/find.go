package test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// maxWalk bounds how many files and directories are looked at.
const maxWalk = 200_000

// found is what a directory holds, as absolute paths in order.
type found struct {
	tests     []string
	programs  []string // files that coverage counts, if they are read
	snapshots []string // directories
}

// find looks for tests in a directory and below, or takes the one file.
// Directories called vendor, testdata, node_modules or cue.mod, and those whose
// name starts with "." or "_", are left out.
func find(path string) (found, error) {
	path = strings.TrimSuffix(filepath.ToSlash(path), "/...")
	path, err := filepath.Abs(filepath.FromSlash(path))
	if err != nil {
		return found{}, err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return found{}, diag.List{{Code: "TEST001", Message: "no such file or directory: " + path}}
	} else if err != nil {
		return found{}, err
	}
	if !info.IsDir() {
		if !lang.IsTest(path) {
			return found{}, diag.List{{
				Code: "TEST001", Pos: diag.Position{File: path}, Message: "not a file of tests",
				Hint: "name a *_test.cue or *_test.jsonnet, or a directory",
			}}
		}
		return found{tests: []string{path}}, nil
	}
	return walk(path)
}

func walk(top string) (found, error) {
	var f found
	seen := 0
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if seen++; seen > maxWalk {
			return diag.List{{
				Code: "TEST001", Message: fmt.Sprintf("%s holds more than %d files and directories", top, maxWalk),
				Hint: "name the directory that holds the tests",
			}}
		}
		switch name := d.Name(); {
		case d.IsDir() && path != top && skipped(name):
			return filepath.SkipDir
		case d.IsDir() && path != top && strings.HasSuffix(name, lang.SnapshotsSuffix):
			f.snapshots = append(f.snapshots, path)
			return filepath.SkipDir
		case !d.IsDir() && lang.IsTest(name) && !skipped(name):
			f.tests = append(f.tests, path)
		case !d.IsDir() && !skipped(name) && slices.Contains([]string{".cue", ".jsonnet", ".libsonnet"}, filepath.Ext(name)):
			f.programs = append(f.programs, path)
		}
		return nil
	})
	return f, err
}

func skipped(name string) bool {
	return name[0] == '.' || name[0] == '_' || slices.Contains([]string{"vendor", "testdata", "node_modules", "cue.mod"}, name)
}
