// Package cue evaluates CUE programs. It is the only importer of
// cuelang.org/go.
//
// What is evaluated: an entry that is a directory is the package of the *.cue
// files in it, as for `cue export .`: all of its files, and those of the same
// package in the directories above it up to the module's root, are unified. An
// entry that is a file is that file alone, even when its package has more
// files. Files named *_test.cue or *_tool.cue, or whose name starts with "_"
// or ".", belong to no program; @if and @ignore are heeded. The module root is
// the nearest directory at or above the entry with a cue.mod/module.cue, and
// never above the root of Program.FS.
//
// Imports are CUE's built-in packages (but not "tool/..."), packages of the
// module, packages of the modules that cue.mod/module.cue has under deps, in the
// cache of modules that is Settings.Modules, packages vendored under cue.mod/pkg,
// usr or gen, and Writ's library: "writ.dev/NAME" is the directory cue/NAME of
// Program.Library, with or without a cue.mod. No registry, user's cache or
// environment is ever consulted: packages are found and read here, through
// Program.FS, not by cue/load. So are the files that @embed names: JSON, YAML,
// TOML, text or binary in the directory of the embedding file or below it.
//
// Inputs are @tag(name), @tag(name,type=...) and @tag(name,short=a|b) of the
// entry's package, of which "a" as an input that is "true" means name=a, and the
// names of @if conditions, which an input "true" satisfies. Hidden fields,
// definitions and optional fields are not exported. Numbers are exact as written;
// CUE computes with 34 significant digits. Where a
// value is unified from several places its position is that of the concrete
// one, and a place in the user's files rather than one in the library.
//
// A file of tests, *_test.cue, is evaluated with the package of its directory
// that has the same package clause, and alone if none has. Only its field
// "tests" must be concrete, and each test is exported on its own.
//
// Coverage counts, as part of a result or not: every field, hidden, optional,
// required and pattern fields and definitions too; every alternative of a
// disjunction; the body of every comprehension; for an "if" in a struct also
// that its condition did not hold. A field counts when a value of the result
// was unified from it, or when an expression that counts refers to it; an
// alternative when such a value is an instance of it (where one alternative is
// the very value, only that one). Disjunctions that are operands of an
// expression, and what is in the clauses of a comprehension, are not counted.
// For tests only what they refer to is looked at. A value that fails shows
// nothing.
//
// An Expression sees the fields, definitions and hidden fields of the package, what
// its files import, and CUE's built-in packages by their names. Parts of the package that it does not refer to may be wrong. Its value may be
// incomplete: it is then told as CUE.
//
// Explanations take a value apart into what it was unified from and follow
// references, selectors, let clauses, the operands of expressions, and the
// marked alternatives of disjunctions, through packages and the library. They
// tell the conditions and loops that a field is in, and the references that
// brought in a definition. Not followed are: what a condition was computed from;
// let clauses whose value is a list or a comprehension, and what a comprehension
// ranges over; elements of lists that a built-in function made, beyond the
// function's arguments. The alternatives that lost are told of marked ones only.
package cue

import (
	"context"
	"fmt"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// Evaluator is the CUE front end. The zero value is ready to use and safe for
// concurrent use. CUE cannot be interrupted: ctx is looked at between stages
// only, and a program may take any time and memory; see lang/worker.
type Evaluator struct{}

var _ lang.Evaluator = Evaluator{}

// Eval satisfies lang.Evaluator.
func (Evaluator) Eval(ctx context.Context, p lang.Program) (*lang.Result, error) {
	return eval(ctx, p, nil)
}

func eval(ctx context.Context, p lang.Program, k *kept) (*lang.Result, error) {
	r, l, err := evalOnce(ctx, p, k)
	if err == nil {
		err = l.explainAgain(ctx, r)
	}
	return r, err
}

func evalOnce(ctx context.Context, p lang.Program, k *kept) (result *lang.Result, l *loader, err error) {
	// CUE panics on some faulty programs instead of reporting them.
	defer func() {
		if r := recover(); r != nil {
			result, err = nil, diag.List{{
				Code: "CUE000", Pos: diag.Position{File: p.Entry},
				Message: fmt.Sprintf("the CUE evaluator failed: %v", r),
				Hint:    "report this program; it found a fault of the evaluator",
			}}
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	l = newLoader(p, k)
	inst, err := l.entry()
	if err != nil {
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	context := l.newContext()
	v := context.BuildInstance(inst)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if p.Expression != "" {
		result, err = l.expression(context, v, inst)
		return result, l, err
	}
	r, err := l.result(v)
	if l.meter == nil {
		return r, l, err
	}
	if err != nil {
		r = new(lang.Result)
	}
	r.Coverage = l.cover(v, inst, err == nil)
	return r, l, err
}

// newContext makes what evaluates. Values that CUE shares between fields do not
// tell which fields they are of, so nothing is shared when parts are counted or
// explained.
func (l *loader) newContext() *cue.Context {
	if l.kept != nil {
		return l.kept.context
	}
	if l.meter == nil && len(l.program.Explain) == 0 {
		return cuecontext.New()
	}
	apart := cuecontext.New(cuecontext.CUE_DEBUG("sharing=0"))
	if l.meter != nil {
		l.meter.context = apart
	}
	return apart
}

// result exports the program's value, or its tests.
func (l *loader) result(v cue.Value) (*lang.Result, error) {
	if l.program.Tests {
		value, faults, err := l.tests(v)
		if err != nil {
			return nil, err
		}
		return &lang.Result{Value: value, Reads: l.reader.Reads(), Inputs: l.inputs.used(), Faults: faults}, nil
	}
	if err := valid(v); err != nil {
		return nil, l.diagnoseIn(err, v)
	}
	value, err := export(v, diag.Position{File: l.program.Entry})
	if err != nil {
		return nil, err
	}
	return &lang.Result{Value: value, Reads: l.reader.Reads(), Inputs: l.inputs.used(), Explained: l.explain(v, value)}, nil
}

// cover tells what of the program the result is made of. Without a result
// nothing of it was used.
func (l *loader) cover(v cue.Value, inst *build.Instance, ok bool) lang.Coverage {
	switch {
	case !ok:
	case l.program.Tests:
		l.meter.observeTests(v.LookupPath(cue.MakePath(cue.Str(lang.TestsField))))
	default:
		l.meter.observe(v, inst.Files)
	}
	return l.meter.coverage(inst)
}
