package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/lang/jsonnet/bundler"
	"github.com/writ-dev/writ/lang/worker"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/stdlib"
)

// evaluators run programs below root in other processes, until stop. The packages
// that they import are those of the module's lock.
func evaluators(root string, l render.Limits) (byLanguage map[render.Language]lang.Evaluator, stop func(), err error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, nil, fmt.Errorf("open the module root: %w", err)
	}
	defer dir.Close()
	if _, err := bundler.Verify(dir.FS()); err != nil {
		return nil, nil, relocate(err, root)
	}
	return pooled(workers(root, l))
}

func workers(root string, l render.Limits) worker.Options {
	return worker.Options{Root: root, Timeout: l.Time, Memory: l.Memory, Stack: l.Stack}
}

func pooled(o worker.Options) (byLanguage map[render.Language]lang.Evaluator, stop func(), err error) {
	pool, err := worker.NewPool(o)
	if err != nil {
		return nil, nil, err
	}
	byLanguage = map[render.Language]lang.Evaluator{}
	for name := range render.FrontEnds() {
		byLanguage[name] = pool.Evaluator(string(name))
	}
	return byLanguage, pool.Close, nil
}

// evalMain is one of those processes.
func evalMain() int {
	front := map[string]lang.Evaluator{}
	for l, e := range render.Reusing() {
		front[string(l)] = e
	}
	if err := worker.Main(context.Background(), os.Stdin, os.Stdout, front, stdlib.FS()); err != nil {
		diag.Print(os.Stderr, err)
		return exitFailed
	}
	return exitOK
}
