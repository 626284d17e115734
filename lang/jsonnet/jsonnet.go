// Package jsonnet evaluates Jsonnet programs. It is the only importer of
// github.com/google/go-jsonnet.
//
// What is evaluated: an entry that is a directory is its main.jsonnet. Imports
// are looked for beside the importing file, then in the directories of
// Settings.Search from the last to the first, then below lib and vendor of the
// module root (where Tanka and jsonnet-bundler have libraries), then among the
// files of jsonnet/ in Program.Library, as `import 'writ.libsonnet'`. Paths
// never leave Program.FS. There are no native functions, and std.trace is
// silent.
//
// Inputs are strings, but for those of Settings.Code, which are expressions; what
// these import is looked for from the module root. When the program is a
// function, an input is the argument of the parameter with its name; it is also
// an external variable. An input that is neither is an error that lists those
// that exist.
//
// Jsonnet computes in float64. So that no number is ever silently another one,
// a literal that a float64 cannot hold, and a whole number from ±2^53 on in the
// result, which may have been rounded, are errors. All other results are written as their shortest exact
// decimal text.
//
// go-jsonnet does not know where the parts of a result were written. Positions
// are found by following the syntax tree: objects, arrays, locals, calls,
// "+", imports, comprehensions. What cannot be followed has the position of
// what it is in; the outermost value has that of the file.
//
// A file of tests evaluates to an object whose field "tests" holds one member a
// test. When the whole fails, each test, and each member of a test that fails,
// is evaluated on its own.
//
// Coverage counts, as evaluated or not: the value of every field; both branches
// of every "if", the missing "else" too; the right side of "&&" and "||"; the
// body of every comprehension and of every function. Jsonnet is lazy, so a field
// that nobody asks for does not count as used. Local variables are not counted,
// but functions in them are.
//
// An Expression sees the value of the program as $. Its value may be a function.
//
// Explanations come from a second evaluation, by a tracer that remembers for
// every value where it comes from: fields and the "+" and "+:" of objects with
// what they override, locals, arguments, calls, conditions, comprehensions,
// functions of std, imports and inputs. What it tells counts only when it arrives
// at the very value; otherwise only the position is told, and why. Of functions of
// std that go-jsonnet has in Go, a value comes from the arguments as a whole; what
// a condition of the library looked at is not told, nor what an assertion did.
package jsonnet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// mainFile is the program of a directory.
const mainFile = "main.jsonnet"

// Evaluator is the Jsonnet front end. The zero value is ready to use and safe
// for concurrent use. Jsonnet cannot be interrupted: ctx is looked at between
// stages only, and a program may take any time and memory; see lang/worker.
type Evaluator struct{}

var (
	_ lang.Evaluator = Evaluator{}
	_ lang.Linter    = Evaluator{}
)

// Eval satisfies lang.Evaluator.
func (Evaluator) Eval(ctx context.Context, p lang.Program) (*lang.Result, error) {
	return eval(ctx, p, newKept())
}

func eval(ctx context.Context, p lang.Program, k *kept) (result *lang.Result, err error) {
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
	e := evaluation{program: p, entry: entry, reader: reader, vm: k.vm, kept: k}
	e.vm.MaxStack = cmp.Or(p.Stack, lang.DefaultStack)
	if err := e.load(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.Expression != "" {
		return e.expression()
	}
	r, err := e.result(ctx)
	if e.meter == nil {
		return r, err
	}
	if err != nil {
		r = new(lang.Result)
	}
	r.Coverage = e.meter.coverage()
	return r, err
}

func newVM() *jsonnet.VM {
	vm := jsonnet.MakeVM()
	vm.SetTraceOut(io.Discard)
	return vm
}

// evaluation is one program being evaluated.
type evaluation struct {
	program  lang.Program
	entry    string
	reader   *lang.Reader
	vm       *jsonnet.VM
	kept     *kept
	node     ast.Node
	resolver *resolver
	inputs   bound
	meter    *meter // nil when coverage is not asked for
}

// load parses the program, checks what can be checked without evaluating it,
// and gives it its inputs.
func (e *evaluation) load() error {
	e.kept.begin(e.reader, e.program.Settings.Search)
	node, _, err := e.vm.ImportAST("", e.entry)
	if err != nil {
		return diagnose(e.entry, err)
	}
	e.node = node
	s := survey(e.vm, e.entry, node, e.kept.surveys)
	if e.kept.importer.changed {
		return errChanged
	}
	if err := s.problems.Err(); err != nil {
		return err
	}
	e.resolver = newResolver(e.vm)
	if e.inputs, err = s.bind(e.resolver.parameters(node), e.program); err != nil {
		return err
	}
	e.kept.give(e.inputs)
	if e.program.Cover {
		e.meter = newMeter()
		e.kept.importer.meter = e.meter
		e.meter.attach(s.files)
	}
	return nil
}

// result evaluates the loaded program.
func (e *evaluation) result(ctx context.Context) (*lang.Result, error) {
	value, faults, err := e.evaluate()
	if e.meter != nil {
		e.meter.detach()
	}
	if err != nil {
		l := diagnose(e.entry, err)
		if l[0].Code == stackCode {
			l[0].Message = fmt.Sprintf("calls nest deeper than %d", e.vm.MaxStack)
		}
		if ctx.Err() == nil {
			e.probe().blame(&l[0])
		}
		return nil, l
	}
	e.resolver.locate(&value, e.node, e.entry)
	if err := exact(&value, ""); err != nil {
		return nil, err
	}
	if e.program.Tests {
		if value, err = e.onlyTests(value, faults); err != nil {
			return nil, err
		}
	}
	return &lang.Result{Value: value, Reads: e.reader.Reads(), Inputs: e.inputs.text, Faults: faults, Explained: e.explain(value)}, nil
}

// evaluate is the value of the program, without positions. When that is one of
// tests, parts of it may be missing.
func (e *evaluation) evaluate() (lang.Value, []lang.Fault, error) {
	out, err := e.vm.Evaluate(e.node)
	if err != nil && e.program.Tests {
		return e.tests(err)
	}
	if err != nil {
		return lang.Value{}, nil, err
	}
	value, err := e.parse(out)
	return value, nil, err
}

// parse reads what the evaluator printed.
func (e *evaluation) parse(out string) (lang.Value, error) {
	value, err := lang.ParseJSON(e.entry, []byte(out))
	if err != nil {
		return value, fmt.Errorf("read the result of %s: %w", e.entry, err)
	}
	return value, nil
}

func (e *evaluation) probe() *probe {
	return newProbe(e.vm, e.resolver, e.entry, e.node, e.inputs.text)
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
