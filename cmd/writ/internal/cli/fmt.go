package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// maxSource bounds a source file, in bytes.
const maxSource = 8 << 20

func (a *app) fmtCmd() *cobra.Command {
	var (
		check  bool
		output string
	)
	cmd := &cobra.Command{
		Use:   "fmt [PATH...]",
		Short: "Bring CUE and Jsonnet files into standard form",
		Long: `Rewrites the CUE and Jsonnet files below each PATH (default: this directory) in the
standard form of their language, those of cue fmt and jsonnetfmt, and prints the names
of those that changed. Vendored and hidden directories are left alone.`,
		Example: `  writ fmt
  writ fmt --check .     fail, and name the files, if any is not in standard form`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			changed := []string{}
			var problems diag.List
			for _, arg := range args {
				files, err := render.Sources(arg)
				if err != nil {
					return err
				}
				for _, file := range files {
					differs, err := formatFile(file, !check)
					problems = append(problems, diag.From(err)...)
					if differs {
						changed = append(changed, file)
						if output == "" {
							fmt.Fprintln(a.out, file)
						}
					}
				}
			}
			if err := problems.Err(); err != nil {
				return err
			}
			if output != "" {
				if err := a.encode(output, map[string]any{"files": changed}); err != nil {
					return err
				}
			}
			if check && len(changed) > 0 {
				return fmt.Errorf("%d files are not in standard form; run 'writ fmt'", len(changed))
			}
			return nil
		},
	}
	a.outputFlag(cmd, &output)
	cmd.Flags().BoolVar(&check, "check", false, "change nothing; fail if a file would change")
	return cmd
}

// formatFile reports whether a file is in another form, and rewrites it.
func formatFile(file string, rewrite bool) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	src, err := io.ReadAll(io.LimitReader(f, maxSource+1))
	if err != nil {
		return false, err
	}
	if len(src) > maxSource {
		return false, diag.Errorf(diag.Position{File: file}, "FORMAT", "is larger than %d MiB", maxSource>>20)
	}
	out, err := render.Format(filepath.ToSlash(file), src)
	if err != nil || bytes.Equal(src, out) {
		return false, err
	}
	if !rewrite {
		return true, nil
	}
	// Complete or as it was, never half.
	temporary := file + ".fmt"
	if err := os.WriteFile(temporary, out, info.Mode().Perm()); err != nil {
		return false, err
	}
	if err := os.Rename(temporary, file); err != nil {
		return false, errors.Join(err, os.Remove(temporary))
	}
	return true, nil
}
