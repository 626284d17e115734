package yaml

import (
	"slices"

	"github.com/writ-dev/writ/lang"
)

// Outline tells what a program reads. It takes no inputs.
func Outline(p lang.Program) (lang.Outline, error) {
	files, err := entryFiles(lang.NewReader(p), p.Entry)
	return lang.Outline{Files: slices.Sorted(slices.Values(files))}, err
}
