package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/docs"
	"github.com/writ-dev/writ/stdlib"
)

// libraryArgument stands for Writ's library; a directory of that name is ./std.
const libraryArgument = "std"

func (a *app) docsCmd() *cobra.Command {
	var (
		output, out string
		check       bool
	)
	cmd := &cobra.Command{
		Use:   "docs [DIR|FILE|std]",
		Short: "Make documentation of sources: definitions, functions, inputs and their comments",
		Long: `Tells what the CUE packages and Jsonnet files below DIR (default: this directory) say
of themselves, as Markdown: the definitions of packages with their fields, types,
defaults and values, the functions of libraries with their parameters, the inputs of
programs, and the comments before all of these. Nothing is evaluated. 'std' is the
library that comes with writ.

--out writes one file, when it ends in .md, and otherwise a directory with a file for
each package and a list of them. Only files that writ docs made are replaced or removed.
With --check nothing is written; exit code 1 says that something is not up to date.`,
		Example: `  writ docs std
  writ docs lib --out docs
  writ docs lib --out docs --check`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case output != "markdown" && output != "json":
				return usageError{fmt.Errorf("unknown output format %q: use markdown or json", output)}
			case check && out == "":
				return usageError{errors.New("--check needs --out: what to look at")}
			case out != "" && output == "json":
				return usageError{errors.New("--out writes Markdown; for JSON use standard output")}
			}
			name := append(args, ".")[0]
			pages, err := documented(name)
			if err != nil {
				return err
			}
			switch {
			case check:
				return checkDocs(pages, name, out)
			case out != "":
				total, changed, err := docs.Write(pages, out)
				if err != nil {
					return err
				}
				a.step("documented", "%s: %d files, %d changed", out, total, changed)
				return nil
			case output == "json":
				return a.encode("json", pages)
			}
			_, err = a.out.Write(docs.Markdown(pages))
			return err
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "write to this .md file, or to this directory")
	cmd.Flags().BoolVar(&check, "check", false, "only tell whether what --out names is up to date")
	cmd.Flags().StringVarP(&output, "output", "o", "markdown", "output format: markdown or json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"markdown", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func documented(name string) ([]lang.Page, error) {
	if name == libraryArgument {
		return docs.Library(stdlib.FS())
	}
	s, err := openSources(name)
	if err != nil {
		return nil, err
	}
	defer s.root.Close()
	pages, err := docs.Pages(s.root.FS(), s.below)
	if err != nil {
		return nil, relocate(err, s.top)
	}
	if len(pages) == 0 {
		return nil, diag.List{{Message: "nothing is documented in " + name, Hint: "write comments before definitions, functions and packages"}}
	}
	return pages, nil
}

func checkDocs(pages []lang.Page, name, out string) error {
	old, err := docs.Outdated(pages, out)
	if err != nil {
		return err
	}
	var problems diag.List
	for _, o := range old {
		problems = append(problems, diag.Diagnostic{Code: "DOCS", Message: filepath.ToSlash(o), Hint: fmt.Sprintf("run: writ docs %s --out %s", name, out)})
	}
	return problems.Err()
}

// sources are files below a directory, or one file, in the module root that they
// belong to.
type sources struct {
	root *os.Root
	top  string
	// below is the name in root, slash-separated.
	below string
}

func openSources(name string) (*sources, error) {
	full, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(full)
	if err != nil {
		return nil, diag.List{{Message: "no such file or directory: " + name}}
	}
	dir := full
	if !info.IsDir() {
		dir = filepath.Dir(full)
	}
	top, _ := render.ModuleRoot(dir)
	below, err := filepath.Rel(top, full)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, fmt.Errorf("open the module root: %w", err)
	}
	return &sources{root: root, top: top, below: filepath.ToSlash(below)}, nil
}
