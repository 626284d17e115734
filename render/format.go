package render

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-dev/writ/lang/cue"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/lang/jsonnet"
)

// formats are the languages that have a standard form, by file extension.
var formats = map[string]func(file string, src []byte) ([]byte, error){
	".cue": cue.Format, ".jsonnet": jsonnet.Format, ".libsonnet": jsonnet.Format,
}

// Format returns a program's file in the standard form of its language. A file
// that cannot be parsed is a diag.List.
func Format(file string, src []byte) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = diag.Errorf(diag.Position{File: file}, "FORMAT", "the formatter failed: %v", r)
		}
	}()
	format, ok := formats[path.Ext(file)]
	if !ok {
		return nil, diag.List{{Code: "FORMAT", Pos: diag.Position{File: file}, Message: "has no standard form", Hint: "name a .cue, .jsonnet or .libsonnet file, or a directory"}}
	}
	return format(file, src)
}

// Sources lists the files below a file or directory that Format can format, in
// order. Hidden directories, and those with copies of others' files (vendor,
// cue.mod), are left out.
func Sources(name string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(name, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			skip := strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"vendor", "cue.mod", "testdata"}, d.Name())
			if skip && p != name {
				return fs.SkipDir
			}
			return nil
		}
		if _, ok := formats[filepath.Ext(p)]; ok && d.Type().IsRegular() || p == name {
			files = append(files, p)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find programs: %w", err)
	}
	return files, nil
}
