package render

import (
	"fmt"
	"path"

	"go.yaml.in/yaml/v3"

	"github.com/writ-dev/writ/lang/diag"
)

// Ignore has findings of a linter's rule ignored in files, which are patterns as
// of path.Match of files and directories, relative to the project.
type Ignore struct {
	Rule   string
	Files  []string
	Reason string
	Pos    diag.Position
}

// Covers reports whether it is about a file, by its name relative to the project.
func (i Ignore) Covers(file string) bool {
	for _, pattern := range i.Files {
		for name := file; name != "."; name = path.Dir(name) {
			if fits(pattern, name) {
				return true
			}
		}
	}
	return false
}

func (r *projectReader) lint(n *yaml.Node) {
	r.fields(n, ".lint", []string{"ignore"}, func(_ string, v *yaml.Node) {
		for i, item := range r.items(v, ".lint.ignore") {
			r.ignore(item, fmt.Sprintf(".lint.ignore[%d]", i))
		}
	})
}

func (r *projectReader) ignore(n *yaml.Node, at string) {
	out := Ignore{Pos: nodePos(n)}
	before := len(r.errs)
	r.fields(n, at, []string{"rule", "files", "reason"}, func(key string, v *yaml.Node) {
		switch key {
		case "rule":
			out.Rule = r.text(v, at+".rule")
		case "files":
			out.Files = r.paths(v, at+".files")
		case "reason":
			out.Reason = r.text(v, at+".reason")
		}
	})
	if len(r.errs) > before {
		return
	}
	for _, f := range out.Files {
		if _, err := path.Match(f, ""); err != nil {
			r.fail(nodePos(n), at+".files", fmt.Sprintf("%q is no pattern", f), "a pattern has *, ? and [a-z]")
		}
	}
	switch {
	case out.Rule == "":
		r.fail(nodePos(n), at, "does not say which rule to ignore", "add rule: with one that 'writ lint --list' shows")
	case len(out.Files) == 0:
		r.fail(nodePos(n), at, "does not say in which files to ignore it", "add files: with files, directories or patterns")
	case out.Reason == "":
		r.fail(nodePos(n), at, "gives no reason", "add reason: with why it is right as it is")
	}
	r.p.Ignores = append(r.p.Ignores, out)
}
