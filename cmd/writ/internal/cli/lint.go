package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/lang/worker"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/lint"
	"github.com/writ-dev/writ/stdlib"
)

func (a *app) lintCmd() *cobra.Command {
	var (
		output string
		list   bool
		limits limitFlags
	)
	cmd := &cobra.Command{
		Use:   "lint [DIR|FILE]",
		Short: "Find what is likely to go wrong with sources, without evaluating them",
		Long: `Looks at the CUE, Jsonnet, YAML and JSON files below DIR (default: this directory) for
what is not wrong and likely to become so: names that nothing refers to or that hide
others, text that readers of YAML do not agree about, calls that cannot work. Vendored
and hidden directories are left out.

A comment on the line, or on one of its own above, has a finding ignored:
  mode: 0755 # writ:ignore OctalNumber as kubectl reads it
In writ.yaml, for whole files and for those that have no comments:
  lint: {ignore: [{rule: UnreadFile, files: [docs], reason: examples of the manual}]}
The reason must be given; what has nothing to ignore is a finding itself.

A project with a writ.yaml is looked at as a whole too: files that nothing reads, inputs
that no program takes, environments that do not differ. The analysis of Jsonnet runs in
processes of its own, within the limits of an evaluation.
Exit code 1 says that there are findings.`,
		Example: `  writ lint
  writ lint apps -o github
  writ lint --list`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(checkFormats, output) {
				return usageError{fmt.Errorf("unknown output format %q: use %s", output, strings.Join(checkFormats, ", "))}
			}
			if list {
				return a.listRules(output)
			}
			return a.lint(cmd.Context(), append(args, ".")[0], output, &limits)
		},
	}
	limits.register(cmd)
	cmd.Flags().BoolVar(&list, "list", false, "list the rules instead")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "output format: "+strings.Join(checkFormats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(checkFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) listRules(output string) error {
	switch output {
	case "json":
		return a.encode("json", lint.Rules())
	case "text":
		for _, r := range lint.Rules() {
			fmt.Fprintf(a.out, "%-20s%s\n", r.Code, r.Text)
		}
		return nil
	}
	return usageError{fmt.Errorf("--list goes with -o text or json, not %s", output)}
}

// lintRoot is the module root of a directory, or without one the nearest project's
// directory, and the limits of that project. A broken one is a finding, later.
func lintRoot(dir string) (string, render.Limits) {
	top, module := render.ModuleRoot(dir)
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, render.ProjectFile)); err == nil {
			if !module {
				top = d
			}
			if p, err := render.LoadProject(d); err == nil {
				return top, p.Limits
			}
			return top, render.Limits{}
		}
		if d == filepath.Dir(d) || module && d == top {
			return top, render.Limits{}
		}
	}
}

func (a *app) lint(ctx context.Context, name, output string, given *limitFlags) error {
	full, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(full)
	if err != nil {
		return diag.List{{Message: "no such file or directory: " + name}}
	}
	dir := full
	if !info.IsDir() {
		dir = filepath.Dir(full)
	}
	top, limits := lintRoot(dir)
	if err := given.apply(&limits); err != nil {
		return err
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return fmt.Errorf("open the module root: %w", err)
	}
	defer root.Close()
	below, err := filepath.Rel(top, full)
	if err != nil {
		return err
	}
	pool, err := worker.NewPool(workers(top, limits))
	if err != nil {
		return err
	}
	defer pool.Close()
	report, err := lint.Run(ctx, lint.Options{
		FS: root.FS(), Name: filepath.ToSlash(below), Library: stdlib.FS(), Jsonnet: pool.Linter(string(render.Jsonnet)),
	})
	if err != nil {
		return err
	}
	report.Relocate(func(p diag.Position) diag.Position { return relocatePos(p, top) })
	for i := range report.Documents {
		report.Documents[i].Object = report.Documents[i].Pos.File
	}
	if err := a.showCheck(report, output); err != nil {
		return err
	}
	if report.Failed(true) {
		return exitError(exitFailed)
	}
	return nil
}
