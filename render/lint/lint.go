// Package lint finds in sources what is not wrong and likely to become so. It
// evaluates nothing. The rules are those of the languages, those of this package
// about projects, and those about what has a finding ignored:
//
//	x: 0755 # writ:ignore OctalNumber the file mode, as kubectl reads it
//
// Such a comment is for the line that it is on or, when it is alone on its
// line, for the next one. It names one rule and a reason. For files that have no
// comments, and for whole files and directories, the project file says
//
//	lint: {ignore: [{rule: UnreadFile, files: [docs], reason: examples in the manual}]}
package lint

import (
	"context"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

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
	syntax       = lang.Rule{Code: CodeSyntax, Text: "a file that cannot be read as what its name says; only writ.yaml can have it ignored"}
	badIgnore    = lang.Rule{Code: "BadIgnore", Text: "a writ:ignore comment, or lint.ignore of writ.yaml, without a known rule and a reason"}
	unusedIgnore = lang.Rule{Code: "UnusedIgnore", Text: "a writ:ignore comment, or lint.ignore of writ.yaml, that has nothing to ignore"}
)

// Rules lists all rules by code.
func Rules() []lang.Rule {
	all := slices.Concat(cue.Rules(), jsonnet.Rules(), yaml.Rules(), []lang.Rule{syntax, badIgnore, unusedIgnore}, projectRules())
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
	// Jsonnet looks at Jsonnet files, which may take any time and memory; nil
	// means in this process.
	Jsonnet lang.Linter
}

// Run looks at a file, or at all sources below a directory but hidden ones and
// those that are copies or data of tests; and, for a directory, at the projects
// that they belong to. The report's documents are the files. Positions are
// relative to FS.
func Run(ctx context.Context, o Options) (*check.Report, error) {
	names, err := lang.Sources(o.FS, o.Name, extensions)
	if err != nil {
		return nil, err
	}
	if o.Jsonnet == nil {
		o.Jsonnet = jsonnet.Evaluator{}
	}
	l := &linter{o: o, files: map[string][]byte{}}
	report := &check.Report{Of: "file", Strict: true}
	for _, name := range names {
		report.Documents = append(report.Documents, check.Document{Object: name, Pos: diag.Position{File: name}, Checked: true})
		data, err := lang.ReadSource(o.FS, name)
		if err != nil {
			l.broken(name, err)
			continue
		}
		l.files[name] = data
		l.names = append(l.names, name)
	}
	l.findProjects()
	if err := l.languages(ctx); err != nil {
		return nil, err
	}
	if len(names) != 1 || names[0] != o.Name {
		for _, p := range l.projects {
			if err := l.project(ctx, p); err != nil {
				return nil, err
			}
		}
	}
	for _, d := range l.ignore() {
		severity := check.Warning
		if d.Code == CodeSyntax {
			severity = check.Error
		}
		report.Add(&check.Report{Findings: []check.Finding{{Diagnostic: d, Severity: severity}}})
	}
	return report, nil
}

// linter is one run.
type linter struct {
	o Options
	// names are the files that could be read, in order, and files what is in
	// them.
	names []string
	files map[string][]byte
	// projects are those that the files belong to, inner ones first.
	projects []*project
	found    diag.List
}

// languages has each file looked at by the rules of its language.
func (l *linter) languages(ctx context.Context) error {
	inCUE := map[string][]byte{}
	var inJsonnet []string
	for _, name := range l.names {
		if err := ctx.Err(); err != nil {
			return err
		}
		var found diag.List
		var err error
		switch path.Ext(name) {
		case ".jsonnet", ".libsonnet":
			inJsonnet = append(inJsonnet, name)
		case ".yaml", ".yml", ".json":
			found, err = yaml.Lint(name, l.files[name])
		case ".cue":
			inCUE[name] = l.files[name]
		}
		l.found = append(l.found, found...)
		l.broken(name, err)
	}
	found, err := cue.Lint(inCUE)
	l.found = append(l.found, found...)
	l.broken("", err)
	l.allJsonnet(ctx, inJsonnet)
	return ctx.Err()
}

// allJsonnet looks at Jsonnet files, as many at a time as there are processors:
// each is analysed with all that it imports.
func (l *linter) allJsonnet(ctx context.Context, names []string) {
	type outcome struct {
		found diag.List
		err   error
	}
	outcomes := make([]outcome, len(names))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(names) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				outcomes[i].found, outcomes[i].err = l.jsonnet(ctx, names[i])
			}
		})
	}
	wg.Wait()
	for i, name := range names {
		l.found = append(l.found, outcomes[i].found...)
		l.broken(name, outcomes[i].err)
	}
}

// jsonnet looks at a Jsonnet file. One whose analysis exceeds a limit has a
// finding of that, and no other.
func (l *linter) jsonnet(ctx context.Context, name string) (diag.List, error) {
	p := lang.Program{FS: l.o.FS, Entry: name, Library: l.o.Library}
	if of := l.projectOf(name); of != nil && of.Project != nil {
		p.Settings = lang.Settings{Search: of.Search}.Below(of.dir)
	}
	found, err := l.o.Jsonnet.Lint(ctx, p)
	problems := diag.From(err)
	if len(problems) == 1 && slices.Contains([]string{lang.CodeTime, lang.CodeMemory, lang.CodeStack}, problems[0].Code) {
		problems[0].Code = jsonnet.CodeNotAnalysed
		return problems, nil
	}
	return found, err
}

// broken notes why a file could not be looked at.
func (l *linter) broken(name string, err error) {
	for _, d := range diag.From(err) {
		d.Code = CodeSyntax
		if !d.Pos.IsValid() {
			d.Pos.File = name
		}
		l.found = append(l.found, d)
	}
}

var extensions = []string{".cue", ".jsonnet", ".libsonnet", ".yaml", ".yml", ".json"}
