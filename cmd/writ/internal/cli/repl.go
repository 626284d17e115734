package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render/repl"
	"github.com/writ-dev/writ/render/why"
)

func (a *app) replCmd() *cobra.Command {
	var (
		src       sourceFlags
		output    string
		keepGoing bool
	)
	cmd := &cobra.Command{
		Use:   "repl [DIR|FILE]",
		Short: "Look at the values of a program, one line after another",
		Long: `Reads lines and prints what each comes to. A line is

  .web.ports[0]        a path into the value of the program; "." is all of it
  web.replicas * 2     CUE, in the scope of the package
  $.web.replicas * 2   Jsonnet, where $ is the value of the program
  :why .web.replicas   a command; ':help' lists them

In YAML there are only paths. Programs are evaluated as by 'writ eval', within the same
limits, and again whenever their files have changed. On a terminal Tab completes and
Ctrl-C ends an evaluation, not the session. Otherwise the first line that fails ends it,
unless --keep-going is given; exit code 1 says that one failed.`,
		Example: `  writ repl
  writ repl examples/guestbook
  echo ':type web' | writ repl . --env prod`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(src.environments) > 1 || len(src.units) > 1 {
				return usageError{errors.New("a session looks at one unit in one environment; :load and :env change them")}
			}
			r := &replRun{app: a, src: &src, output: output, keepGoing: keepGoing}
			defer func() { r.close() }()
			return r.run(cmd.Context(), append(args, ".")[0])
		},
	}
	src.register(cmd)
	cmd.Flags().BoolVar(&keepGoing, "keep-going", false, "read on after a line that fails")
	a.outputFlag(cmd, &output)
	return cmd
}

// replRun is a run of the verb.
type replRun struct {
	app       *app
	src       *sourceFlags
	output    string
	keepGoing bool
	session   *repl.Session
	// close ends what the source that is open holds.
	close func()
}

func (r *replRun) run(ctx context.Context, path string) error {
	r.close = func() {}
	given, err := r.src.given()
	if err != nil {
		return err
	}
	o := repl.Options{Given: given, Open: func() (*repl.Source, error) { return r.open(path) }}
	o.Unit, o.Environment = first(r.src.units), first(r.src.environments)
	if r.session, err = repl.New(o); err != nil {
		return r.src.locate(err)
	}
	if term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())) {
		return r.interactive(ctx)
	}
	return r.lines(ctx, os.Stdin)
}

func first(names []string) string { return append(slices.Clone(names), "")[0] }

// open opens the source, with other evaluators: its limits may be others.
func (r *replRun) open(path string) (*repl.Source, error) {
	src := *r.src
	if err := src.open(path); err != nil {
		return nil, err
	}
	src.pretendBuilt()
	m, err := src.module()
	if err != nil {
		return nil, err
	}
	byLanguage, stop, err := evaluators(src.root, src.project.Limits)
	if err != nil {
		m.close()
		return nil, err
	}
	r.close()
	r.close = func() { stop(); m.close() }
	r.src.root = src.root
	return &repl.Source{FS: m.root.FS(), Dir: m.below, Project: src.project, Offers: src.built, Evaluators: byLanguage}, nil
}

// maxReplLine bounds a line that is read from no terminal, in bytes.
const maxReplLine = 1 << 20

// lines answers the lines of a file or pipe.
func (r *replRun) lines(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxReplLine)
	var failed error
	for n := 1; lines.Scan(); n++ {
		quit, err := r.do(ctx, lines.Text())
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(r.app.err, "line %d: %s\n", n, strings.TrimSpace(lines.Text()))
			diag.Print(r.app.err, err)
			if failed = exitError(exitFailed); !r.keepGoing {
				break
			}
		}
		if quit {
			break
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read lines: %w", err)
	}
	return failed
}

// do answers one line.
func (r *replRun) do(ctx context.Context, line string) (quit bool, err error) {
	answer, err := r.session.Do(ctx, line)
	if err != nil {
		return false, r.src.locate(err)
	}
	return answer.Quit, r.print(answer)
}

func (r *replRun) print(answer repl.Answer) error {
	a := r.app
	switch {
	case answer.Why != nil:
		return a.showWhy([]*why.Answer{answer.Why}, r.src, r.output)
	case answer.Value != nil:
		return a.encode(r.output, jsonValue(*answer.Value))
	case answer.Shape != lang.Shape{} && r.output != "":
		return a.encode(r.output, answer.Shape)
	case answer.Shape != lang.Shape{}:
		_, err := fmt.Fprintln(a.out, answer.Shape.Source)
		return err
	case answer.Text != "":
		_, err := fmt.Fprintln(a.out, answer.Text)
		return err
	}
	return nil
}
