package cli

import (
	"time"

	"github.com/spf13/cobra"
)

type upOptions struct {
	src        sourceFlags
	data       string
	listen     string
	timeout    time.Duration
	untilReady bool
	verbose    bool
}

func (a *app) upCmd() *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up [DIR]",
		Short: "Run a directory on this machine: cluster, images, plan, pods",
		Long: `Starts a one-node cluster in this process, builds the project's images, renders DIR,
shows the plan, commits it, waits until all is ready, prints the addresses to open, and
follows what happens (access that was refused, with what would declare it) until Ctrl-C.
It needs Linux, but no root and no daemon, and leaves nothing behind.

Other commands (writ get, logs, apply, and kubectl with the kubeconfig that is printed)
work with the running cluster.`,
		Example: `  writ up examples/guestbook
  writ up . --env dev`,
		ValidArgsFunction: completeDirs,
		Args:              cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.up(cmd.Context(), dir, o)
		},
	}
	o.src.register(cmd)
	f := cmd.Flags()
	f.StringVar(&o.data, "data", "", "keep the cluster's state in this directory (default: none is kept)")
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "address to serve the API on (port 0: any free one)")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long to wait until all is ready")
	f.BoolVar(&o.untilReady, "until-ready", false, "stop and clean up as soon as all is ready, instead of following")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log what server and agent do")
	return cmd
}
