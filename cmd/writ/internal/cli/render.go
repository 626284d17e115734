package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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
		origins     string
	)
	cmd := &cobra.Command{
		Use:   "render [DIR]",
		Short: "Evaluate and check a directory, and print its documents",
		Long: `Evaluates DIR (default: this directory; CUE, Jsonnet, YAML or JSON), checks every document as the cluster would,
and prints the documents: as a YAML stream, as one List with -o json, or one a line in
canonical form with -o jsonl. With --out every document becomes a file of its own; files
that an earlier run wrote there and that are no longer rendered are removed. --provenance
writes beside them where every field was written, for "writ why --provenance DIR", which
needs no source; --provenance=chains also how each got its value, which takes longer.`,
		Example: `  writ render .
  writ render . --env prod -o json
  writ render . --env prod --out rendered --provenance
  writ render . --env all --out rendered    one directory for each environment`,
		ValidArgsFunction: completeDirs,
		Args:              cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains([]string{"", "yaml", "json", "jsonl"}, output) {
				return usageError{fmt.Errorf("-o %s: want yaml, json or jsonl", output)}
			}
			if out != "" && output != "" && output != "yaml" {
				return usageError{errors.New("--out writes YAML; it goes without -o")}
			}
			if origins != "" && out == "" {
				return usageError{errors.New("--provenance is written beside the documents: give --out")}
			}
			if origins != "" && origins != provenanceFields && origins != provenanceChains {
				return usageError{fmt.Errorf("--provenance=%s: want %s or %s", origins, provenanceFields, provenanceChains)}
			}
			if err := src.open(append(args, ".")[0]); err != nil {
				return err
			}
			if err := a.buildImages(cmd.Context(), &src); err != nil {
				return err
			}
			if out == "" {
				return a.renderText(cmd.Context(), &src, output)
			}
			all, err := a.renderAll(cmd.Context(), &src, check.Options{AllowUnknown: true})
			if err != nil {
				return err
			}
			return a.writeRendered(cmd.Context(), all, out, origins, &src)
		},
	}
	src.register(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: yaml, json or jsonl (default yaml)")
	cmd.Flags().BoolVar(&src.prove, "prove", false, "evaluate everything a second time in other surroundings, and compare")
	cmd.Flags().StringVar(&out, "out", "", "write each document to a file below this directory")
	cmd.Flags().StringVar(&origins, "provenance", "", "write beside the documents where each field was written, or, with =chains, how each got its value")
	cmd.Flags().Lookup("provenance").NoOptDefVal = provenanceFields
	_ = cmd.RegisterFlagCompletionFunc("provenance", cobra.FixedCompletions([]string{provenanceFields, provenanceChains}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// renderText prints the documents. When nothing has changed since they were
// last printed, they are not even read as documents.
func (a *app) renderText(ctx context.Context, src *sourceFlags, output string) error {
	m, err := src.module()
	if err != nil {
		return err
	}
	defer m.close()
	targets, selected, err := src.targets(m)
	if err != nil {
		return err
	}
	return a.withCache(src, m, func() error {
		question, err := renderQuestion(src, targets, selected, output)
		if err != nil {
			return err
		}
		if a.recall(src, question) {
			return nil
		}
		all, remarks, err := a.renderSilently(ctx, src, check.Options{AllowUnknown: true})
		if err != nil {
			return err
		}
		a.tell(remarks)
		if len(all) > 1 {
			return usageError{errors.New("several environments do not go into one stream; add --out DIR")}
		}
		text := encodeRendered(all[0], output)
		if head, err := json.Marshal(remarks); err == nil && src.session != nil {
			src.session.Remember(question, all[0].Reads, slices.Concat(head, []byte{'\n'}, text))
		}
		_, err = a.out.Write(text)
		return err
	})
}

// recall prints what was printed when nothing has changed since.
func (a *app) recall(src *sourceFlags, question string) bool {
	if src.session == nil {
		return false
	}
	b, _, ok := src.session.Recall(question)
	if !ok {
		return false
	}
	var remarks []remark
	first, text, _ := bytes.Cut(b, []byte{'\n'})
	if json.Unmarshal(first, &remarks) != nil {
		return false
	}
	a.tell(remarks)
	_, err := a.out.Write(text)
	return err == nil
}

// renderQuestion is all that decides what is printed, but for the files read.
func renderQuestion(src *sourceFlags, targets []render.Target, selected render.Select, output string) (string, error) {
	wd, err := os.Getwd() // positions in warnings are relative to it
	if err != nil {
		return "", err
	}
	question, err := json.Marshal([]any{"render", output, src.root, src.dir, wd, targets, selected, src.entry})
	return string(question), err
}

func encodeRendered(r rendered, output string) []byte {
	encode := r.YAML
	switch output {
	case "json":
		encode = r.JSON
	case "jsonl":
		encode = r.JSONLines
	}
	return encode()
}

// writeRendered writes a directory, or one for each of several environments.
func (a *app) writeRendered(ctx context.Context, all []rendered, out, origins string, src *sourceFlags) error {
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
		if err := writeProvenance(ctx, r, dir, origins, src); err != nil {
			return err
		}
		a.step("rendered", "%s: %d files, %d changed, %d removed  %s", dir, w.Files, w.Changed, w.Removed, short(r.Digest))
	}
	return nil
}
