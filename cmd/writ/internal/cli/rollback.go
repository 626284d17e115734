package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/apply"
	"github.com/writ-dev/writ/cluster/client"
)

func (a *app) rollbackCmd() *cobra.Command {
	var (
		o         applyOptions
		namespace string
		out       string
	)
	cmd := &cobra.Command{
		Use:   "rollback RELEASE [REVISION]",
		Short: "Bring an earlier revision of a release back, as a plan",
		Long: `Plans the documents of REVISION (default: the one before the present), shows the plan,
asks, and commits it as one transaction, as 'writ apply' does; what was brought back is a
new revision. A release does not keep the values of Secrets: those stay as they are now,
and a Secret that is gone cannot be brought back.`,
		Example: `  writ rollback shop
  writ rollback shop 41 -n shop --out plan.json`,
		ValidArgsFunction: a.completeReleases,
		Args:              cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var revision int64
			if len(args) == 2 {
				var err error
				if revision, err = parseRevision(args[1]); err != nil {
					return err
				}
			}
			c, err := a.connect()
			if err != nil {
				return err
			}
			defer c.Close()
			work, err := rollbackPlan(cmd.Context(), c, args[0], namespace, revision, o.how)
			if err != nil {
				return err
			}
			if out != "" {
				work.plan.Print(a.out, a.color)
				return a.writePlan(out, work.plan)
			}
			return a.apply(cmd.Context(), work, o)
		},
	}
	a.outputFlag(cmd, &o.output)
	a.namespaceFlag(cmd, &namespace)
	o.how.register(cmd)
	f := cmd.Flags()
	f.StringVar(&out, "out", "", "write the plan to this file, and apply nothing")
	f.IntVar(&o.deletes, "allow-deletes", 0, "how many objects may be deleted (default: not all, and of many not most)")
	f.IntVar(&o.keep, "keep-revisions", 10, "how many applications the release remembers")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&o.noWait, "no-wait", false, "do not wait until all is ready")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long to wait until all is ready")
	return cmd
}

func parseRevision(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, usageError{fmt.Errorf("revision %q: want a number as 'writ history' shows it", text)}
	}
	return n, nil
}

// rollbackPlan plans the documents of an earlier revision.
func rollbackPlan(ctx context.Context, c *client.Client, name, namespace string, number int64, how planFlags) (applying, error) {
	work := applying{client: c}
	if _, err := release(ctx, c, namespace, name); err != nil {
		return work, err
	}
	revisions, err := apply.History(ctx, c, namespace, name)
	if err != nil {
		return work, err
	}
	r, err := apply.Find(revisions, number)
	if err != nil {
		return work, err
	}
	if work.bundle, err = r.Bundle(); err != nil {
		return work, err
	}
	work.plan, err = apply.Compute(ctx, c, work.bundle, apply.Options{
		Release: name, Namespace: namespace, By: userName(), Source: r.Spec.Source, Rollback: r.Spec.Revision,
		Adopt: how.adopt, ForceFields: how.force, Orphan: how.orphan, Defaulted: how.drift,
	})
	return work, err
}
