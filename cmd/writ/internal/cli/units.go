package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/render/units"
)

var unitFormats = []string{"json", "yaml", "name"}

// unitsFlags say which units are wanted.
type unitsFlags struct {
	src             sourceFlags
	reads, affected []string
	since, output   string
}

func (a *app) unitsCmd() *cobra.Command {
	var f unitsFlags
	cmd := &cobra.Command{
		Use:   "units [DIR]",
		Short: "List the programs of a project, what each reads, and which a change affects",
		Long: `Lists the units of DIR (default: this directory) in every environment, or in those of
--env, with the files that each depends on: those it reads, those it would read if they
were there, and the directories whose names it looks at. What is in the cache is not
evaluated for that. Images are not built.

--reads lists the units that read a file. --affected-by lists those that may render to
something else when a file (or anything in a directory) changes, comes or goes; files
need not be there any more. --since compares with a git revision: a unit is listed when
something that it reads, or is given as an input, is not as it was; files that git
ignores count as unchanged. -o name prints the names of units alone:

  writ units --since origin/main -o name | sed 's/^/--unit=/' | xargs -r writ check .

An image counts as changed with the files of its directory and the Go files of its Go
module. Tests, policies and schemas are no part of what a unit renders to.`,
		Example: `  writ units
  writ units --reads lib/app.libsonnet
  writ units --affected-by lib --affected-by writ.yaml -o name
  writ units --since HEAD~1 -o json`,
		ValidArgsFunction: completeDirs,
		Args:              cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if err := f.src.open(append(args, ".")[0]); err != nil {
				return err
			}
			return a.units(cmd.Context(), &f)
		},
	}
	f.src.register(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.reads, "reads", nil, "only units that read this file (repeatable)")
	flags.StringArrayVar(&f.affected, "affected-by", nil, "only units that a change of this file or directory may affect (repeatable)")
	flags.StringVar(&f.since, "since", "", "only units that are affected by what has changed since this git revision")
	flags.StringVarP(&f.output, "output", "o", "", "output format: "+strings.Join(unitFormats, ", ")+" (default for people)")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(unitFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (f *unitsFlags) check() error {
	if f.output != "" && !slices.Contains(unitFormats, f.output) {
		return usageError{fmt.Errorf("unknown output format %q: use %s", f.output, strings.Join(unitFormats, ", "))}
	}
	given := 0
	for _, is := range []bool{f.reads != nil, f.affected != nil, f.since != ""} {
		if is {
			given++
		}
	}
	if given > 1 {
		return usageError{errors.New("--reads, --affected-by and --since are questions of their own: give one of them")}
	}
	return nil
}

// listedUnit is a unit as it is shown.
type listedUnit struct {
	Unit        string            `json:"unit,omitempty"`
	Environment string            `json:"environment,omitempty"`
	Entry       string            `json:"entry"`
	Namespace   string            `json:"namespace,omitempty"`
	Inputs      map[string]string `json:"inputs,omitempty"`
	Documents   int               `json:"documents"`
	Digest      string            `json:"digest,omitempty"`
	// Uses are the files that it depends on.
	Uses []units.Use `json:"uses"`
	// Because is why it is listed, when not all are; Gone says that it is one no
	// more.
	Because []units.Use `json:"because,omitempty"`
	Gone    bool        `json:"gone,omitempty"`
}

func (a *app) units(ctx context.Context, f *unitsFlags) error {
	src := &f.src
	if len(src.environments) == 0 && len(src.project.Environments) > 0 {
		src.environments = []string{"all"}
	}
	src.pretendBuilt()
	targets, bundles, _, err := a.renderTargets(ctx, src)
	if err != nil {
		return err
	}
	var programs []units.Program
	for i, t := range targets {
		programs = append(programs, units.Program{Target: t, Bundle: bundles[i]})
	}
	because, gone, err := a.affected(ctx, f, programs)
	if err != nil {
		return err
	}
	list := []listedUnit{}
	for i, p := range programs {
		if because != nil && because[i] == nil {
			continue
		}
		u := listedUnit{
			Unit: p.Unit, Environment: p.Environment, Entry: p.Entry, Namespace: p.Namespace, Inputs: p.Bundle.Inputs,
			Documents: len(p.Bundle.Documents), Digest: p.Bundle.Digest, Uses: src.placed(units.Uses(p)), Because: src.placed(because[i]),
		}
		list = append(list, u)
	}
	for _, t := range gone {
		list = append(list, listedUnit{Unit: t.Unit, Environment: t.Environment, Entry: t.Entry, Uses: []units.Use{}, Gone: true})
	}
	return a.showUnits(list, because != nil, f.output)
}

func (a *app) showUnits(list []listedUnit, some bool, output string) error {
	switch output {
	case "json", "yaml":
		return a.encode(output, list)
	case "name":
		seen := map[string]bool{}
		for _, u := range list {
			if name := cmp.Or(u.Unit, u.Entry); !u.Gone && !seen[name] {
				seen[name] = true
				fmt.Fprintln(a.out, name)
			}
		}
		return nil
	}
	if len(list) == 0 {
		fmt.Fprintln(a.err, "there is no such unit")
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	head := "UNIT\tENVIRONMENT\tDOCUMENTS\tFILES\n"
	if some {
		head = "UNIT\tENVIRONMENT\tBECAUSE IT\n"
	}
	fmt.Fprint(w, head)
	for _, u := range list {
		fmt.Fprintf(w, "%s\t%s\t", cmp.Or(u.Unit, u.Entry), cmp.Or(u.Environment, "-"))
		if !some {
			fmt.Fprintf(w, "%d\t%d\n", u.Documents, len(slices.DeleteFunc(slices.Clone(u.Uses), func(x units.Use) bool { return x.How != units.Reads })))
			continue
		}
		fmt.Fprintln(w, u.reason())
	}
	return w.Flush()
}

// reason is why a unit is listed, in a few words.
func (u listedUnit) reason() string {
	switch {
	case u.Gone:
		return "is gone"
	case u.Because[0].How == units.Added:
		return "is new"
	case u.Because[0].How == units.Unlike:
		return "is another in writ.yaml"
	}
	text := u.Because[0].String()
	if n := len(u.Because) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}
