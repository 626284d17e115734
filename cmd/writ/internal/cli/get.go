package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/cluster/object"
)

type getOptions struct {
	namespace, selector, output string
	allNamespaces, wide         bool
}

func (a *app) getCmd() *cobra.Command {
	var o getOptions
	cmd := &cobra.Command{
		Use:   "get KIND[/NAME] [NAME...]",
		Short: "Show objects of the cluster",
		Example: `  writ get all
  writ get pods -A
  writ get deployment/web -o yaml
  writ get dependencies
  writ get access                what is declared, with the packets counted
  writ get refused               access that was tried but not declared, with the fix`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			defer c.Close()
			if o.allNamespaces {
				o.namespace = ""
			}
			if len(args) == 1 && args[0] == "refused" {
				return a.getRefused(cmd, c, o)
			}
			if len(args) == 1 && args[0] == "access" {
				return a.getAccess(cmd, c, o)
			}
			return a.get(cmd, c, args, o)
		},
		ValidArgsFunction: a.completeObjects("all", "access", "refused"),
	}
	a.outputFlag(cmd, &o.output)
	a.namespaceFlag(cmd, &o.namespace)
	cmd.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "objects of all namespaces")
	cmd.Flags().StringVarP(&o.selector, "selector", "l", "", "label selector, such as app=web")
	cmd.Flags().BoolVar(&o.wide, "wide", false, "show further columns")
	return cmd
}

func (a *app) namespaceFlag(cmd *cobra.Command, namespace *string) {
	cmd.Flags().StringVarP(namespace, "namespace", "n", "default", "namespace")
	a.completeNamespace(cmd)
}

func (a *app) completeNamespace(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("namespace", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.fromCluster(cmd, func(ctx context.Context, c *client.Client) []string { return namesOf(ctx, c, api.Namespace, "") })
	})
}

func (a *app) get(cmd *cobra.Command, c *client.Client, args []string, o getOptions) error {
	kinds, names, err := parseTargets(args)
	if err != nil {
		return err
	}
	if len(names) > 0 && o.selector != "" {
		return usageError{fmt.Errorf("names and --selector exclude each other")}
	}
	if len(names) > 0 && o.allNamespaces {
		return usageError{fmt.Errorf("names and --all-namespaces exclude each other")}
	}
	if o.output != "" {
		return a.getObjects(cmd, c, kinds, names, o)
	}
	return a.getTables(cmd, c, kinds, names, o)
}

// parseTargets reads "pods", "pods a b", "pod/a" and "all".
func parseTargets(args []string) ([]api.Kind, []string, error) {
	word, name, slash := strings.Cut(args[0], "/")
	names := args[1:]
	if slash {
		if name == "" || len(names) > 0 {
			return nil, nil, usageError{fmt.Errorf("want KIND NAME... or KIND/NAME, not %q", strings.Join(args, " "))}
		}
		names = []string{name}
	}
	var kinds []api.Kind
	for _, k := range api.Kinds {
		if matches(k, strings.ToLower(word)) {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) == 0 {
		known := make([]string, len(api.Kinds))
		for i, k := range api.Kinds {
			known[i] = k.Resource
		}
		return nil, nil, usageError{fmt.Errorf("unknown kind %q; kinds are: all, access, refused, %s", word, strings.Join(known, ", "))}
	}
	if len(kinds) > 1 && len(names) > 0 {
		return nil, nil, usageError{fmt.Errorf("%q is several kinds: name one to get an object by name", word)}
	}
	return kinds, names, nil
}

func matches(k api.Kind, word string) bool {
	if word == k.Resource || word == k.Singular || word == strings.ToLower(k.Kind) {
		return true
	}
	for _, s := range k.ShortNames {
		if word == s {
			return true
		}
	}
	for _, s := range k.Categories {
		if word == s {
			return true
		}
	}
	return false
}

func (a *app) getObjects(cmd *cobra.Command, c *client.Client, kinds []api.Kind, names []string, o getOptions) error {
	items := []object.Object{}
	for _, k := range kinds {
		for _, name := range names {
			one, err := c.Get(cmd.Context(), k.Key(o.namespace, name))
			if err != nil {
				return err
			}
			items = append(items, one)
		}
		if len(names) > 0 {
			continue
		}
		list, err := c.List(cmd.Context(), k, api.ListOptions{Namespace: scope(k, o.namespace), LabelSelector: o.selector})
		if err != nil {
			return err
		}
		items = append(items, list.Items...)
	}
	if len(names) == 1 {
		return a.encode(o.output, items[0])
	}
	return a.encode(o.output, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}

// scope is the namespace to list a kind in.
func scope(k api.Kind, namespace string) string {
	if !k.Namespaced {
		return ""
	}
	return namespace
}

func (a *app) getTables(cmd *cobra.Command, c *client.Client, kinds []api.Kind, names []string, o getOptions) error {
	shown := false
	for _, k := range kinds {
		lo := api.ListOptions{Namespace: scope(k, o.namespace), LabelSelector: o.selector}
		var tables []*metav1.Table
		if len(names) == 0 {
			t, err := c.Table(cmd.Context(), k, "", lo)
			if err != nil {
				return err
			}
			tables = append(tables, t)
		}
		for _, name := range names {
			t, err := c.Table(cmd.Context(), k, name, lo)
			if err != nil {
				return err
			}
			tables = append(tables, t)
		}
		n := rows(tables)
		if n == 0 {
			continue
		}
		if shown {
			fmt.Fprintln(a.out)
		}
		shown = true
		prefix := ""
		if len(kinds) > 1 {
			prefix = k.Singular + "/"
		}
		if err := printTables(a.out, tables, tableStyle{prefix: prefix, namespace: k.Namespaced && o.allNamespaces, wide: o.wide}); err != nil {
			return err
		}
	}
	if !shown {
		fmt.Fprintln(a.err, "nothing found")
	}
	return nil
}

func rows(tables []*metav1.Table) int {
	n := 0
	for _, t := range tables {
		n += len(t.Rows)
	}
	return n
}

type tableStyle struct {
	prefix          string
	namespace, wide bool
}

// printTables prints the tables as one, with the first one's columns.
func printTables(w io.Writer, tables []*metav1.Table, style tableStyle) error {
	tw := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	header := []string{}
	if style.namespace {
		header = append(header, "NAMESPACE")
	}
	columns := tables[0].ColumnDefinitions
	for _, col := range columns {
		if col.Priority == 0 || style.wide {
			header = append(header, strings.ToUpper(col.Name))
		}
	}
	fmt.Fprintln(tw, strings.Join(header, "\t"))
	for _, t := range tables {
		for _, row := range t.Rows {
			cells := []string{}
			if style.namespace {
				cells = append(cells, rowNamespace(row))
			}
			for i, cell := range row.Cells {
				if i < len(columns) && (columns[i].Priority == 0 || style.wide) {
					text := fmt.Sprint(cell)
					if i == 0 {
						text = style.prefix + text
					}
					cells = append(cells, text)
				}
			}
			fmt.Fprintln(tw, strings.Join(cells, "\t"))
		}
	}
	return tw.Flush()
}

func rowNamespace(row metav1.TableRow) string {
	o, err := object.Parse(row.Object.Raw)
	if err != nil {
		return ""
	}
	return o.Namespace()
}
