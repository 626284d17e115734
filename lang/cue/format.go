package cue

import (
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// Format returns a CUE file in the standard form, that of cue fmt.
func Format(file string, src []byte) ([]byte, error) {
	if line := tooDeep(src); line > 0 {
		return nil, diag.Errorf(diag.Position{File: file, Line: line}, "CUE004", "brackets or operators nest deeper than %d", maxNesting)
	}
	f, err := parser.ParseFile(file, src, parser.ParseComments)
	if err != nil {
		return nil, newLoader(lang.Program{}, nil).diagnose(err)
	}
	out, err := format.Node(f)
	if err != nil {
		return nil, diag.Errorf(diag.Position{File: file}, "CUE001", "%s", err)
	}
	return out, nil
}
