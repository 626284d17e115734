package render

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/writ-dev/writ/lang"
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
// main.jsonnet, else YAML when it has YAML or JSON. Files of tests do not count.
// Like kubectl, it does not look into subdirectories.
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
	cueFile, jsonnetFile, lone, data := "", "", "", false
	for _, e := range entries {
		switch {
		case e.IsDir() || lang.IsTest(e.Name()):
		case path.Ext(e.Name()) == ".cue" && !strings.HasPrefix(e.Name(), "_") && !strings.HasPrefix(e.Name(), "."):
			cueFile = path.Join(entry, e.Name())
		case e.Name() == JsonnetMain:
			jsonnetFile = path.Join(entry, e.Name())
		case path.Ext(e.Name()) == ".jsonnet":
			lone = e.Name()
		case e.Name() != ProjectFile && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(e.Name())):
			data = true
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
	case data:
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
