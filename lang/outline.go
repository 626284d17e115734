package lang

import (
	"path"
	"strings"
)

// Outline is what can be told of a program without evaluating it.
type Outline struct {
	// Files are those of the module that the program may read, sorted.
	Files []string
	// Inputs are those that it may take, sorted. Any says that it computes the
	// names of some, so that it may take every one.
	Inputs []string
	Any    bool
}

// FilesOf are the files of the module among reads: no directories, no files that
// are not there, nothing of the library.
func FilesOf(reads []Read) []string {
	var files []string
	for _, r := range reads {
		if r.SHA256 != "" && !IsLibrary(r.File) && !strings.HasSuffix(r.File, "/") && path.Base(r.File)[0] != '*' {
			files = append(files, r.File)
		}
	}
	return files
}
