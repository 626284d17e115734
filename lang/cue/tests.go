package cue

import (
	"path"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// testFiles is a file of tests and the files of the package that it belongs to:
// those of its directory, and above, with the same package clause.
func (l *loader) testFiles(name string) ([]*ast.File, error) {
	f, err := l.parse(name)
	if err != nil {
		return nil, err
	}
	want := packageName(f)
	if want == "" { // CUE lets such a file see no other
		return []*ast.File{f}, nil
	}
	files, err := l.packageFiles(path.Dir(name), want, l.module, l.inputs, l.parse)
	return append(files, f), err
}

// tests exports the tests in the evaluated package v, each on its own.
func (l *loader) tests(v cue.Value) (lang.Value, []lang.Fault, error) {
	file := diag.Position{File: l.program.Entry}
	tests := v.LookupPath(cue.MakePath(cue.Str(lang.TestsField)))
	if !tests.Exists() {
		if err := v.Err(); err != nil {
			return lang.Value{}, nil, l.diagnoseIn(err, v)
		}
		return lang.Value{}, nil, lang.NoTests(l.program.Entry, l.topFields())
	}
	if err := valid(tests); err == nil {
		value, err := export(tests, file)
		return value, nil, err
	}
	out := lang.Value{Kind: lang.Object, Pos: place(tests, file)}
	iter, err := tests.Fields()
	if err != nil {
		return lang.Value{}, nil, l.diagnoseIn(err, v)
	}
	var faults []lang.Fault
	for iter.Next() {
		name := iter.Selector().Unquoted()
		value, f := l.test(iter.Value(), v, out.Pos, lang.JoinField("", name))
		out.Fields = append(out.Fields, lang.Field{Name: name, Pos: keyPlace(iter.Value(), value.Pos), Value: value})
		faults = append(faults, f...)
	}
	lang.SortFields(out.Fields)
	return out, faults, nil
}

// test exports one test; failing that, its members. Root is for positions.
func (l *loader) test(v, root cue.Value, around diag.Position, path string) (lang.Value, []lang.Fault) {
	value, whole := l.part(v, root, around, path)
	if whole == nil {
		return value, nil
	}
	out := lang.Value{Kind: lang.Object, Pos: place(v, around)}
	var faults []lang.Fault
	iter, err := v.Fields()
	for err == nil && iter.Next() {
		name := iter.Selector().Unquoted()
		at := lang.JoinField(path, name)
		member, problems := l.part(iter.Value(), root, out.Pos, at)
		if problems != nil {
			faults = append(faults, lang.Fault{Path: at, Diagnostics: problems})
		}
		out.Fields = append(out.Fields, lang.Field{Name: name, Pos: keyPlace(iter.Value(), member.Pos), Value: member})
	}
	if len(faults) == 0 {
		return lang.Value{Pos: out.Pos}, []lang.Fault{{Path: path, Diagnostics: whole}}
	}
	lang.SortFields(out.Fields)
	return out, faults
}

// part exports one value, which is null if it cannot be.
func (l *loader) part(v, root cue.Value, around diag.Position, path string) (lang.Value, diag.List) {
	null := lang.Value{Pos: place(v, around)}
	if err := valid(v); err != nil {
		return null, l.diagnoseIn(err, root)
	}
	value, err := exporter{}.value(v, around, path, 0)
	if err != nil {
		return null, diag.From(err)
	}
	return value, nil
}

func valid(v cue.Value) error { return v.Validate(cue.Concrete(true), cue.Final()) }

// topFields is the names of the fields that the entry, a file, declares.
func (l *loader) topFields() []string {
	var names []string
	for _, d := range l.files[l.program.Entry].Decls {
		if f, ok := d.(*ast.Field); ok {
			if name, _, err := ast.LabelName(f.Label); err == nil {
				names = append(names, name)
			}
		}
	}
	return names
}
