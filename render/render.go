package render

import (
	"context"
	"errors"
	"io/fs"

	"github.com/writ-dev/writ/lang"
)

// Language names a front end.
type Language string

// The languages. YAML includes JSON.
const (
	CUE     Language = "cue"
	Jsonnet Language = "jsonnet"
	YAML    Language = "yaml"
)

// Options say what to render.
type Options struct {
	// FS is the module root; it must refuse paths that leave it (os.Root.FS).
	FS fs.FS
	// Entry is the file or directory to evaluate, relative to FS; empty means
	// ".", the root.
	Entry string
	// Inputs are the program's parameters.
	Inputs map[string]string
	// Namespace is given to documents of namespaced kinds that name none;
	// empty means "default".
	Namespace string
	// Evaluators run the languages; for a language without one, the front end
	// runs in this process. Programs that are not trusted to end belong in a
	// worker process.
	Evaluators map[Language]lang.Evaluator
}

// Render evaluates a program and collects its documents. Errors are diag.List.
func Render(ctx context.Context, o Options) (*Bundle, error) {
	return nil, errors.New("not yet")
}
