// Package jsonnet evaluates Jsonnet programs. It is the only importer of
// github.com/google/go-jsonnet.
//
// What is evaluated: an entry that is a directory is its main.jsonnet. Imports
// are looked for beside the importing file, then below vendor and lib of the
// module root (where jsonnet-bundler and Tanka put libraries), then among the
// files of jsonnet/ in Program.Library, as `import 'writ.libsonnet'`. Paths
// never leave Program.FS. There are no native functions, and std.trace is
// silent.
//
// Inputs are strings. When the program is a function, an input is the argument
// of the parameter with its name; any other input is an external variable. An
// input that is neither is an error that lists those that exist.
//
// Jsonnet computes in float64. So that no number is ever silently another one,
// a literal that a float64 cannot hold, and a whole number beyond ±2^53 in the
// result, are errors. All other results are written as their shortest exact
// decimal text.
//
// go-jsonnet does not know where the parts of a result were written. Positions
// are found by following the syntax tree: objects, arrays, locals, calls,
// "+", imports, comprehensions. What cannot be followed has the position of
// what it is in; the outermost value has that of the file.
package jsonnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/google/go-jsonnet"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// mainFile is the program of a directory.
const mainFile = "main.jsonnet"

// maxStack bounds the calls inside calls of a program.
const maxStack = 500

// Evaluator is the Jsonnet front end. The zero value is ready to use and safe
// for concurrent use. Jsonnet cannot be interrupted: ctx is looked at between
// stages only, and a program may take any time and memory; see lang/worker.
type Evaluator struct{}

var _ lang.Evaluator = Evaluator{}

// Eval satisfies lang.Evaluator.
func (Evaluator) Eval(ctx context.Context, p lang.Program) (result *lang.Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			result, err = nil, diag.List{{
				Code: "JSONNET000", Pos: diag.Position{File: p.Entry},
				Message: fmt.Sprintf("the Jsonnet evaluator failed: %v", r),
				Hint:    "report this program; it found a fault of the evaluator",
			}}
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	reader := lang.NewReader(p)
	entry, err := entryFile(reader, p.Entry)
	if err != nil {
		return nil, err
	}
	vm := jsonnet.MakeVM()
	vm.MaxStack = maxStack
	vm.SetTraceOut(io.Discard)
	vm.Importer(newImporter(reader))
	node, _, err := vm.ImportAST("", entry)
	if err != nil {
		return nil, diagnose(entry, err)
	}
	s := survey(vm, entry, node)
	if err := s.problems.Err(); err != nil {
		return nil, err
	}
	resolver := newResolver(vm)
	if err := s.bind(vm, resolver.parameters(node), p.Inputs); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out, err := vm.Evaluate(node)
	if err != nil {
		l := diagnose(entry, err)
		if ctx.Err() == nil {
			newProbe(vm, resolver, entry, node, p.Inputs).blame(&l[0])
		}
		return nil, l
	}
	value, err := lang.ParseJSON(entry, []byte(out))
	if err != nil {
		return nil, fmt.Errorf("read the result of %s: %w", entry, err)
	}
	resolver.locate(&value, node, entry)
	if err := exact(&value, ""); err != nil {
		return nil, err
	}
	return &lang.Result{Value: value, Reads: reader.Reads()}, nil
}

func entryFile(reader *lang.Reader, entry string) (string, error) {
	info, err := reader.Stat(entry)
	if err != nil {
		return "", lang.Failure(diag.Position{}, entry, err)
	}
	if info.IsDir() {
		entry = path.Join(entry, mainFile)
	}
	data, err := reader.ReadFile(entry)
	if info.IsDir() && errors.Is(err, fs.ErrNotExist) {
		return "", diag.List{{
			Code: "LANG001", Message: entry + " does not exist",
			Hint: "a directory's program is its " + mainFile + "; name the file if it is another",
		}}
	}
	if err != nil {
		return "", lang.Failure(diag.Position{}, entry, err)
	}
	if line := tooDeep(data); line > 0 {
		return "", diag.Errorf(diag.Position{File: entry, Line: line}, "JSONNET008", "brackets or operators nest deeper than %d", maxNesting)
	}
	return entry, nil
}
