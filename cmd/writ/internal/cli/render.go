package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) renderCmd() *cobra.Command {
	var (
		src    sourceFlags
		output string
	)
	cmd := &cobra.Command{
		Use:   "render DIR",
		Short: "Evaluate and check a directory, and print its documents",
		Long: `Evaluates DIR (CUE, Jsonnet, YAML or JSON), checks every document as the cluster would,
and prints the documents as a YAML stream, or as one List with -o json.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.bundle(cmd.Context(), args[0], &src)
			if err != nil {
				return err
			}
			text := b.YAML()
			if output == "json" {
				text = b.JSON()
			}
			_, err = a.out.Write(text)
			return err
		},
	}
	src.register(cmd)
	a.outputFlag(cmd, &output)
	return cmd
}
