package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/apply"
	"github.com/writ-dev/writ/apply/review"
	"github.com/writ-dev/writ/render"
)

type diffOptions struct {
	src        sourceFlags
	base, head string
	namespace  string
	output     string
	out        string
	attachment string
	limit      int
	exitCode   bool
}

func (a *app) diffCmd() *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff --base REF [--head REF] [DIR] | diff RELEASE REV1 [REV2]",
		Short: "Compare what two Git revisions render to, or two revisions of a release",
		Long: `With --base, renders DIR (default: this directory) as it is in two Git revisions, in all
environments, and shows how the documents differ. Without --head, the files as they are
now are compared. No cluster is asked. Changes that many objects share are shown once.

With RELEASE, compares the documents of two of its revisions, or of one with the present.

As Markdown, the result fits into a comment (--limit); --attachment keeps all of it.
Values of Secrets are shown as digests.`,
		Example: `  writ diff --base origin/main
  writ diff --base origin/main --head HEAD -o markdown --out comment.md --attachment all.md
  writ diff --base v1.4.0 --head v1.5.0 -o html --out review.html
  writ diff shop 3 5`,
		Args: cobra.MaximumNArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.review(cmd.Context(), &o, args)
			if err != nil {
				return err
			}
			if err := a.show(r, o); err != nil {
				return err
			}
			if o.exitCode && !r.Empty() {
				return exitError(exitChanges)
			}
			return nil
		},
	}
	o.src.register(cmd)
	a.namespaceFlag(cmd, &o.namespace)
	f := cmd.Flags()
	f.StringVar(&o.base, "base", "", "the Git revision to compare with")
	f.StringVar(&o.head, "head", "", "the Git revision to compare (default: the files as they are)")
	f.StringVarP(&o.output, "output", "o", "text", "output format: text, markdown, html or json")
	f.StringVar(&o.out, "out", "", "write to this file")
	f.StringVar(&o.attachment, "attachment", "", "also write all of the Markdown to this file")
	f.IntVar(&o.limit, "limit", review.MaxComment, "how many characters the Markdown may have; 0 for any")
	f.BoolVar(&o.exitCode, "exit-code", false, "exit with 3 when something differs")
	return cmd
}

func (a *app) review(ctx context.Context, o *diffOptions, args []string) (*review.Review, error) {
	switch o.output {
	case "text", "markdown", "html", "json":
	default:
		return nil, usageError{fmt.Errorf("unknown output format %q: use text, markdown, html or json", o.output)}
	}
	if o.base == "" {
		if o.head != "" || len(args) < 2 {
			return nil, usageError{errors.New("want --base REF, or a release and one or two of its revisions")}
		}
		return a.reviewRevisions(ctx, o.namespace, args)
	}
	if len(args) > 1 {
		return nil, usageError{errors.New("want one directory")}
	}
	dir := "."
	if len(args) == 1 {
		dir = args[0]
	}
	return a.reviewSources(ctx, o, dir)
}

// reviewRevisions compares two revisions of a release.
func (a *app) reviewRevisions(ctx context.Context, namespace string, args []string) (*review.Review, error) {
	var numbers []int64
	for _, text := range args[1:] {
		n, err := parseRevision(text)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	c, err := a.connect()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	present, err := release(ctx, c, namespace, args[0])
	if err != nil {
		return nil, err
	}
	if len(numbers) == 1 {
		numbers = append(numbers, present.Spec.Revision)
	}
	revisions, err := apply.History(ctx, c, namespace, args[0])
	if err != nil {
		return nil, err
	}
	var bundles []*render.Bundle
	var names []string
	for _, n := range numbers {
		r, err := apply.Find(revisions, n)
		if err != nil {
			return nil, err
		}
		b, err := r.Bundle()
		if err != nil {
			return nil, err
		}
		bundles, names = append(bundles, b), append(names, fmt.Sprintf("revision %d", n))
	}
	return review.Compare(names[0], names[1], []review.Pair{{Old: bundles[0], New: bundles[1]}})
}

// reviewSources compares what two Git revisions of a directory render to.
func (a *app) reviewSources(ctx context.Context, o *diffOptions, dir string) (*review.Review, error) {
	old, err := a.renderRevision(ctx, o.base, dir, o.src)
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", o.base, err)
	}
	head := o.head
	var next map[string]*render.Bundle
	if head == "" {
		head = "the files as they are"
		next, err = a.rendering(ctx, dir, o.src)
	} else if next, err = a.renderRevision(ctx, head, dir, o.src); err != nil {
		err = fmt.Errorf("render %s: %w", head, err)
	}
	if err != nil {
		return nil, err
	}
	if len(old) == 0 && len(next) == 0 {
		return nil, fmt.Errorf("%s is in neither of %s and %s", dir, o.base, head)
	}
	var pairs []review.Pair
	for _, name := range environmentNames(next, old) {
		pairs = append(pairs, review.Pair{Environment: name, Old: old[name], New: next[name]})
	}
	return review.Compare(o.base, head, pairs)
}

// renderRevision renders a directory as it is in a Git revision: nothing where
// it is not there.
func (a *app) renderRevision(ctx context.Context, revision, dir string, flags sourceFlags) (map[string]*render.Bundle, error) {
	tree, err := checkedOut(ctx, revision, dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(tree); errors.Is(err, os.ErrNotExist) {
		return map[string]*render.Bundle{}, nil
	}
	// Warnings are about files that nobody can edit.
	quiet := *a
	quiet.err, quiet.live = io.Discard, false
	return quiet.rendering(ctx, tree, flags)
}

// show writes a review.
func (a *app) show(r *review.Review, o diffOptions) error {
	var text bytes.Buffer
	switch o.output {
	case "markdown":
		comment, whole := r.Markdown(o.limit)
		text.WriteString(comment)
		if !whole && o.attachment == "" {
			a.step("note", "not all fits; --attachment FILE keeps the rest")
		}
	case "html":
		if err := r.HTML(&text); err != nil {
			return err
		}
	case "json":
		sub := *a
		sub.out = &text
		if err := sub.encode("json", r); err != nil {
			return err
		}
	default:
		if err := r.Text(&text, a.color && o.out == ""); err != nil {
			return err
		}
	}
	if o.attachment != "" {
		all, _ := r.Markdown(0)
		if err := writeReview(o.attachment, []byte(all)); err != nil {
			return err
		}
	}
	if o.out != "" {
		return writeReview(o.out, text.Bytes())
	}
	_, err := a.out.Write(text.Bytes())
	return err
}

func writeReview(path string, text []byte) error {
	if err := os.WriteFile(filepath.Clean(path), text, 0o644); err != nil {
		return fmt.Errorf("write the review: %w", err)
	}
	return nil
}
