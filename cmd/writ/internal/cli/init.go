package cli

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// scaffolds holds a small project in each language.
//
//go:embed scaffold
var scaffolds embed.FS

func (a *app) initCmd() *cobra.Command {
	var language string
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a small project to begin with",
		Long: `Writes a project of one application with two environments and its tests into DIR
(default: this directory). It renders and passes its tests as it is. Nothing that is
there is overwritten.`,
		Example: `  writ init shop
  writ init shop --language jsonnet
  writ test shop && writ render shop --env dev`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.scaffold(dir, language)
		},
	}
	cmd.Flags().StringVarP(&language, "language", "l", "cue", "cue, jsonnet or yaml")
	_ = cmd.RegisterFlagCompletionFunc("language", cobra.FixedCompletions([]string{"cue", "jsonnet", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) scaffold(dir, language string) error {
	from := path.Join("scaffold", language)
	entries, err := scaffolds.ReadDir(from)
	if err != nil || strings.ContainsAny(language, `/\.`) {
		return usageError{fmt.Errorf("--language %s: want cue, jsonnet or yaml", language)}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		if _, err := os.Lstat(filepath.Join(dir, e.Name())); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is there already; nothing was written", filepath.Join(dir, e.Name()))
		}
	}
	for _, e := range entries {
		b, err := scaffolds.ReadFile(path.Join(from, e.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), b, 0o644); err != nil {
			return err
		}
		fmt.Fprintln(a.out, filepath.Join(dir, e.Name()))
	}
	return nil
}
