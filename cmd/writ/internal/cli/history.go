package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/apply"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/lang/diag"
)

func (a *app) historyCmd() *cobra.Command {
	var namespace, output string
	cmd := &cobra.Command{
		Use:   "history [RELEASE]",
		Short: "Show what was applied, when, by whom and from which sources",
		Long: `Lists the applications of RELEASE that are remembered, newest first; without RELEASE,
those of every release in the namespace. 'writ diff RELEASE REV1 REV2' compares two of
them, and 'writ rollback RELEASE REV' brings one back.`,
		Example: `  writ history
  writ history shop-prod -n shop -o json`,
		ValidArgsFunction: a.completeReleases,
		Args:              cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			defer c.Close()
			if len(args) == 1 {
				_, err = release(cmd.Context(), c, namespace, args[0])
			} else {
				args, err = releaseNames(cmd.Context(), c, namespace)
			}
			if err != nil {
				return err
			}
			return a.history(cmd.Context(), c, namespace, args, output)
		},
	}
	a.outputFlag(cmd, &output)
	a.namespaceFlag(cmd, &namespace)
	return cmd
}

// release finds a Release.
func release(ctx context.Context, c *client.Client, namespace, name string) (*api.Release, error) {
	names, err := releaseNames(ctx, c, namespace)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if n == name {
			o, err := c.Get(ctx, api.ReleaseKind.Key(namespace, name))
			if err != nil {
				return nil, err
			}
			return api.Decode[api.Release](o)
		}
	}
	hint := "see 'writ get releases -A'"
	if len(names) > 0 {
		hint = "there are: " + strings.Join(names, ", ")
	}
	return nil, diag.List{{Code: "RELEASE", Message: fmt.Sprintf("no release %s in namespace %s", name, namespace), Hint: hint}}
}

func releaseNames(ctx context.Context, c *client.Client, namespace string) ([]string, error) {
	list, err := c.List(ctx, api.ReleaseKind, api.ListOptions{Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("read releases: %w", err)
	}
	var names []string
	for _, o := range list.Items {
		names = append(names, o.Name())
	}
	return names, nil
}

// entry is one application, for people and programs.
type entry struct {
	Release   string            `json:"release"`
	Revision  int64             `json:"revision"`
	AppliedAt time.Time         `json:"appliedAt"`
	AppliedBy string            `json:"appliedBy,omitempty"`
	Source    string            `json:"source,omitempty"`
	Digest    string            `json:"digest"`
	Rollback  int64             `json:"rollback,omitempty"`
	Inputs    map[string]string `json:"inputs,omitempty"`
	Summary   api.PlanSummary   `json:"summary"`
}

func (a *app) history(ctx context.Context, c *client.Client, namespace string, names []string, output string) error {
	entries := []entry{}
	for _, name := range names {
		revisions, err := apply.History(ctx, c, namespace, name)
		if err != nil {
			return err
		}
		for _, r := range revisions {
			s := r.Spec
			entries = append(entries, entry{name, s.Revision, s.AppliedAt.UTC(), s.AppliedBy, s.Source, s.Digest, s.Rollback, s.Inputs, s.Summary})
		}
	}
	if output != "" {
		return a.encode(output, entries)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "RELEASE\tREVISION\tAPPLIED\tBY\tSOURCE\tDIGEST\tDID")
	for _, e := range entries {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\n", e.Release, e.Revision, e.AppliedAt.Format(time.DateTime), dash(e.AppliedBy), dash(e.Source), short(e.Digest), e.did())
	}
	return w.Flush()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// did is what an application came to, in words.
func (e entry) did() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{e.Summary.Created, "created"}, {e.Summary.Changed, "changed"}, {e.Summary.Replaced, "replaced"},
		{e.Summary.Deleted, "deleted"}, {e.Summary.Orphaned, "let go"},
		{e.Summary.Opened, "access opened"}, {e.Summary.Closed, "access closed"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing"}
	}
	if e.Rollback > 0 {
		parts = append(parts, fmt.Sprintf("back to revision %d", e.Rollback))
	}
	return strings.Join(parts, ", ")
}
