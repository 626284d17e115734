// Package stdlib embeds Writ's standard library: typed building blocks for
// CUE and Jsonnet programs. It holds files only; the evaluators make them
// importable.
//
// Layout: cue/PACKAGE/*.cue is imported as "writ.dev/PACKAGE", and
// jsonnet/FILE as "FILE". Both languages describe the same things and render
// equal documents.
package stdlib

import (
	"embed"
	"io/fs"
)

//go:embed cue jsonnet
var files embed.FS

// FS returns the library's files.
func FS() fs.FS { return files }
