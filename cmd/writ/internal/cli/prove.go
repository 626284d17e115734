package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/lang/worker"
	"github.com/writ-dev/writ/render"
)

// elsewhere is evaluators in surroundings that could not be more different:
// another copy of the module, directory, environment, time zone, language,
// number of processors, and a new process for each program.
func elsewhere(root, dir string, l render.Limits) (byLanguage map[render.Language]lang.Evaluator, stop func(), err error) {
	return pooled(worker.Options{
		Root: root, Timeout: l.Time, Memory: l.Memory, Stack: l.Stack, Fresh: true, Dir: dir,
		Env: []string{"TZ=Pacific/Kiritimati", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8", "HOME=/nonexistent", "USER=nobody", "GOMAXPROCS=1", "GOGC=20", "CUE_EXPERIMENT=", "JSONNET_PATH=/nonexistent"},
	})
}

// proveElsewhere renders the targets again elsewhere, and compares. The copy of
// the module that is used there holds what the first time read and nothing
// else, so that it shows too when something was read and not recorded.
func (s *sourceFlags) proveElsewhere(ctx context.Context, m *module, targets []render.Target, bundles []*render.Bundle) (err error) {
	dir, err := os.MkdirTemp("", "writ-prove-")
	if err != nil {
		return fmt.Errorf("make other surroundings: %w", err)
	}
	defer func() {
		if e := os.RemoveAll(dir); err == nil && e != nil {
			err = fmt.Errorf("remove the other surroundings: %w", e)
		}
	}()
	var reads []lang.Read
	for _, b := range bundles {
		reads = append(reads, b.Reads...)
	}
	root := filepath.Join(dir, "another", "place")
	if err := lang.Extract(m.root.FS(), reads, root); err != nil {
		return fmt.Errorf("make other surroundings: %w", err)
	}
	byLanguage, stop, err := elsewhere(root, dir, s.project.Limits)
	if err != nil {
		return err
	}
	defer stop()
	again, err := render.All(ctx, targets, render.AllOptions{FS: m.root.FS(), Dir: m.below, Evaluators: byLanguage})
	if err != nil {
		return fmt.Errorf("evaluate again in other surroundings: %w", s.locate(err))
	}
	var problems diag.List
	for i, t := range targets {
		differences := render.Compare(bundles[i], again[i])
		for _, d := range differences {
			problems = append(problems, diag.Diagnostic{
				Code: "PROVE", Pos: d.OldPos, Object: d.Key.String(), Path: d.Path,
				Message: fmt.Sprintf("is %s, and %s when it is evaluated in other surroundings", brief(d.Old), brief(d.New)),
			})
		}
		if len(differences) == 0 && !slices.Equal(bundles[i].Reads, again[i].Reads) {
			problems = append(problems, diag.Diagnostic{Code: "PROVE", Pos: diag.Position{File: t.Entry}, Message: "reads other files when it is evaluated in other surroundings"})
		}
	}
	return s.locate(problems.Err())
}
