// Package yaml reads YAML and JSON written for kubectl as a program without
// any logic.
//
// An entry that is a file is the documents in it; one that is a directory is
// the documents of its *.yaml, *.yml and *.json files in name order, without
// writ.yaml and, as for `kubectl apply -f`, without its subdirectories. The
// value is always a list of documents. Empty documents, and those that are
// null or only comments, are left out.
//
// Scalars mean what they mean to kubectl (YAML 1.1): yes, no, on, off, y and n
// without quotes are booleans, and 0755 is 493. But keys are always strings,
// as written: "on:" and "y:" stay what they are. Numbers are exact. Refused,
// with positions: duplicate keys, infinities and NaN, unknown tags, invalid
// UTF-8, aliases that expand to more than maxAliased nodes, and nesting deeper
// than lang.MaxDepth.
//
// There are no expressions: values are looked at by their paths.
//
// Explanations tell the aliases, anchors and merges that a value came through,
// and the values that a merge would have brought in if the mapping, or an
// earlier merge, did not have the key.
package yaml

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// projectFile describes a program and is not part of one.
const projectFile = "writ.yaml"

// Evaluator is the YAML and JSON front end. The zero value is ready to use and
// safe for concurrent use.
type Evaluator struct{}

var _ lang.Evaluator = Evaluator{}

// Eval satisfies lang.Evaluator.
func (Evaluator) Eval(ctx context.Context, p lang.Program) (result *lang.Result, err error) {
	// The YAML parser has panicked on crafted input before.
	defer func() {
		if r := recover(); r != nil {
			result, err = nil, diag.List{{
				Code: "YAML000", Pos: diag.Position{File: p.Entry},
				Message: fmt.Sprintf("the YAML parser failed: %v", r),
			}}
		}
	}()
	if err := refuseInputs(p.Inputs); err != nil {
		return nil, err
	}
	if p.Expression != "" {
		return nil, diag.List{{
			Code: "YAML007", Pos: diag.Position{File: lang.ExpressionFile}, Message: "YAML has no expressions", Hint: "name a value by its path, such as [0].metadata.name",
		}}
	}
	reader := lang.NewReader(p)
	files, err := entryFiles(reader, p.Entry)
	if err != nil {
		return nil, err
	}
	value := lang.Value{Kind: lang.List, Pos: diag.Position{File: p.Entry}, Items: []lang.Value{}}
	var problems diag.List
	var sources []source
	for _, name := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		data, err := reader.ReadFile(name)
		if err != nil {
			problems = append(problems, lang.Failure(diag.Position{}, name, err)...)
			continue
		}
		documents, err := Parse(name, data)
		problems = append(problems, diag.From(err)...)
		sources = append(sources, source{name, data, len(value.Items)})
		value.Items = append(value.Items, documents...)
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return &lang.Result{Value: value, Reads: reader.Reads(), Explained: explain(p.Explain, value, sources)}, nil
}

func refuseInputs(inputs map[string]string) error {
	var problems diag.List
	for name := range inputs {
		problems = append(problems, lang.UnknownInput(name, nil, "YAML takes no inputs; write CUE or Jsonnet to have some"))
	}
	slices.SortFunc(problems, func(a, b diag.Diagnostic) int { return len(a.Message) - len(b.Message) })
	return problems.Err()
}

func entryFiles(reader *lang.Reader, entry string) ([]string, error) {
	info, err := reader.Stat(entry)
	if err != nil {
		return nil, lang.Failure(diag.Position{}, entry, err)
	}
	if !info.IsDir() {
		return []string{entry}, nil
	}
	entries, err := reader.ReadDir(entry)
	if err != nil {
		return nil, lang.Failure(diag.Position{}, entry, err)
	}
	var files []string
	for _, e := range entries {
		switch path.Ext(e.Name()) {
		case ".yaml", ".yml", ".json":
			if !e.IsDir() && e.Name() != projectFile {
				files = append(files, path.Join(entry, e.Name()))
			}
		}
	}
	if len(files) == 0 {
		return nil, diag.List{{
			Code: "YAML001", Message: "no .yaml, .yml or .json files in " + entry,
			Hint: "name the directory that holds them; subdirectories are not searched",
		}}
	}
	return files, nil
}

// Parse reads every document of a file: JSON when the name ends in .json, else
// YAML. Positions are in file.
func Parse(file string, data []byte) ([]lang.Value, error) {
	if path.Ext(file) != ".json" {
		return parseYAML(file, data)
	}
	values, err := lang.ParseJSONStream(file, data)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(values, func(v lang.Value) bool { return v.Kind == lang.Null }), nil
}
