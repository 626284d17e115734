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
// module, packages vendored under cue.mod/pkg, usr or gen, and Writ's library:
// "writ.dev/NAME" is the directory cue/NAME of Program.Library, with or without
// a cue.mod. No registry, cache or environment is ever consulted: packages are
// found and read here, through Program.FS, not by cue/load.
//
// Inputs are @tag(name) and @tag(name,type=...) of the entry's package, and the
// names of @if conditions, which an input "true" satisfies. Hidden fields,
// definitions and optional fields are not exported. Numbers are exact as written;
// CUE computes with 34 significant digits. Where a
// value is unified from several places its position is that of the concrete
// one, and a place in the user's files rather than one in the library.
package cue

import (
	"context"
	"fmt"

	"cuelang.org/go/cue"
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
func (Evaluator) Eval(ctx context.Context, p lang.Program) (result *lang.Result, err error) {
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
		return nil, err
	}
	l := newLoader(p)
	inst, err := l.entry()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v := cuecontext.New().BuildInstance(inst)
	if err := v.Validate(cue.Concrete(true), cue.Final()); err != nil {
		return nil, l.diagnoseIn(err, v)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	value, err := export(v, diag.Position{File: p.Entry})
	if err != nil {
		return nil, err
	}
	return &lang.Result{Value: value, Reads: l.reader.Reads()}, nil
}
