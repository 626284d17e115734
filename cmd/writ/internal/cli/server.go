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
		o            server.Options
		auditMaxSize int64
		verbose      bool
	)
	cmd := &cobra.Command{
		Use:   "server --data DIR",
		Short: "Run a control plane: API, store, reconcilers, scheduler",
		Long: `Runs a control plane until it is interrupted. The data directory holds the Raft log,
the cluster's certificate authority, admin.kubeconfig for people and node.kubeconfig
for 'writ agent'. An acknowledged write is on disk.

The log and its snapshots are sealed (AES-256-GCM) with the key in encryption.key,
which is made in the data directory; keep it elsewhere with --encryption-key-file.
'writ key' rotates it.

With --audit-log-path every request but those for health is logged, refused ones too:
who, what, the decision and its reason, the result and how long it took, one line of
JSON each (audit.k8s.io/v1 Event, level Metadata), never what was sent or answered.`,
		Example: `  writ server --data data
  KUBECONFIG=data/admin.kubeconfig writ get nodes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Data == "" {
				return usageError{errors.New("--data DIR is required: it keeps the cluster's state")}
			}
			if auditMaxSize < 1 || o.AuditMaxBackups < 1 {
				return usageError{errors.New("--audit-log-maxsize and --audit-log-maxbackup must be positive")}
			}
			for _, path := range []*string{&o.Data, &o.EncryptionKeyFile, &o.AuditPath} {
				if *path == "" {
					continue
				}
				abs, err := filepath.Abs(*path)
				if err != nil {
					return err
				}
				*path = abs
			}
			o.AuditMaxSize, o.Version, o.Logger = auditMaxSize<<20, buildVersion(), a.logger(verbose)
			s, err := server.New(o)
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
	f.StringVar(&o.Data, "data", "", "directory of the cluster's state (required)")
	f.StringVar(&o.Listen, "listen", "127.0.0.1:6443", "address to serve the API on")
	f.StringVar(&o.EncryptionKeyFile, "encryption-key-file", "", "file of the keys that seal the data (default DATA/encryption.key, made if absent)")
	f.StringVar(&o.AuditPath, "audit-log-path", "", "file of the audit log (default: none is kept)")
	f.Int64Var(&auditMaxSize, "audit-log-maxsize", 100, "size in MiB at which the audit log is rotated")
	f.IntVar(&o.AuditMaxBackups, "audit-log-maxbackup", 10, "how many rotated audit logs are kept")
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
