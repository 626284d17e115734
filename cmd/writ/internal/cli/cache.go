package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/render/cache"
)

// cacheVariable names the cache's directory, instead of the user's own.
const cacheVariable = "WRIT_CACHE"

func (a *app) cacheCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Look at the cache of evaluations, or empty it",
		Long: `Evaluations are kept, and made again only when something that they read has changed:
a file, what a directory lists, a file that was not there, an input, or Writ itself.
The cache is in the user's cache directory, or where $WRIT_CACHE says, and keeps to
512 MiB by itself.`,
		Example: `  writ cache stats
  writ cache clean`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var output string
	stats := &cobra.Command{
		Use: "stats", Short: "Print where the cache is and how large", Example: "  writ cache stats -o json", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := openCache()
			if err != nil {
				return err
			}
			s, err := c.Stats()
			if err != nil {
				return err
			}
			if output != "" {
				return a.encode(output, s)
			}
			_, err = fmt.Fprintf(a.out, "%s: %d entries, %.1f MiB of %d\n", s.Dir, s.Entries, float64(s.Bytes)/(1<<20), cache.MaxSize>>20)
			return err
		},
	}
	a.outputFlag(stats, &output)
	cmd.AddCommand(stats, &cobra.Command{
		Use: "clean", Short: "Remove everything in the cache", Example: "  writ cache clean", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := openCache()
			if err != nil {
				return err
			}
			return c.Clean()
		},
	})
	return cmd
}

// openCache opens the cache for this very binary.
func openCache() (*cache.Cache, error) {
	dir := os.Getenv(cacheVariable)
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("%w; set $%s", err, cacheVariable)
		}
		dir = filepath.Join(base, "writ", "eval")
	}
	if !filepath.IsAbs(dir) {
		return nil, usageError{errors.New("$" + cacheVariable + " must be an absolute path")}
	}
	build, err := binaryIdentity()
	if err != nil {
		return nil, err
	}
	return cache.Open(dir, build)
}

// binaryIdentity names this binary: its version, and, since a version says
// little of what is built from a working tree, the file.
func binaryIdentity() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this executable: %w", err)
	}
	info, err := os.Stat(self)
	if err != nil {
		return "", fmt.Errorf("find this executable: %w", err)
	}
	return fmt.Sprintf("%s %s %d %d", buildVersion(), self, info.Size(), info.ModTime().UnixNano()), nil
}
