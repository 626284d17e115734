package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/writ-dev/writ/apply"
	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/lang/diag"
)

type applyOptions struct {
	src      sourceFlags
	how      planFlags
	planFile string
	checksum string
	deletes  int
	keep     int
	output   string
	yes      bool
	noWait   bool
	timeout  time.Duration
}

func (a *app) applyCmd() *cobra.Command {
	var o applyOptions
	cmd := &cobra.Command{
		Use:   "apply DIR | apply PLAN [DIR]",
		Short: "Plan, confirm, commit as one transaction, and wait until all is ready",
		Long: `Plans DIR against the cluster, shows the plan, asks, and commits it as one transaction:
all of it or nothing. Then waits until everything is ready. Ctrl-C while waiting ends
the wait; what was committed stays.

PLAN is a file that 'writ plan --out' made. Exactly that is committed, or nothing, when
the cluster has moved since. It does not hold the values of Secrets: if they change, DIR
is rendered again, and must come to the same documents.`,
		Example: `  writ apply . --env prod
  writ plan . --env prod --out plan.json && writ apply plan.json --yes`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.planFile == "" && len(args) > 0 && isPlanFile(args[0]) {
				o.planFile, args = args[0], args[1:]
			}
			if len(args) > 1 || len(args) == 0 && o.planFile == "" {
				return usageError{errors.New("want a directory, or a plan's file and perhaps its directory")}
			}
			c, err := a.connect()
			if err != nil {
				return err
			}
			defer c.Close()
			work, err := a.toApply(cmd.Context(), c, args, &o)
			if err != nil {
				return err
			}
			return a.apply(cmd.Context(), work, o)
		},
	}
	o.src.register(cmd)
	o.how.register(cmd)
	a.outputFlag(cmd, &o.output)
	f := cmd.Flags()
	f.StringVar(&o.planFile, "plan", "", "commit exactly this plan, made by 'writ plan --out'")
	f.StringVar(&o.checksum, "checksum", "", "the checksum that the plan must have")
	f.IntVar(&o.deletes, "allow-deletes", 0, "how many objects may be deleted (default: not all, and of many not most)")
	f.IntVar(&o.keep, "keep-revisions", 10, "how many applications the release remembers")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&o.noWait, "no-wait", false, "do not wait until all is ready")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long to wait until all is ready")
	return cmd
}

// toApply reads the plan, or makes it.
func (a *app) toApply(ctx context.Context, c *client.Client, args []string, o *applyOptions) (work applying, err error) {
	work.client = c
	if len(args) == 1 {
		if work.bundle, err = a.bundle(ctx, args[0], &o.src); err != nil {
			return work, err
		}
	}
	if o.planFile != "" {
		work.plan, err = readPlan(o.planFile, o.checksum)
		return work, err
	}
	if o.checksum != "" {
		return work, usageError{errors.New("--checksum is of a plan's file")}
	}
	work.plan, err = apply.Compute(ctx, c, work.bundle, o.src.planOptions(o.how))
	return work, o.src.locate(err)
}

func (a *app) apply(ctx context.Context, work applying, o applyOptions) error {
	if o.output == "" {
		work.plan.Print(a.out, a.color)
	}
	if !work.plan.Empty() && !o.yes {
		if err := a.confirm("apply this plan?"); err != nil {
			return err
		}
	}
	result, err := apply.Apply(ctx, work.client, work.plan, apply.CommitOptions{Bundle: work.bundle, AllowDeletes: o.deletes, KeepRevisions: o.keep})
	if err != nil {
		return o.src.locate(err)
	}
	if o.output != "" {
		if err := a.encode(o.output, map[string]any{"revision": result.Revision, "plan": work.plan}); err != nil {
			return err
		}
	} else if !work.plan.Empty() {
		fmt.Fprintf(a.out, "applied at revision %d in one transaction\n", result.Revision)
	}
	if o.noWait {
		return nil
	}
	begin := time.Now()
	err = a.await(ctx, work.client, work.plan, o.timeout)
	if errors.Is(err, context.Canceled) {
		return diag.List{{
			Code: "INTERRUPTED", Message: fmt.Sprintf("stopped waiting; what was applied at revision %d stays, and the cluster goes on with it", result.Revision),
			Hint: fmt.Sprintf("see 'writ get all'; 'writ rollback %s -n %s' plans the way back", work.plan.Release, work.plan.Namespace),
		}}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.err, "all ready after %s\n", time.Since(begin).Round(time.Millisecond))
	return nil
}

// await shows progress until every object of the plan is as written, or gone.
func (a *app) await(ctx context.Context, c *client.Client, p *apply.Plan, timeout time.Duration) error {
	waitCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	shown := a.progress()
	err := apply.Wait(waitCtx, c, p.Goal(), shown.update)
	shown.done()
	var pending *apply.WaitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &pending):
		a.explain(ctx, c, pending.Pending)
		return pending.Diagnostic(fmt.Sprintf("not ready after %s; what was applied stays", timeout))
	}
	return err
}

// confirm asks a person. Without a terminal to ask on, --yes is needed.
func (a *app) confirm(question string) error {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return usageError{errors.New("standard input is no terminal to confirm on; use --yes")}
	}
	fmt.Fprintf(a.err, "%s [y/N] ", question)
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("not applied")
}
