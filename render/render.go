package render

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/stdlib"
)

// Options say what to render.
type Options struct {
	// FS is the module root; it must refuse paths that leave it (os.Root.FS).
	FS fs.FS
	// Entry is the file or directory to evaluate, relative to FS; empty means
	// ".", the root.
	Entry string
	// Inputs are the program's parameters; Offers those that it may have.
	Inputs, Offers map[string]string
	// Settings are what only some languages have.
	Settings lang.Settings
	// Optional says that having no document is no mistake.
	Optional bool
	// Namespace is given to documents of namespaced kinds that name none;
	// empty means "default".
	Namespace string
	// Evaluators run the languages; for a language without one, the front end
	// runs in this process. Programs that are not trusted to end belong in a
	// worker process.
	Evaluators map[Language]lang.Evaluator
}

// Render evaluates a program and collects its documents. What is wrong with
// the program is reported as a diag.List.
func Render(ctx context.Context, o Options) (*Bundle, error) {
	if o.Entry == "" {
		o.Entry = "."
	}
	if o.Namespace == "" {
		o.Namespace = "default"
	}
	result, err := evaluate(ctx, o, lang.Program{})
	if err != nil {
		return nil, err
	}
	reads, err := withListing(o, result.Reads)
	if err != nil {
		return nil, err
	}
	docs, err := collect(result.Value, o)
	if err != nil {
		return nil, err
	}
	return &Bundle{
		Documents: docs,
		Digest:    digest(docs),
		Inputs:    result.Inputs,
		Reads:     reads,
	}, nil
}

// withListing adds what decided the language: the names in a directory.
func withListing(o Options, reads []lang.Read) ([]lang.Read, error) {
	if info, err := fs.Stat(o.FS, o.Entry); err != nil || !info.IsDir() {
		return reads, err
	}
	r := lang.Read{File: o.Entry + "/"}
	i, found := slices.BinarySearchFunc(reads, r, func(a, b lang.Read) int { return strings.Compare(a.File, b.File) })
	if found {
		return reads, nil
	}
	r.SHA256 = r.Again(o.FS, nil)
	return slices.Insert(slices.Clone(reads), i, r), nil
}

// Evaluate is the value of a program, in which no documents are looked for.
func Evaluate(ctx context.Context, o Options) (lang.Value, error) {
	result, err := Look(ctx, o, "")
	if err != nil {
		return lang.Value{}, err
	}
	return result.Value, nil
}

// Look is the value of an expression in the language of a program, and that of
// the program without one. Its Reads tell when to look again.
func Look(ctx context.Context, o Options, expression string) (*lang.Result, error) {
	return evaluate(ctx, o, lang.Program{Expression: expression})
}

// Explain evaluates a program once more and tells how the parts of its value at
// paths came to be, in the same order. Of a document, a path is Origin.Path and
// what follows it; see Origin.Concrete.
func Explain(ctx context.Context, o Options, paths []string) ([]lang.Explanation, error) {
	var all []lang.Explanation
	for some := range slices.Chunk(paths, lang.MaxExplain) {
		result, err := evaluate(ctx, o, lang.Program{Explain: some})
		if err != nil {
			return nil, err
		}
		if len(result.Explained) != len(some) {
			return nil, fmt.Errorf("explain %s: want %d explanations, not %d", o.Entry, len(some), len(result.Explained))
		}
		all = append(all, result.Explained...)
	}
	return all, nil
}

// evaluate evaluates the program that o names; what is said in p of how stays.
func evaluate(ctx context.Context, o Options, p lang.Program) (*lang.Result, error) {
	if o.Entry == "" {
		o.Entry = "."
	}
	language, err := Detect(o.FS, o.Entry)
	if err != nil {
		return nil, err
	}
	p.FS, p.Entry, p.Library = o.FS, o.Entry, stdlib.FS()
	p.Inputs, p.Offers, p.Settings = o.Inputs, o.Offers, o.Settings
	return evaluator(language, o.Evaluators).Eval(ctx, p)
}
