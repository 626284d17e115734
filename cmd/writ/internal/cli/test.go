package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render/check"
	"github.com/writ-dev/writ/render/test"
)

var testFormats = []string{"json", "junit", "sarif", "github"}

// testFlags say how to show what the tests did.
type testFlags struct {
	test.Options
	run, output, coverOut string
	coverMin              float64
	watch, verbose, empty bool
}

func (a *app) testCmd() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test [DIR|FILE]",
		Short: "Run the tests of configuration",
		Long:  testHelp,
		Example: `  writ test
  writ test shop --run replicas --cover
  writ test -o junit > tests.xml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Path = append(args, ".")[0]
			f.Evaluators = evaluators
			f.Check = check.Options{AllowUnknown: true} // as render does
			return a.test(cmd.Context(), &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.run, "run", "", `run only tests whose "FILE: NAME" matches this regular expression`)
	flags.IntVarP(&f.Parallel, "parallel", "p", 0, "how many evaluations run at a time (default: one a processor)")
	flags.BoolVar(&f.Update, "update", false, "write snapshots instead of comparing, and remove obsolete ones")
	flags.BoolVarP(&f.watch, "watch", "w", false, "run again after each change, until Ctrl-C")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "list the tests that pass too")
	flags.BoolVar(&f.empty, "allow-empty", false, "finding no test is not a failure")
	flags.StringVarP(&f.output, "output", "o", "", "output format: "+strings.Join(testFormats, ", ")+" (default for people)")
	flags.BoolVar(&f.Cover, "cover", false, "count what the tests and environments use")
	flags.StringVar(&f.coverOut, "cover-out", "", "write the sources with what is not used to this .html or .txt file; implies --cover")
	flags.Float64Var(&f.coverMin, "cover-min", 0, "fail when less than this percentage is used; implies --cover")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(testFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check refuses flags that make no sense.
func (f *testFlags) check() (err error) {
	if f.run != "" {
		if f.Run, err = regexp.Compile(f.run); err != nil {
			return usageError{fmt.Errorf("--run: %w", err)}
		}
	}
	ext := filepath.Ext(f.coverOut)
	switch {
	case f.output != "" && !slices.Contains(testFormats, f.output):
		return usageError{fmt.Errorf("unknown output format %q: use %s", f.output, strings.Join(testFormats, ", "))}
	case f.watch && f.output != "":
		return usageError{errors.New("--watch shows its results to people; leave out --output")}
	case f.coverOut != "" && ext != ".html" && ext != ".txt":
		return usageError{fmt.Errorf("--cover-out %s: name a .html or .txt file", f.coverOut)}
	case f.coverMin < 0 || f.coverMin > 100:
		return usageError{fmt.Errorf("--cover-min %g: use a percentage", f.coverMin)}
	case f.Parallel < 0:
		return usageError{fmt.Errorf("--parallel %d: use a positive number", f.Parallel)}
	}
	f.Cover = f.Cover || f.coverOut != "" || f.coverMin > 0
	return nil
}

func (a *app) test(ctx context.Context, f *testFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if !f.watch {
		report, err := test.Run(ctx, f.Options)
		if err != nil {
			return err
		}
		return a.tested(report, f)
	}
	return test.Watch(ctx, f.Options, func(report *test.Report, err error) {
		if err == nil {
			err = a.tested(report, f)
		}
		if _, ok := errors.AsType[exitError](err); err != nil && !ok {
			diag.Print(a.err, err)
		}
		fmt.Fprintln(a.err, "waiting for a change; Ctrl-C ends")
	})
}

// tested shows a report and tells whether all is well.
func (a *app) tested(report *test.Report, f *testFlags) error {
	if err := a.showTests(report, f); err != nil {
		return err
	}
	if c := report.Coverage; c != nil && c.Percent() < f.coverMin {
		return fmt.Errorf("coverage is %.1f%%, less than the %g%% asked for", c.Percent(), f.coverMin)
	}
	switch {
	case report.Failed > 0:
		return exitError(exitFailed)
	case report.Tests() == 0 && !f.empty:
		message := "no tests in " + f.Path
		if f.Run != nil && len(report.Files) == 0 {
			message = "no test matches " + f.run
		}
		return diag.List{{Message: message, Hint: "write a *_test.cue or *_test.jsonnet (see 'writ test --help'), or give --allow-empty"}}
	}
	return nil
}

func (a *app) showTests(report *test.Report, f *testFlags) error {
	if f.coverOut != "" {
		write := report.Coverage.WriteText
		if filepath.Ext(f.coverOut) == ".html" {
			write = report.Coverage.WriteHTML
		}
		if err := writeTo(f.coverOut, write); err != nil {
			return fmt.Errorf("write the coverage: %w", err)
		}
	}
	switch f.output {
	case "json":
		return a.encode("json", report)
	case "junit":
		return report.WriteJUnit(a.out)
	case "sarif", "github":
		return a.showCheck(report.Findings(), f.output)
	}
	return report.Print(a.out, f.verbose)
}

func writeTo(path string, write func(io.Writer) error) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(out), out.Close())
}
