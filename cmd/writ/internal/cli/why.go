package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render/why"
)

func (a *app) whyCmd() *cobra.Command {
	var (
		src               sourceFlags
		output, namespace string
		record            string
	)
	cmd := &cobra.Command{
		Use:   "why KIND/NAME [FIELD] [DIR]",
		Short: "Show how a field of a document got its value",
		Long: `Evaluates DIR (the current directory when it is not given), finds the document, and
shows each place that had to do with the value of FIELD: where the value is, what it was
computed from back to where it was written, and what it overrode.

FIELD is a path such as .spec.replicas, .spec.containers[0].image,
'.metadata.labels["app.kubernetes.io/name"]' or '.spec.ports[port=80].name'. Without it,
every field is listed with where it was written. KIND is a kind, plural or short name as
for kubectl, perhaps with its group. Images are not built.

--provenance asks what "writ render --out DIR --provenance" wrote, the file or its
directory, and needs no source.`,
		Example: `  writ why deployment/web .spec.replicas --env prod
  writ why deploy/web '.spec.template.spec.containers[name=web].image' examples/guestbook
  writ why dependency/web-api examples/guestbook
  writ why deployment/web .spec.replicas --provenance rendered/prod`,
		Args: cobra.RangeArgs(1, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := why.ParseName(args[0])
			if err != nil {
				return usageError{err}
			}
			if namespace != "" {
				name.Namespace = namespace
			}
			if record != "" {
				if len(args) > 2 {
					return usageError{errors.New("--provenance is asked instead of a directory of sources")}
				}
				if err := src.alone(); err != nil {
					return err
				}
				return a.whyRecorded(cmd.Context(), record, name, append(args, "")[1], output)
			}
			field, dir, err := fieldAndDir(args[1:])
			if err != nil {
				return err
			}
			if err := src.open(dir); err != nil {
				return err
			}
			w, err := a.askWhy(cmd.Context(), &src)
			if err != nil {
				return err
			}
			defer w.close()
			found, err := why.Find(w.renderings, name)
			if err != nil {
				return src.locate(err)
			}
			if field == "" {
				return a.listFields(found, &src, output)
			}
			var questions []why.Question
			for _, f := range found {
				questions = append(questions, why.Question{Found: f, Path: field})
			}
			answers, err := w.asker.AskAll(cmd.Context(), questions)
			if err != nil {
				return src.locate(err)
			}
			return a.showWhy(answers, &src, output)
		},
		ValidArgsFunction: a.completeWhy,
	}
	src.register(cmd)
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "the document's namespace, when the name is not enough")
	cmd.Flags().StringVar(&record, "provenance", "", "answer from a record beside rendered documents: the file, or its directory")
	a.outputFlag(cmd, &output)
	return cmd
}

// fieldAndDir tells the optional arguments apart: a path begins with '.' and a
// letter, or with '['.
func fieldAndDir(args []string) (field, dir string, err error) {
	dir = "."
	isField := func(s string) bool {
		return strings.HasPrefix(s, "[") || len(s) > 1 && s[0] == '.' && s[1] != '.' && s[1] != '/'
	}
	switch {
	case len(args) == 2:
		return args[0], args[1], nil
	case len(args) == 1 && isField(args[0]):
		return args[0], dir, nil
	case len(args) == 1:
		if _, err := os.Stat(args[0]); err != nil {
			return "", "", usageError{fmt.Errorf("no such directory: %s; a field begins with '.'", args[0])}
		}
		return "", args[0], nil
	}
	return "", dir, nil
}

func (a *app) showWhy(answers []*why.Answer, src *sourceFlags, output string) error {
	place := func(p diag.Position) diag.Position { return relocatePos(p, src.root) }
	if output != "" {
		for _, answer := range answers {
			for i := range answer.Steps {
				answer.Steps[i].Pos = place(answer.Steps[i].Pos)
			}
		}
		if len(answers) == 1 {
			return a.encode(output, answers[0])
		}
		return a.encode(output, answers)
	}
	for i, answer := range answers {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		if err := answer.WriteText(a.out, why.Style{
			Place:  place,
			Strong: func(s string) string { return paint(a.color, bold, s) },
			Weak:   func(s string) string { return paint(a.color, dim, s) },
		}); err != nil {
			return err
		}
	}
	return nil
}
