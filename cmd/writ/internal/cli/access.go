package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/client"
)

// getAccess is `writ get access`: every declared access, with the packets that
// the nodes counted.
func (a *app) getAccess(cmd *cobra.Command, c *client.Client, o getOptions) error {
	list, err := access(cmd.Context(), c, o.namespace)
	if err != nil {
		return err
	}
	if o.output != "" {
		return a.encode(o.output, list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.err, "nothing is declared")
		return nil
	}
	tw := tabwriter.NewWriter(a.out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(tw, "CONSUMER\tTARGET\tPACKETS\tBYTES")
	for _, e := range list {
		consumer := e.Consumer
		if o.allNamespaces {
			consumer = e.Namespace + "/" + consumer
		}
		fmt.Fprintf(tw, "%s\t%s\t%d\t%d\n", consumer, e.Target, e.Packets, e.Bytes)
	}
	return tw.Flush()
}

// access collects the reports of all nodes. An access between two nodes is
// counted by both: the larger count is the one that missed nothing.
func access(ctx context.Context, c *client.Client, namespace string) ([]api.AccessCount, error) {
	nodes, err := c.List(ctx, api.Node, api.ListOptions{})
	if err != nil {
		return nil, err
	}
	merged := map[[3]string]api.AccessCount{}
	for _, n := range nodes.Items {
		report, err := c.Access(ctx, n.Name())
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name(), err)
		}
		for _, e := range report.Access {
			if !e.Declared || namespace != "" && e.Namespace != namespace {
				continue
			}
			id := [3]string{e.Namespace, e.Consumer, e.Target}
			if e.Packets >= merged[id].Packets {
				merged[id] = e
			}
		}
	}
	return slices.SortedFunc(maps.Values(merged), func(x, y api.AccessCount) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Consumer, y.Consumer), cmp.Compare(x.Target, y.Target))
	}), nil
}
