package review

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxComment is how many characters a comment on GitHub may have, with room
// left for a signature: 65,536 is the limit.
const MaxComment = 60_000

// Markdown writes the review for a comment, in at most limit characters; 0 is
// without a limit. Where something is left out, the comment says how much, and
// whole is false.
func (r *Review) Markdown(limit int) (text string, whole bool) {
	m := &markdown{limit: limit}
	m.add(fmt.Sprintf("### writ: %s\n\n%s → %s\n\n", r.Summary(), code(r.Base), code(r.Head)))
	if len(r.Environments) > 1 || len(r.Environments) == 1 && r.Environments[0].Name != "" {
		m.add("| environment | documents | added | changed | removed |\n|---|--:|--:|--:|--:|\n")
		for _, e := range r.Environments {
			m.add(fmt.Sprintf("| %s%s | %d | %d | %d | %d |\n", code(e.Name), e.where(), e.Documents, e.Added, e.Changed, e.Removed))
		}
		m.add("\n")
	}
	if lines := r.accessLines(); len(lines) > 0 {
		m.add("#### Access\n\n")
		m.fenced(lines, m.left()/2, "connections")
	}
	for i, g := range r.Groups {
		if !m.group(g) {
			m.force(fmt.Sprintf("\n%d of %d differences are not shown here; they are in the attachment.\n", len(r.Groups)-i, len(r.Groups)))
			break
		}
	}
	return m.text.String(), !m.cut
}

// reserve are the characters kept for saying what is missing.
const reserve = 300

// markdown is a text with a limit in characters.
type markdown struct {
	text  strings.Builder
	limit int
	used  int
	cut   bool
}

// left is how many characters may still be written.
func (m *markdown) left() int {
	if m.limit <= 0 {
		return 1 << 40
	}
	return m.limit - reserve - m.used
}

// add writes s if there is room, all of it or nothing.
func (m *markdown) add(s string) bool {
	n := utf8.RuneCountInString(s)
	if n > m.left() {
		m.cut = true
		return false
	}
	m.force(s)
	return true
}

func (m *markdown) force(s string) {
	m.used += utf8.RuneCountInString(s)
	m.text.WriteString(s)
}

// group writes one difference; false when there is no room for any of it.
func (m *markdown) group(g Group) bool {
	open := ""
	if len(g.Objects) == 1 || len(g.Changes) > 0 && len(g.Changes) <= 10 {
		open = " open"
	}
	head := fmt.Sprintf("<details%s><summary>%s</summary>\n\n", open, html(g.title()))
	if len(g.Objects) > 1 {
		head += code(g.names(20)) + "\n\n"
	} else if pos := g.Objects[0].Pos; pos.IsValid() {
		head += code(pos.String()) + "\n\n"
	}
	const foot = "\n</details>\n\n"
	room := m.left() - utf8.RuneCountInString(head) - len(foot)
	if room < 400 {
		m.cut = true
		return false
	}
	m.force(head)
	m.fenced(g.lines(), room, "lines")
	m.force(foot)
	return true
}

// fenced writes lines as a diff in a code block, in at most so many characters.
func (m *markdown) fenced(lines []string, room int, what string) {
	fence := "```"
	for _, line := range lines {
		for strings.Contains(line, fence) {
			fence += "`"
		}
	}
	m.force(fence + "diff\n")
	room -= 2*len(fence) + 40
	for i, line := range lines {
		line = cut(line) + "\n"
		if room -= utf8.RuneCountInString(line); room < 0 {
			m.force(fmt.Sprintf("… %d more %s\n", len(lines)-i, what))
			m.cut = true
			break
		}
		m.force(line)
	}
	m.force(fence + "\n")
}

// code is text that Markdown leaves alone.
func code(s string) string {
	s = printable(strings.ReplaceAll(s, "|", "¦"))
	ticks := "`"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	if len(ticks) > 1 {
		s = " " + s + " "
	}
	if s == "" {
		return ""
	}
	return ticks + s + ticks
}

func html(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "&#64;", "`", "&#96;").Replace(printable(s))
}
