package cli

import (
	"context"
	"os"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/lang/worker"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/stdlib"
)

// evaluators run programs below root in processes of their own.
func evaluators(root string, l render.Limits) map[render.Language]lang.Evaluator {
	out := map[render.Language]lang.Evaluator{}
	for name := range render.FrontEnds() {
		out[name] = worker.Evaluator{Language: string(name), Root: root, Timeout: l.Time, Memory: l.Memory}
	}
	return out
}

// evalMain is such a process.
func evalMain() int {
	front := map[string]lang.Evaluator{}
	for l, e := range render.FrontEnds() {
		front[string(l)] = e
	}
	if err := worker.Main(context.Background(), os.Stdin, os.Stdout, front, stdlib.FS()); err != nil {
		diag.Print(os.Stderr, err)
		return exitFailed
	}
	return exitOK
}
