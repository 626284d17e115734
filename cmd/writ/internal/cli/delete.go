package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/writ-dev/writ/apply"
	"github.com/writ-dev/writ/render"
)

type deleteOptions struct {
	namespace string
	yes       bool
	orphan    bool
	timeout   time.Duration
}

func (a *app) deleteCmd() *cobra.Command {
	var o deleteOptions
	cmd := &cobra.Command{
		Use:   "delete RELEASE",
		Short: "Remove a release and everything that it applied",
		Long: `Plans the removal of every object that RELEASE applied and still has, shows the plan,
asks, commits it as one transaction, and waits until all of it is gone. What others
made is left alone. 'writ get releases -A' lists the releases.`,
		Example: `  writ delete shop-dev -n shop-dev
  writ delete shop --orphan --yes    forget the release, keep its objects`,
		ValidArgsFunction: a.completeReleases,
		Args:              cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.deleteRelease(cmd.Context(), args[0], o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.namespace, "namespace", "n", "default", "the release's namespace")
	a.completeNamespace(cmd)
	f.BoolVar(&o.orphan, "orphan", false, "let go of the objects, and remove only the record")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long to wait until all is gone")
	return cmd
}

func (a *app) deleteRelease(ctx context.Context, name string, o deleteOptions) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := release(ctx, c, o.namespace, name); err != nil {
		return err
	}
	nothing := render.FromObjects(nil)
	plan, err := apply.Compute(ctx, c, nothing, apply.Options{Release: name, Namespace: o.namespace, By: userName(), Orphan: o.orphan})
	if err != nil {
		return err
	}
	plan.Print(a.out, a.color)
	if !o.yes {
		if err := a.confirm("remove this release?"); err != nil {
			return err
		}
	}
	result, err := apply.Apply(ctx, c, plan, apply.CommitOptions{Bundle: nothing, AllowDeletes: -1})
	if err != nil {
		return err
	}
	if err := a.await(ctx, c, plan, o.timeout); err != nil {
		return err
	}
	// The record goes last: until all is gone it says what is left.
	if err := apply.Forget(ctx, c, o.namespace, name); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "removed at revision %d in one transaction\n", result.Revision)
	return nil
}
