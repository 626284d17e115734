package jsonnet

import (
	"maps"
	"slices"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// Outline tells what a program may read and which inputs it may take, without
// evaluating it: whatever is imported anywhere counts.
func Outline(p lang.Program) (o lang.Outline, err error) {
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
	k := newKept()
	k.begin(reader, p.Settings.Search)
	node, _, err := k.vm.ImportAST("", entry)
	if err != nil {
		return o, diagnose(entry, err)
	}
	s := survey(k.vm, entry, node, nil)
	s.expressions(p.Given(), p.Settings.Code)
	names := maps.Clone(s.external)
	for _, parameter := range newResolver(k.vm).parameters(node) {
		names[string(parameter.Name)] = position(&parameter.LocRange)
	}
	return lang.Outline{Files: lang.FilesOf(reader.Reads()), Inputs: slices.Sorted(maps.Keys(names)), Any: s.any}, nil
}
