package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/cluster/seal"
)

func (a *app) keyCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Make and rotate the keys that a server's data is sealed with",
		Long: `A server seals everything it writes to its log and snapshots with the first key of
its key file: DATA/encryption.key, which it makes by itself, or the one named with
'writ server --encryption-key-file'. Keep the file away from backups of the data.

To rotate, put a new key in front while the server runs or before it starts. Within
half a minute the server seals everything with it and says so; then the older keys
can go.`,
		Example: `  writ key rotate data/encryption.key
  writ key list data/encryption.key
  writ key prune data/encryption.key`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var output string
	list := &cobra.Command{
		Use: "list FILE", Short: "Name the keys of a file, the one that seals first", Example: "  writ key list data/encryption.key", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := seal.OpenFile(args[0])
			if err != nil {
				return err
			}
			var names []string
			for _, id := range r.IDs() {
				names = append(names, id.String())
			}
			if output != "" {
				return a.encode(output, map[string]any{"sealing": names[0], "keys": names})
			}
			for i, n := range names {
				what := "opens what was sealed before"
				if i == 0 {
					what = "seals"
				}
				if _, err := fmt.Fprintf(a.out, "%s  %s\n", n, what); err != nil {
					return err
				}
			}
			return nil
		},
	}
	a.outputFlag(list, &output)
	cmd.AddCommand(&cobra.Command{
		Use: "new FILE", Short: "Make a key file with one key", Example: "  writ key new /etc/writ/encryption.key", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			id, err := seal.CreateFile(args[0])
			if err == nil {
				_, err = fmt.Fprintln(a.out, id)
			}
			return err
		},
	}, &cobra.Command{
		Use: "rotate FILE", Short: "Put a new key in front of those of a file", Example: "  writ key rotate data/encryption.key", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			id, err := seal.Rotate(args[0])
			if err == nil {
				_, err = fmt.Fprintln(a.out, id)
			}
			return err
		},
	}, &cobra.Command{
		Use: "prune FILE", Short: "Take all keys but the first out of a file",
		Long: `Takes all keys but the first out of a file. Do it when the server has said that it
sealed everything with the first: what older keys sealed cannot be read afterwards.`,
		Example: "  writ key prune data/encryption.key",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			n, err := seal.Prune(args[0])
			if err == nil {
				_, err = fmt.Fprintf(a.out, "%d removed\n", n)
			}
			return err
		},
	}, list)
	return cmd
}
