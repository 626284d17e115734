package render

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/writ-dev/writ/lang/diag"
)

// Language names a front end.
type Language string

// The languages. YAML includes JSON.
const (
	CUE     Language = "cue"
	Jsonnet Language = "jsonnet"
	YAML    Language = "yaml"
)

// JsonnetMain is the entry of a directory written in Jsonnet.
const JsonnetMain = "main.jsonnet"

// Detect tells the language of an entry: a file's by its extension; a
// directory's is CUE when it has a .cue file, Jsonnet when it has a
// main.jsonnet, else YAML when it has YAML or JSON anywhere below.
func Detect(fsys fs.FS, entry string) (Language, error) {
	info, err := fs.Stat(fsys, entry)
	if errors.Is(err, fs.ErrNotExist) {
		return "", diag.List{{Code: "RENDER001", Message: "no such file or directory: " + entry}}
	} else if err != nil {
		return "", diag.List{{Code: "RENDER001", Message: err.Error()}}
	}
	if !info.IsDir() {
		return detectFile(entry)
	}
	entries, err := fs.ReadDir(fsys, entry)
	if err != nil {
		return "", diag.List{{Code: "RENDER001", Message: err.Error()}}
	}
	cueFile, jsonnetFile, lone := "", "", ""
	for _, e := range entries {
		switch {
		case e.IsDir():
		case path.Ext(e.Name()) == ".cue" && !strings.HasPrefix(e.Name(), "_") && !strings.HasPrefix(e.Name(), "."):
			cueFile = path.Join(entry, e.Name())
		case e.Name() == JsonnetMain:
			jsonnetFile = path.Join(entry, e.Name())
		case path.Ext(e.Name()) == ".jsonnet":
			lone = e.Name()
		}
	}
	switch {
	case cueFile != "" && jsonnetFile != "":
		return "", diag.List{{
			Code: "RENDER002", Pos: diag.Position{File: cueFile},
			Message: "the directory holds both CUE and a " + JsonnetMain + ", so it is not clear which is the program",
			Notes:   []diag.Note{{Pos: diag.Position{File: jsonnetFile}, Text: "the Jsonnet program"}},
			Hint:    "name the file, or keep the two in directories of their own",
		}}
	case cueFile != "":
		return CUE, nil
	case jsonnetFile != "":
		return Jsonnet, nil
	}
	if anyData(fsys, entry) {
		return YAML, nil
	}
	hint := "write a .cue file, a " + JsonnetMain + ", or YAML"
	if lone != "" {
		hint = "name the file: " + path.Join(entry, lone) + ", or call it " + JsonnetMain
	}
	return "", diag.List{{Code: "RENDER001", Message: "nothing to render in directory " + entry, Hint: hint}}
}

func detectFile(file string) (Language, error) {
	switch path.Ext(file) {
	case ".cue":
		return CUE, nil
	case ".jsonnet", ".libsonnet":
		return Jsonnet, nil
	case ".yaml", ".yml", ".json":
		return YAML, nil
	}
	return "", diag.List{{
		Code: "RENDER001", Pos: diag.Position{File: file},
		Message: "no language has this file extension",
		Hint:    "name a .cue, .jsonnet, .yaml or .json file",
	}}
}

// anyData reports whether there is a YAML or JSON file below dir, other than
// the project file. It looks at no more than 10,000 entries.
func anyData(fsys fs.FS, dir string) bool {
	found, left := false, 10000
	_ = fs.WalkDir(fsys, dir, func(p string, d fs.DirEntry, err error) error {
		left--
		switch {
		case err != nil || left < 0:
			return fs.SkipAll
		case d.IsDir():
			if p != dir && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
		case p == path.Join(dir, ProjectFile):
		case path.Ext(p) == ".yaml", path.Ext(p) == ".yml", path.Ext(p) == ".json":
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}
