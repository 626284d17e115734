package jsonnet

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// maxPrograms is after how many programs what is kept is made anew: a
// jsonnet.VM never forgets a file.
const maxPrograms = 200

// Reusing is the front end for many programs that import the same files: an
// imported file is parsed and evaluated again only when it, or a file that any
// program before read, is another, or the inputs are. Results are those of
// Evaluator. It evaluates one program at a time.
func Reusing() lang.Evaluator { return &reusing{} }

// errChanged says that a program reads a file that is another than before.
var errChanged = errors.New("a file has changed")

type reusing struct {
	mu   sync.Mutex
	kept *kept
}

// Eval satisfies lang.Evaluator.
func (e *reusing) Eval(ctx context.Context, p lang.Program) (*lang.Result, error) {
	if p.Cover || p.Tests || len(p.Explain) > 0 || len(p.Overlay) > 0 || p.Expression != "" {
		return Evaluator{}.Eval(ctx, p)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	// What an import means depends on where it is looked for.
	if e.kept == nil || e.kept.programs >= maxPrograms || !slices.Equal(e.kept.importer.search, p.Settings.Search) {
		e.kept = newKept()
	}
	e.kept.programs++
	r, err := eval(ctx, p, e.kept)
	if err == nil {
		return r, nil
	}
	// What a failure left behind is not known; and it is no failure that a
	// file is another than before.
	again := e.kept.importer.changed
	e.kept = nil
	if again {
		return Evaluator{}.Eval(ctx, p)
	}
	return nil, err
}

// Lint satisfies lang.Linter. Nothing is kept of it.
func (e *reusing) Lint(ctx context.Context, p lang.Program) (diag.List, error) {
	return Evaluator{}.Lint(ctx, p)
}

// kept is what programs of one process share.
type kept struct {
	vm       *jsonnet.VM
	importer *importer
	programs int
	// external is the external variables of the program before, and code those
	// that are expressions; values that were made with others must not be used
	// again.
	external map[string]string
	code     []string
	surveys  map[ast.Node]*findings
}

func newKept() *kept {
	k := &kept{vm: newVM(), importer: newImporter(), surveys: map[ast.Node]*findings{}}
	k.vm.Importer(k.importer)
	return k
}

// begin makes ready for another program.
func (k *kept) begin(r *lang.Reader, search []string) {
	k.importer.begin(r, search)
	k.vm.TLAReset()
}

// give sets external variables, those of code as expressions.
func (k *kept) give(have bound) {
	external, code := have.text, slices.Sorted(maps.Keys(have.code))
	if maps.Equal(k.external, external) && slices.Equal(k.code, code) {
		return
	}
	k.vm.ExtReset()
	for name, value := range external {
		if have.code[name] != nil {
			k.vm.ExtCode(name, value)
		} else {
			k.vm.ExtVar(name, value)
		}
	}
	k.external, k.code = external, code
}
