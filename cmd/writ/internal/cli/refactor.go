package cli

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/check"
)

func (a *app) refactorCmd() *cobra.Command {
	var (
		src          sourceFlags
		base, output string
	)
	cmd := &cobra.Command{
		Use:   "refactor --expect-no-change BASE [DIR]",
		Short: "Prove that changed sources render to the same documents",
		Long: `Renders BASE and DIR (default: this directory) in every environment and compares all
documents. BASE is another directory, or a git revision of DIR. When anything differs,
the first difference of each document is shown and the exit code is 1.`,
		Example: `  writ refactor --expect-no-change HEAD
  writ refactor --expect-no-change ../main/config config --env prod`,
		ValidArgsFunction: completeDirs,
		Args:              cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if base == "" {
				return usageError{errors.New("--expect-no-change BASE is required: a directory or a git revision")}
			}
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.refactor(cmd.Context(), base, dir, src, output)
		},
	}
	src.register(cmd)
	a.outputFlag(cmd, &output)
	cmd.Flags().StringVar(&base, "expect-no-change", "", "the directory or git revision to compare with")
	return cmd
}

// refactored is one difference between two sources.
type refactored struct {
	Environment string `json:"environment,omitempty"`
	Object      string `json:"object"`
	// Path is where the two differ first; empty when only one has the document.
	Path   string        `json:"path,omitempty"`
	Old    any           `json:"old,omitempty"`
	New    any           `json:"new,omitempty"`
	OldPos diag.Position `json:"oldPos,omitzero"`
	NewPos diag.Position `json:"newPos,omitzero"`
}

func (a *app) refactor(ctx context.Context, base, dir string, flags sourceFlags, output string) error {
	before := base
	if info, err := os.Stat(base); err != nil || !info.IsDir() {
		temporary, err := os.MkdirTemp("", "writ-base-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		if before, err = checkout(ctx, base, dir, temporary); err != nil {
			return err
		}
	}
	old, err := a.rendering(ctx, before, flags)
	if err != nil {
		return fmt.Errorf("render %s: %w", base, err)
	}
	next, err := a.rendering(ctx, dir, flags)
	if err != nil {
		return err
	}
	documents, differences := 0, []refactored{}
	for _, e := range environmentNames(old, next) {
		if old[e] == nil || next[e] == nil {
			return fmt.Errorf("environment %q is only in one of %s and %s", e, base, dir)
		}
		documents += len(next[e].Documents)
		for _, d := range render.Compare(old[e], next[e]) {
			differences = append(differences, refactored{e, d.Key.String(), d.Path, d.Old, d.New, d.OldPos, d.NewPos})
			if output == "" {
				a.printDifference(e, d)
			}
		}
	}
	if output != "" {
		err := a.encode(output, map[string]any{"documents": documents, "differences": differences})
		if err == nil && len(differences) > 0 {
			err = exitError(exitFailed)
		}
		return err
	}
	if len(differences) > 0 {
		return fmt.Errorf("%d of %d documents differ from %s", len(differences), documents, base)
	}
	fmt.Fprintf(a.out, "no change: %d documents in %d environments are as in %s\n", documents, len(next), base)
	return nil
}

// rendering renders every selected environment; all when none is selected.
func (a *app) rendering(ctx context.Context, dir string, flags sourceFlags) (map[string]*render.Bundle, error) {
	if err := flags.open(dir); err != nil {
		return nil, err
	}
	if len(flags.environments) == 0 && len(flags.project.Environments) > 0 {
		flags.environments = []string{"all"}
	}
	flags.pretendBuilt()
	all, err := a.renderAll(ctx, &flags, check.Options{AllowUnknown: true})
	if err != nil {
		return nil, err
	}
	out := map[string]*render.Bundle{}
	for _, r := range all {
		out[r.Environment] = r.Bundle
	}
	return out, nil
}

func environmentNames(both ...map[string]*render.Bundle) []string {
	var names []string
	seen := map[string]bool{}
	for _, m := range both {
		for _, n := range slices.Sorted(maps.Keys(m)) {
			if !seen[n] {
				seen[n] = true
				names = append(names, n)
			}
		}
	}
	return names
}

func (a *app) printDifference(environment string, d render.Difference) {
	where := ""
	if environment != "" {
		where = environment + ": "
	}
	switch {
	case d.Path != "":
		fmt.Fprintf(a.out, "%s~ %s\n    %s: %s -> %s  (%s, now %s)\n", where, d.Key, d.Path, brief(d.Old), brief(d.New), d.OldPos, d.NewPos)
	case d.New == nil:
		fmt.Fprintf(a.out, "%s- %s  (%s)\n", where, d.Key, d.OldPos)
	default:
		fmt.Fprintf(a.out, "%s+ %s  (%s)\n", where, d.Key, d.NewPos)
	}
}

// brief is a value on one line, cut where it is long.
func brief(v any) string {
	if v == nil {
		return "(none)"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(b) > 60 {
		return string(b[:57]) + "..."
	}
	return string(b)
}

// checkout writes the files of a git revision to a directory and returns where
// in it the project is.
func checkout(ctx context.Context, revision, dir, to string) (string, error) {
	git := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("read git revision %s: %w %s", revision, err, strings.TrimSpace(errs.String()))
		}
		return out, nil
	}
	// A revision that git would take for an option is none.
	if strings.HasPrefix(revision, "-") {
		return "", fmt.Errorf("%s is no directory and no git revision", revision)
	}
	top, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return "", fmt.Errorf("%s is no directory, and: %w", revision, err)
	}
	prefix, err := git("rev-parse", "--show-prefix")
	if err != nil {
		return "", err
	}
	dir = strings.TrimSpace(string(top)) // the whole tree: modules reach up
	archive, err := git("archive", "--format=tar", revision)
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return "", err
	}
	defer root.Close()
	project := filepath.Join(to, filepath.FromSlash(strings.TrimSpace(string(prefix))))
	return project, extract(root, tar.NewReader(bytes.NewReader(archive)))
}

func extract(root *os.Root, r *tar.Reader) error {
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read git archive: %w", err)
		}
		name := filepath.FromSlash(strings.TrimSuffix(h.Name, "/"))
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o755)
		case tar.TypeSymlink:
			err = root.Symlink(h.Linkname, name)
		case tar.TypeReg:
			var b []byte
			if b, err = io.ReadAll(r); err == nil {
				err = root.WriteFile(name, b, 0o644)
			}
		}
		if err != nil {
			return fmt.Errorf("write %s of git archive: %w", name, err)
		}
	}
}
