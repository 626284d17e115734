package jsonnet

import (
	"encoding/json"

	"github.com/google/go-jsonnet"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// tests evaluates the tests of a file one by one, after all together failed
// with the error whole.
func (e *evaluation) tests(whole error) (lang.Value, []lang.Fault, error) {
	all := e.probe().program + "." + lang.TestsField
	names, ok := e.members(all)
	if !ok {
		return lang.Value{}, nil, whole
	}
	tests := lang.Value{Kind: lang.Object}
	var faults []lang.Fault
	for _, name := range names {
		v, f := e.test(all+"["+quote(name)+"]", lang.JoinField("", name))
		tests.Fields = append(tests.Fields, lang.Field{Name: name, Value: v})
		faults = append(faults, f...)
	}
	lang.SortFields(tests.Fields)
	file := lang.Value{Kind: lang.Object, Fields: []lang.Field{{Name: lang.TestsField, Value: tests}}}
	return file, faults, nil
}

// test evaluates one test, whose expression is expr; failing that, its members.
func (e *evaluation) test(expr, path string) (lang.Value, []lang.Fault) {
	v, err := e.snippet(expr)
	if err == nil {
		return v, nil
	}
	fault := func(path string, err error) lang.Fault {
		return lang.Fault{Path: path, Diagnostics: diagnose(e.entry, err)}
	}
	names, ok := e.members(expr)
	if !ok {
		return lang.Value{}, []lang.Fault{fault(path, err)}
	}
	var faults []lang.Fault
	test := lang.Value{Kind: lang.Object}
	for _, name := range names {
		v, err := e.snippet(expr + "[" + quote(name) + "]")
		if err != nil {
			faults = append(faults, fault(lang.JoinField(path, name), err))
		}
		test.Fields = append(test.Fields, lang.Field{Name: name, Value: v})
	}
	if len(faults) == 0 { // an assert of the test itself
		faults = []lang.Fault{fault(path, err)}
	}
	lang.SortFields(test.Fields)
	return test, faults
}

func (e *evaluation) snippet(expr string) (lang.Value, error) {
	// Unlike EvaluateAnonymousSnippet, Evaluate keeps where an error comes from.
	node, err := jsonnet.SnippetToAST("<test>", expr)
	if err != nil {
		return lang.Value{}, err
	}
	out, err := e.vm.Evaluate(node)
	if err != nil {
		return lang.Value{}, err
	}
	return e.parse(out)
}

// members is the names of the fields of the object that an expression is.
func (e *evaluation) members(expr string) ([]string, bool) {
	out, err := e.vm.EvaluateAnonymousSnippet("<test>", "std.objectFields("+expr+")")
	var names []string
	return names, err == nil && json.Unmarshal([]byte(out), &names) == nil
}

// onlyTests is the field "tests" of a file's value. It places the faults that
// have no place in the user's files.
func (e *evaluation) onlyTests(file lang.Value, faults []lang.Fault) (lang.Value, error) {
	var others []string
	var problems diag.List
	for _, f := range file.Fields {
		if f.Name != lang.TestsField {
			others = append(others, f.Name)
			problems = append(problems, diag.Diagnostic{
				Code: "LANG006", Pos: f.Pos, Message: "a test file has only the field " + lang.TestsField + ", not " + f.Name,
				Hint: "make it a local, or hide it with ::",
			})
		}
	}
	tests, ok := file.Field(lang.TestsField)
	if !ok {
		return tests, lang.NoTests(e.entry, others)
	}
	for _, f := range faults {
		d := &f.Diagnostics[0]
		if part, ok := tests.At(f.Path); ok && (d.Pos.Line == 0 || lang.IsLibrary(d.Pos.File)) {
			d.Pos = part.Pos
		}
	}
	return tests, problems.Err()
}
