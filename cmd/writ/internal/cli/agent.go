package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

type agentOptions struct {
	name, dir, images string
	verbose           bool
}

func (a *app) agentCmd() *cobra.Command {
	var o agentOptions
	cmd := &cobra.Command{
		Use:   "agent --kubeconfig FILE",
		Short: "Run a node agent: the pods that the scheduler gives to this machine",
		Long: `Joins the cluster that FILE names (a server writes node.kubeconfig into its data
directory) and runs pods in the sandbox runtime until it is interrupted; its pods end
with it. It needs Linux, but no root and no daemon.`,
		Example: `  writ agent --kubeconfig data/node.kubeconfig
  writ agent --kubeconfig data/node.kubeconfig --name node-2`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.kubeconfig == "" {
				return usageError{errors.New("--kubeconfig FILE is required: the node.kubeconfig in the server's data directory")}
			}
			return a.agent(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.name, "name", "", "the node's name (default: the host's)")
	f.StringVar(&o.dir, "dir", "", "directory for what pods write (default: a temporary one)")
	f.StringVar(&o.images, "images", "", "the image store (default: the one of 'writ image')")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log what the agent does")
	return cmd
}
