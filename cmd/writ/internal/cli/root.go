// Package cli is the writ command: one file per verb, each of which parses,
// calls the packages that do the work, and prints. Results go to standard
// output, everything said about the work to standard error.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/lang/worker"
)

// The exit codes, as documented by `writ help`.
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitChanges = 3
)

// app is what the verbs share.
type app struct {
	out, err io.Writer
	// color and errColor say whether out and err are terminals that want
	// colours; live whether err is one on which progress may redraw.
	color, errColor, live bool
	kubeconfig            string
}

// usageError is a wrong command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exitError ends the command with a code and no message of its own.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Main runs the command line and returns its exit code.
func Main(args []string, stdout, stderr *os.File) int {
	if len(args) > 0 && args[0] == worker.Argument {
		return evalMain()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second Ctrl-C ends the process at once: containers die with it.
	context.AfterFunc(ctx, stop)
	a := &app{
		out: stdout, err: stderr,
		color: wantsColor(stdout), errColor: wantsColor(stderr), live: redraws(stderr),
	}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return a.report(root.ExecuteContext(ctx))
}

// redraws reports whether a file is a terminal that can move its cursor.
func redraws(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

func wantsColor(f *os.File) bool { return redraws(f) && os.Getenv("NO_COLOR") == "" }

func (a *app) report(err error) int {
	var usage usageError
	var code exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage):
		fmt.Fprintf(a.err, "error: %v\n", err)
		return exitUsage
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(a.err, "interrupted")
		return exitFailed
	}
	diag.Print(a.err, err)
	return exitFailed
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "writ",
		Short: "Write applications once, typed; read them as data; run exactly that",
		Long: `Writ evaluates typed configuration (CUE, Jsonnet, YAML) to plain documents, plans
them against a cluster, commits the plan as one transaction, and runs the pods.
What is not declared cannot connect.

Start here:
  writ up examples/guestbook     everything on this machine, until Ctrl-C

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 the plan has changes (plan --exit-code).`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w%s; see '%s --help'", err, suggestFlag(cmd, err), cmd.CommandPath())}
	})
	root.PersistentFlags().StringVar(&a.kubeconfig, "kubeconfig", "", "the cluster to talk to (default $WRIT_KUBECONFIG, $KUBECONFIG, or the one running here)")
	root.AddGroup(
		&cobra.Group{ID: "config", Title: "Configuration:"},
		&cobra.Group{ID: "cluster", Title: "Cluster:"},
		&cobra.Group{ID: "serve", Title: "Running a cluster:"},
	)
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("config", a.renderCmd(), a.checkCmd(), a.lintCmd(), a.docsCmd(), a.testCmd(), a.whyCmd(), a.unitsCmd(), a.evalCmd(), a.replCmd(), a.fmtCmd(), a.refactorCmd(), a.initCmd(), a.cacheCmd(), a.imageCmd())
	add("cluster", a.planCmd(), a.applyCmd(), a.diffCmd(), a.historyCmd(), a.rollbackCmd(), a.deleteCmd(), a.getCmd(), a.logsCmd())
	add("serve", a.upCmd(), a.serverCmd(), a.agentCmd(), a.keyCmd())
	root.AddCommand(a.versionCmd())
	usageArgs(root)
	return root
}

// usageArgs makes wrong arguments usage errors throughout the tree. What has
// verbs of its own takes no other arguments: one is a verb that there is not.
func usageArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if err == nil {
				return nil
			}
			if c.HasSubCommands() && len(args) > 0 {
				err = unknownVerb(c, args[0])
			}
			return usageError{fmt.Errorf("%w; see '%s --help'", err, c.CommandPath())}
		}
	}
	for _, c := range cmd.Commands() {
		usageArgs(c)
	}
}

func unknownVerb(cmd *cobra.Command, name string) error {
	var known []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	return fmt.Errorf("there is no '%s %s'%s", cmd.CommandPath(), name, didYouMean("", name, known))
}

// suggestFlag names the flag that an unknown one was probably meant to be.
func suggestFlag(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	return didYouMean("--", unknown.GetSpecifiedName(), known)
}

func didYouMean(before, name string, known []string) string {
	if near := api.Nearest(name, known); near != "" {
		return "; did you mean " + before + near + "?"
	}
	return ""
}
