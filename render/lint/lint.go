// Package lint finds in sources what is not wrong and likely to become so. It
// evaluates nothing. The rules are those of the languages, and those of this
// package about the comments that have a finding ignored:
//
//	x: 0755 # writ:ignore OctalNumber the file mode, as kubectl reads it
//
// Such a comment is for the line that it is on or, when it is alone on its
// line, for the next one. It names one rule and a reason.
package lint

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/cue"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/lang/jsonnet"
	"github.com/writ-dev/writ/lang/yaml"
	"github.com/writ-dev/writ/render/check"
)

// CodeSyntax is the code of a file that cannot be parsed.
const CodeSyntax = "Syntax"

// The rules that are no language's.
var (
	syntax       = lang.Rule{Code: CodeSyntax, Text: "a file that cannot be read as what its name says; it cannot be ignored"}
	badIgnore    = lang.Rule{Code: "BadIgnore", Text: "a writ:ignore comment without a known rule and a reason"}
	unusedIgnore = lang.Rule{Code: "UnusedIgnore", Text: "a writ:ignore comment that has nothing to ignore"}
)

// Rules lists all rules by code.
func Rules() []lang.Rule {
	all := slices.Concat(cue.Rules(), jsonnet.Rules(), yaml.Rules(), []lang.Rule{syntax, badIgnore, unusedIgnore})
	slices.SortFunc(all, func(a, b lang.Rule) int { return strings.Compare(a.Code, b.Code) })
	return all
}

// Describe is the text of a rule, or "".
func Describe(code string) string {
	for _, r := range Rules() {
		if r.Code == code {
			return r.Text
		}
	}
	return ""
}

// Options say what to look at.
type Options struct {
	// FS is the module root, and Name the file or directory in it.
	FS   fs.FS
	Name string
	// Library is Writ's standard library, which sources import.
	Library fs.FS
}

// Run looks at a file, or at all sources below a directory but hidden ones and
// those that are copies or data of tests. The report's documents are the files.
// Positions are relative to FS.
func Run(ctx context.Context, o Options) (*check.Report, error) {
	names, err := sources(o.FS, o.Name)
	if err != nil {
		return nil, err
	}
	report := &check.Report{Of: "file", Strict: true}
	files, inCUE := map[string][]byte{}, map[string][]byte{}
	var found diag.List
	for _, name := range names {
		report.Documents = append(report.Documents, check.Document{Object: name, Pos: diag.Position{File: name}, Checked: true})
		data, err := read(o.FS, name)
		if err != nil {
			found = append(found, broken(name, err)...)
			continue
		}
		files[name] = data
		if path.Ext(name) == ".cue" {
			inCUE[name] = data
		}
	}
	for _, name := range names {
		data, ok := files[name]
		if !ok {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var l diag.List
		var err error
		switch path.Ext(name) {
		case ".jsonnet", ".libsonnet":
			l, err = jsonnet.Lint(ctx, lang.Program{FS: o.FS, Entry: name, Library: o.Library})
		case ".yaml", ".yml", ".json":
			l, err = yaml.Lint(name, data)
		}
		found = append(append(found, l...), broken(name, err)...)
	}
	l, err := cue.Lint(inCUE)
	found = append(append(found, l...), broken("", err)...)
	for _, d := range ignore(found, files) {
		severity := check.Warning
		if d.Code == CodeSyntax {
			severity = check.Error
		}
		report.Add(&check.Report{Findings: []check.Finding{{Diagnostic: d, Severity: severity}}})
	}
	return report, nil
}

// broken makes findings of why a file could not be looked at.
func broken(name string, err error) diag.List {
	l := slices.Clone(diag.From(err))
	for i := range l {
		l[i].Code = CodeSyntax
		if !l[i].Pos.IsValid() {
			l[i].Pos.File = name
		}
	}
	return l
}

func read(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, lang.MaxFileSize+1))
	if err == nil && len(data) > lang.MaxFileSize {
		err = fmt.Errorf("is larger than %d MiB", lang.MaxFileSize>>20)
	}
	return data, err
}

var extensions = []string{".cue", ".jsonnet", ".libsonnet", ".yaml", ".yml", ".json"}

func sources(fsys fs.FS, root string) ([]string, error) {
	var names []string
	err := fs.WalkDir(fsys, root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			skip := strings.HasPrefix(d.Name(), ".") || strings.HasSuffix(d.Name(), lang.SnapshotsSuffix) ||
				slices.Contains([]string{"vendor", "cue.mod", "testdata", "node_modules"}, d.Name())
			if skip && name != root {
				return fs.SkipDir
			}
		case d.Type().IsRegular() && slices.Contains(extensions, path.Ext(name)):
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find sources: %w", err)
	}
	if len(names) == 0 {
		return nil, diag.List{{Message: "no sources in " + root, Hint: "name a directory with .cue, .jsonnet, .yaml or .json files"}}
	}
	return names, nil
}
