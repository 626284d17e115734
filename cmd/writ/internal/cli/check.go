package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render/check"
	"github.com/writ-dev/writ/render/lint"
	"github.com/writ-dev/writ/render/test"
)

var checkFormats = []string{"text", "json", "sarif", "junit", "github"}

// checkFlags say what to check and how to show it.
type checkFlags struct {
	src            sourceFlags
	target, output string
	crds, policies []string
	strict         bool
}

func (a *app) checkCmd() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check [DIR]",
		Short: "Find what is wrong with a directory's documents, without a cluster",
		Long: `Evaluates DIR (default: this directory) and checks every document: its fields against the schemas of Kubernetes or
the CustomResourceDefinition of its kind, the rules of its kind, what Writ's cluster would
refuse (unless --target kube), declared dependencies, names that lead nowhere, and policies.

All environments are checked, unless --env names some. Images are not built. Documents of
a kind that nothing is known about are counted as unchecked. Exit code 1 says that there
is an error or, with --strict, a warning or an unchecked document.`,
		Example: `  writ check .
  writ check . --env prod
  writ check . --strict --crd crds -o sarif > check.sarif
  writ check manifests --target kube --policy ../policies/base.yaml`,
		ValidArgsFunction: completeDirs,
		Args:              cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if err := f.src.open(append(args, ".")[0]); err != nil {
				return err
			}
			if len(f.src.environments) == 0 && len(f.src.project.Environments) > 0 {
				f.src.environments = []string{"all"}
			}
			return a.check(cmd.Context(), &f)
		},
	}
	f.src.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.target, "target", "writ", "where the documents are for: writ or kube")
	flags.StringArrayVar(&f.crds, "crd", nil, "a file or directory with CustomResourceDefinitions (repeatable)")
	flags.StringArrayVar(&f.policies, "policy", nil, "a policy file, beside those of writ.yaml (repeatable)")
	flags.BoolVar(&f.strict, "strict", false, "warnings and unchecked documents fail too")
	flags.StringVarP(&f.output, "output", "o", "text", "output format: "+strings.Join(checkFormats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(checkFormats, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("target", cobra.FixedCompletions([]string{"writ", "kube"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (f *checkFlags) check() error {
	if !slices.Contains(checkFormats, f.output) {
		return usageError{fmt.Errorf("unknown output format %q: use %s", f.output, strings.Join(checkFormats, ", "))}
	}
	if t := check.Target(f.target); t != check.Writ && t != check.Kubernetes {
		return usageError{fmt.Errorf("unknown target %q: use writ or kube", f.target)}
	}
	return nil
}

// check checks every selected environment and shows one report. A program that
// cannot be evaluated is a part of it.
func (a *app) check(ctx context.Context, f *checkFlags) error {
	report, err := a.checkAll(ctx, f)
	if err != nil {
		return err
	}
	if err := a.showCheck(report, f.output); err != nil {
		return err
	}
	if report.Failed(f.strict) {
		return exitError(exitFailed)
	}
	return nil
}

func (a *app) checkAll(ctx context.Context, f *checkFlags) (*check.Report, error) {
	report := &check.Report{}
	subject, stop, err := a.checkSubject(ctx, f)
	if err != nil {
		return nil, err
	}
	defer stop()
	f.src.placeholders()
	targets, bundles, judged, err := a.renderTargets(ctx, &f.src)
	var all []rendered
	if err == nil {
		all, err = f.src.merge(targets, bundles, judged)
	}
	if l, ok := errors.AsType[diag.List](err); ok {
		report.Fail(l)
		return report, nil
	}
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		subject.Environment = r.Environment
		found, err := check.Run(ctx, r.Bundle, subject)
		if err != nil {
			return nil, err
		}
		report.Add(found)
	}
	if len(report.Findings) > 0 {
		asker, stop, err := f.src.asker()
		if err != nil {
			return nil, err
		}
		defer stop()
		if err := report.Explain(ctx, asker, renderings(targets, bundles)); err != nil {
			return nil, err
		}
	}
	report.Relocate(func(p diag.Position) diag.Position { return relocatePos(p, f.src.root) })
	return report, nil
}

// placeholders stand for the images that would be built: a check looks at what
// is written, not at what is in an image.
func (s *sourceFlags) placeholders() {
	s.built = map[string]string{}
	for _, i := range s.project.Images {
		s.built[i.Input()] = s.project.Name + "/" + i.Name + "@sha256:" + strings.Repeat("0", 64)
	}
}

func (a *app) showCheck(r *check.Report, format string) error {
	switch format {
	case "json":
		return r.WriteJSON(a.out)
	case "sarif":
		return r.WriteSARIF(a.out, check.SARIFOptions{Version: buildVersion(), Source: os.ReadFile, Describe: describe})
	case "junit":
		return r.WriteJUnit(a.out)
	case "github":
		return r.WriteGitHub(a.out)
	}
	return r.WriteText(a.out, func(s check.Severity, word string) string {
		if s == check.Error {
			return paint(a.color, red, word)
		}
		return paint(a.color, yellow, word)
	})
}

// describe is what a code of a finding means, in one line, or "".
func describe(code string) string { return cmp.Or(lint.Describe(code), test.Describe(code)) }
