package review

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable takes out what would command a terminal, or hide text from a
// reader: names and values come from others.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError {
			return '\uFFFD'
		}
		return r
	}, s)
}

// maxLine bounds a line of a difference, in bytes.
const maxLine = 1000

func cut(s string) string {
	s = printable(s)
	if len(s) <= maxLine {
		return s
	}
	return strings.ToValidUTF8(s[:maxLine], "") + "…"
}

// Text writes the review for a terminal; colour adds ANSI colours.
func (r *Review) Text(w io.Writer, colour bool) error {
	var out strings.Builder
	paint := func(line string) string {
		code := ""
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "+"):
			code = "\x1b[32m"
		case strings.HasPrefix(strings.TrimSpace(line), "-"):
			code = "\x1b[31m"
		}
		if !colour || code == "" {
			return line
		}
		return code + line + "\x1b[0m"
	}
	fmt.Fprintf(&out, "%s..%s: %s\n", printable(r.Base), printable(r.Head), r.Summary())
	for _, e := range r.Environments {
		if e.Name != "" {
			fmt.Fprintf(&out, "  %s: %d added, %d changed, %d removed%s\n", printable(e.Name), e.Added, e.Changed, e.Removed, e.where())
		}
	}
	if len(r.Opened)+len(r.Closed) > 0 {
		out.WriteString("access:\n")
		for _, line := range r.accessLines() {
			out.WriteString("  " + paint(cut(line)) + "\n")
		}
	}
	for _, g := range r.Groups {
		out.WriteString("\n" + printable(g.title()))
		if len(g.Objects) > 1 {
			out.WriteString(": " + printable(g.names(5)))
		}
		if pos := g.Objects[0].Pos; pos.IsValid() {
			out.WriteString("  (" + printable(pos.String()) + ")")
		}
		out.WriteString("\n")
		for _, line := range g.lines() {
			out.WriteString("  " + paint(cut(line)) + "\n")
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (e Environment) where() string {
	if e.Only == "" {
		return ""
	}
	return " (only in " + e.Only + ")"
}

func (r *Review) accessLines() []string {
	var out []string
	line := func(mark, verb string, a Access) string {
		environment := ""
		if a.Environment != "" {
			environment = a.Environment + ": "
		}
		return fmt.Sprintf("%s %s%s/%s %s %s", mark, environment, a.Namespace, a.Consumer, verb, a.Target)
	}
	for _, a := range r.Opened {
		out = append(out, line("+", "may now reach", a))
	}
	for _, a := range r.Closed {
		out = append(out, line("-", "may no longer reach", a))
	}
	return out
}
