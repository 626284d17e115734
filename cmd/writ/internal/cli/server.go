package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/writ-dev/writ/cluster/server"
)

func (a *app) serverCmd() *cobra.Command {
	var (
		data, listen, keyFile string
		verbose               bool
	)
	cmd := &cobra.Command{
		Use:   "server --data DIR",
		Short: "Run a control plane: API, store, reconcilers, scheduler",
		Long: `Runs a control plane until it is interrupted. The data directory holds the Raft log,
the cluster's certificate authority, admin.kubeconfig for people and node.kubeconfig
for 'writ agent'. An acknowledged write is on disk.

The log and its snapshots are sealed (AES-256-GCM) with the key in encryption.key,
which is made in the data directory; keep it elsewhere with --encryption-key-file.
'writ key' rotates it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if data == "" {
				return usageError{errors.New("--data DIR is required: it keeps the cluster's state")}
			}
			dir, err := filepath.Abs(data)
			if err != nil {
				return err
			}
			if keyFile != "" {
				if keyFile, err = filepath.Abs(keyFile); err != nil {
					return err
				}
			}
			s, err := server.New(server.Options{Data: dir, Listen: listen, EncryptionKeyFile: keyFile, Version: buildVersion(), Logger: a.logger(verbose)})
			if err != nil {
				return err
			}
			g, ctx := errgroup.WithContext(cmd.Context())
			g.Go(func() error { return s.Run(ctx) })
			g.Go(func() error {
				select {
				case <-s.Ready():
				case <-ctx.Done():
					return nil
				}
				fmt.Fprintf(a.err, "serving   %s\n", s.URL())
				fmt.Fprintf(a.err, "people    export KUBECONFIG=%s\n", s.AdminKubeconfig())
				fmt.Fprintf(a.err, "nodes     writ agent --kubeconfig %s\n", s.NodeKubeconfig())
				return nil
			})
			return g.Wait()
		},
	}
	f := cmd.Flags()
	f.StringVar(&data, "data", "", "directory of the cluster's state (required)")
	f.StringVar(&listen, "listen", "127.0.0.1:6443", "address to serve the API on")
	f.StringVar(&keyFile, "encryption-key-file", "", "file of the keys that seal the data (default DATA/encryption.key, made if absent)")
	f.BoolVarP(&verbose, "verbose", "v", false, "log what the control plane does")
	return cmd
}

// logger logs to standard error: warnings, or everything.
func (a *app) logger(verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level}))
}
