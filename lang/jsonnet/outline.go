package jsonnet

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

// Outline outlines a program: whatever is imported anywhere in it counts.
func (x *Outliner) Outline(p lang.Program) (lang.Outline, error) {
	o, err := x.outline(p)
	if err != nil && x.kept != nil {
		// What a failure left behind is not known; and it is none that a file is
		// another than before.
		again := x.kept.importer.changed
		x.kept = nil
		if again {
			return x.outline(p)
		}
	}
	return o, err
}

func (x *Outliner) outline(p lang.Program) (o lang.Outline, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = diag.Errorf(diag.Position{File: p.Entry}, "JSONNET000", "the Jsonnet loader failed: %v", r)
		}
	}()
	reader := lang.NewReader(p)
	entry, err := entryFile(reader, p.Entry)
	if err != nil {
		return o, err
	}
	if x.kept == nil || !slices.Equal(x.kept.importer.search, p.Settings.Search) {
		x.kept = newKept()
	}
	k := x.kept
	k.begin(reader, p.Settings.Search)
	node, _, err := k.vm.ImportAST("", entry)
	if err != nil {
		return o, diagnose(entry, err)
	}
	s := survey(k.vm, entry, node, k.surveys)
	s.expressions(p.Given(), p.Settings.Code)
	if k.importer.changed {
		return o, errChanged
	}
	names := maps.Clone(s.external)
	for _, parameter := range newResolver(k.vm).parameters(node) {
		names[string(parameter.Name)] = position(&parameter.LocRange)
	}
	return lang.Outline{Files: lang.FilesOf(reader.Reads()), Inputs: slices.Sorted(maps.Keys(names)), Any: s.any}, nil
}
