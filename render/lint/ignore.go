package lint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/writ-dev/writ/lang/diag"
)

// comment matches what has a finding ignored: what is before it on the line, and
// the rule and reason.
var comment = regexp.MustCompile(`^(|.*\s)(?://|#)\s*writ:ignore\b(.*)$`)

// ignored is one such comment. It is for a line.
type ignored struct {
	pos  diag.Position
	code string
	line int
	used bool
}

// ignore leaves out the findings that comments and project files have ignored,
// and adds what is wrong with those.
func (l *linter) ignore() diag.List {
	comments := map[string][]*ignored{}
	var out diag.List
	for name, data := range l.files {
		if strings.HasSuffix(name, ".json") {
			continue // JSON has no comments
		}
		all, wrong := ignores(name, string(data))
		comments[name], out = all, append(out, wrong...)
	}
	unparsed, used := map[string]bool{}, map[diag.Position]bool{}
	for _, d := range l.found {
		unparsed[d.Pos.File] = unparsed[d.Pos.File] || d.Code == CodeSyntax
		hit := false
		for _, c := range comments[d.Pos.File] {
			if c.code == d.Code && c.line == d.Pos.Line {
				c.used, hit = true, true
			}
		}
		if !hit && !l.inProject(d, used) {
			out = append(out, d)
		}
	}
	for name, list := range comments {
		for _, c := range list {
			if !c.used && !unparsed[name] {
				out = append(out, diag.Diagnostic{
					Code: unusedIgnore.Code, Pos: c.pos, Message: "there is no " + c.code + " on the line that this is for", Hint: "remove the comment",
				})
			}
		}
	}
	for _, p := range l.projects {
		out = append(out, l.wrongIgnores(p, used)...)
	}
	return diag.From(out.Err())
}

// inProject reports whether a project file has a finding ignored, and notes by
// its position what has.
func (l *linter) inProject(d diag.Diagnostic, used map[diag.Position]bool) bool {
	p := l.projectOf(d.Pos.File)
	if p == nil || p.Project == nil {
		return false
	}
	hit := false
	for _, i := range p.Ignores {
		if i.Rule == d.Code && i.Covers(p.relative(d.Pos.File)) {
			i.Pos.File = p.file()
			used[i.Pos], hit = true, true
		}
	}
	return hit
}

// wrongIgnores says what is wrong with lint.ignore of a project file among the
// files: all that it could be about is then looked at.
func (l *linter) wrongIgnores(p *project, used map[diag.Position]bool) (wrong diag.List) {
	if _, here := l.files[p.file()]; !here || p.Project == nil || l.o.Name == p.file() {
		return nil
	}
	for _, i := range p.Ignores {
		i.Pos.File = p.file()
		d := diag.Diagnostic{Code: badIgnore.Code, Pos: i.Pos, Hint: "'writ lint --list' shows the rules"}
		switch {
		case Describe(i.Rule) == "":
			d.Message = "there is no rule " + i.Rule
		case i.Rule == badIgnore.Code || i.Rule == unusedIgnore.Code:
			d.Message = i.Rule + " cannot be ignored"
		case !used[i.Pos]:
			d.Code, d.Message, d.Hint = unusedIgnore.Code, "there is no "+i.Rule+" in "+strings.Join(i.Files, ", "), "remove it"
		default:
			continue
		}
		wrong = append(wrong, d)
	}
	return wrong
}

// ignores reads the comments of one file, and says which are none.
func ignores(name, text string) (all []*ignored, wrong diag.List) {
	var waiting []*ignored // for the next line of code
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		m := comment.FindStringSubmatch(strings.TrimRight(line, "\r"))
		if m == nil {
			if trimmed != "" && !strings.HasPrefix(trimmed, "//") && !strings.HasPrefix(trimmed, "#") {
				for _, c := range waiting {
					c.line = i + 1
				}
				waiting = nil
			}
			continue
		}
		pos := diag.Position{File: name, Line: i + 1, Column: len(m[1]) + 1}
		code, reason, _ := strings.Cut(strings.TrimSpace(m[2]), " ")
		message := ""
		switch {
		case code == "":
			message = "the comment does not say which rule to ignore"
		case code == CodeSyntax || code == badIgnore.Code || code == unusedIgnore.Code:
			message = code + " cannot be ignored here"
		case Describe(code) == "":
			message = "there is no rule " + code
		case strings.TrimSpace(reason) == "":
			message = "the comment gives no reason"
		}
		if message != "" {
			wrong = append(wrong, diag.Diagnostic{Code: badIgnore.Code, Pos: pos, Message: message, Hint: "write: writ:ignore RULE reason; 'writ lint --list' shows the rules"})
			continue
		}
		c := &ignored{pos: pos, code: code, line: i + 1}
		all = append(all, c)
		if strings.TrimSpace(m[1]) == "" {
			waiting = append(waiting, c)
		} else {
			for _, w := range waiting {
				w.line = i + 1
			}
			waiting = nil
		}
	}
	return slices.Clip(all), wrong
}
