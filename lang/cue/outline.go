package cue

import (
	"maps"
	"slices"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// Outliner tells what programs may read and which inputs they may take, without
// evaluating them. It keeps what they import from one to the next. It is not for
// concurrent use.
type Outliner struct{ kept *kept }

// Outline outlines a program. Files count whatever their @if says.
func (x *Outliner) Outline(p lang.Program) (o lang.Outline, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = diag.Errorf(diag.Position{File: p.Entry}, "CUE000", "the CUE loader failed: %v", r)
		}
		if err != nil {
			x.kept = nil // what a failure left behind is not known
		}
	}()
	if x.kept == nil {
		x.kept = newKept()
	}
	p.Inputs, p.Offers = nil, nil
	l := newLoader(p, x.kept)
	l.inputs.all = true
	if _, err := l.entry(); err != nil {
		return o, err
	}
	return lang.Outline{Files: lang.FilesOf(l.reader.Reads()), Inputs: slices.Sorted(maps.Keys(l.inputs.known))}, nil
}
