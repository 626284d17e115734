package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/check"
)

func (a *app) renderCmd() *cobra.Command {
	var (
		src         sourceFlags
		output, out string
	)
	cmd := &cobra.Command{
		Use:   "render DIR",
		Short: "Evaluate and check a directory, and print its documents",
		Long: `Evaluates DIR (CUE, Jsonnet, YAML or JSON), checks every document as the cluster would,
and prints the documents: as a YAML stream, as one List with -o json, or one a line in
canonical form with -o jsonl. With --out every document becomes a file of its own; files
that an earlier run wrote there and that are no longer rendered are removed.`,
		Example: `  writ render .
  writ render . --env prod -o json
  writ render . --env all --out rendered    one directory for each environment`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains([]string{"", "yaml", "json", "jsonl"}, output) {
				return usageError{fmt.Errorf("-o %s: want yaml, json or jsonl", output)}
			}
			if out != "" && output != "" && output != "yaml" {
				return usageError{errors.New("--out writes YAML; it goes without -o")}
			}
			if err := src.open(args[0]); err != nil {
				return err
			}
			if err := a.buildImages(cmd.Context(), &src); err != nil {
				return err
			}
			all, err := a.renderAll(cmd.Context(), &src, check.Options{AllowUnknown: true})
			if err != nil {
				return err
			}
			if out != "" {
				return a.writeRendered(all, out, &src)
			}
			return a.printRendered(all, output)
		},
	}
	src.register(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: yaml, json or jsonl (default yaml)")
	cmd.Flags().BoolVar(&src.prove, "prove", false, "evaluate everything a second time in other surroundings, and compare")
	cmd.Flags().StringVar(&out, "out", "", "write each document to a file below this directory")
	return cmd
}

func (a *app) printRendered(all []rendered, output string) error {
	if len(all) > 1 {
		return usageError{errors.New("several environments do not go into one stream; add --out DIR")}
	}
	encode := all[0].YAML
	switch output {
	case "json":
		encode = all[0].JSON
	case "jsonl":
		encode = all[0].JSONLines
	}
	_, err := a.out.Write(encode())
	return err
}

// writeRendered writes a directory, or one for each of several environments.
func (a *app) writeRendered(all []rendered, out string, src *sourceFlags) error {
	several := len(src.environments) > 1 || slices.Contains(src.environments, "all")
	for _, r := range all {
		dir := out
		if several && r.Environment != "" {
			dir = filepath.Join(out, r.Environment)
		}
		w, err := render.WriteDir(dir, r.Documents)
		if err != nil {
			return err
		}
		a.step("rendered", "%s: %d files, %d changed, %d removed  %s", dir, w.Files, w.Changed, w.Removed, short(r.Digest))
	}
	return nil
}
