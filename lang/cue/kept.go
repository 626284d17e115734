package cue

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"sync"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"

	"github.com/writ-dev/writ/lang"
)

// maxPrograms is after how many programs what is kept is made anew: a
// cue.Context never forgets what was built with it.
const maxPrograms = 100

// Reusing is the front end for many programs that import the same packages: an
// imported package is parsed, compiled and evaluated again only when one of its
// files is another. Results are those of Evaluator. It evaluates one program at
// a time.
func Reusing() lang.Evaluator { return &reusing{} }

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
	if e.kept == nil || e.kept.programs >= maxPrograms {
		e.kept = newKept()
	}
	e.kept.programs++
	r, err := eval(ctx, p, e.kept)
	if err != nil {
		// What a failure left behind in a package is not known.
		e.kept = nil
	}
	return r, err
}

// kept is what programs of one process share.
type kept struct {
	context  *cue.Context
	programs int
	// files are by name, apart for each package.
	files    map[packageKey]map[string]keptFile
	packages map[packageKey]*build.Instance
	listings lang.Listings
}

// packageKey is a package as one module sees it.
type packageKey struct {
	module     module
	importPath string
}

type keptFile struct {
	data []byte
	file *ast.File
}

func newKept() *kept {
	return &kept{context: cuecontext.New(), files: map[packageKey]map[string]keptFile{}, packages: map[packageKey]*build.Instance{}}
}

// parser is parse for the files of an imported package. Their trees are not
// changed once they are in it, so that one of the same content serves again.
func (l *loader) parser(key packageKey) parseFunc {
	if l.kept == nil {
		return l.parse
	}
	files := l.kept.files[key]
	if files == nil {
		files = map[string]keptFile{}
		l.kept.files[key] = files
	}
	return func(name string) (*ast.File, error) {
		data, err := l.reader.ReadFile(name)
		if have, ok := files[name]; ok && err == nil && bytes.Equal(have.data, data) {
			return have.file, nil
		}
		f, err := l.parseNew(name)
		// One that embeds others depends on more than its own content.
		if err == nil && !l.embeds[name] {
			files[name] = keptFile{data, f}
		}
		return f, err
	}
}

// again is the package that is kept under key, if it is still made of files,
// and if all that it imports is as it was.
func (l *loader) again(key packageKey, files []*ast.File) *build.Instance {
	inst := l.kept.packages[key]
	if inst == nil || !slices.Equal(inst.Files, files) {
		return nil
	}
	for _, f := range files {
		for spec := range f.ImportSpecs() {
			importPath, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil
			}
			if used := inst.LookupImport(importPath); used != l.importPackage(spec.Pos(), importPath) {
				return nil
			}
		}
	}
	return inst
}
