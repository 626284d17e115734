package cue

import (
	"maps"
	"slices"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// Outline tells what a program may read and which inputs it may take, without
// evaluating it. Files count whatever their @if says.
func Outline(p lang.Program) (o lang.Outline, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = diag.Errorf(diag.Position{File: p.Entry}, "CUE000", "the CUE loader failed: %v", r)
		}
	}()
	p.Inputs, p.Offers = nil, nil
	l := newLoader(p, nil)
	l.inputs.all = true
	if _, err := l.entry(); err != nil {
		return o, err
	}
	return lang.Outline{Files: lang.FilesOf(l.reader.Reads()), Inputs: slices.Sorted(maps.Keys(l.inputs.known))}, nil
}
