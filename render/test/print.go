package test

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/writ-dev/writ/lang/diag"
)

// Print writes the report for a person: a line for each file, then what failed.
// Verbose also lists the tests that passed.
func (r *Report) Print(w io.Writer, verbose bool) error {
	var b bytes.Buffer
	for _, f := range r.Files {
		r.printFile(&b, f, verbose)
	}
	for _, f := range r.Obsolete {
		fmt.Fprintf(&b, "obsolete snapshot %s: no test has it\n", f)
	}
	for _, f := range r.Removed {
		fmt.Fprintf(&b, "removed %s: no test has it\n", f)
	}
	for _, f := range r.Updated {
		fmt.Fprintf(&b, "wrote %s\n", f)
	}
	if n := len(r.Unchecked); n > 0 {
		fmt.Fprintf(&b, "not checked, of kinds that Writ does not serve: %s", r.Unchecked[0])
		if n > 1 {
			fmt.Fprintf(&b, " and %d more", n-1)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%d passed, %d failed in %.2fs\n", r.Passed, r.Failed, r.Seconds)
	if r.Coverage != nil {
		r.Coverage.print(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (r *Report) printFile(b *bytes.Buffer, f File, verbose bool) {
	seconds, failed := f.Seconds, 0
	for _, c := range f.Cases {
		seconds += c.Seconds
		if c.Status == Failed {
			failed++
		}
	}
	switch {
	case len(f.Problems) > 0:
		fmt.Fprintf(b, "FAIL  %s  cannot be evaluated\n", f.Name)
		printProblems(b, f.Problems)
	case failed > 0:
		fmt.Fprintf(b, "FAIL  %s  %d of %d failed  %.2fs\n", f.Name, failed, len(f.Cases), seconds)
	default:
		fmt.Fprintf(b, "ok    %s  %d passed  %.2fs\n", f.Name, len(f.Cases), seconds)
	}
	for _, c := range f.Cases {
		switch {
		case c.Status == Failed:
			fmt.Fprintf(b, "  FAIL  %s\n", c.Name)
			printProblems(b, c.Problems)
		case verbose:
			fmt.Fprintf(b, "  ok    %s  %.3fs\n", c.Name, c.Seconds)
		}
	}
}

func printProblems(b *bytes.Buffer, l diag.List) {
	var text bytes.Buffer
	diag.Print(&text, l)
	for line := range strings.Lines(text.String()) {
		b.WriteString("    " + line)
	}
}

func (c *Coverage) print(b *bytes.Buffer) {
	fmt.Fprintf(b, "coverage %.1f%%: %d of %d used", c.Percent(), c.Hit, c.Total)
	separator := " ("
	for _, k := range kinds {
		if n := c.Kinds[k]; n.Total > 0 {
			fmt.Fprintf(b, "%s%s %d/%d", separator, k, n.Hit, n.Total)
			separator = ", "
		}
	}
	if separator == ", " {
		b.WriteByte(')')
	}
	b.WriteByte('\n')
	for i := range c.Files {
		f := &c.Files[i]
		fmt.Fprintf(b, "  %5.1f%%  %s", f.Percent(), f.File)
		for j, p := range f.missed() {
			if j == 5 {
				fmt.Fprintf(b, " ...")
				break
			}
			fmt.Fprintf(b, " %d:%d", p.Line, p.Column)
		}
		b.WriteByte('\n')
	}
	for _, name := range c.Unread {
		fmt.Fprintf(b, "  unread  %s\n", name)
	}
	for _, d := range c.Skipped {
		fmt.Fprintf(b, "  not rendered, so not counted: %s\n", d.Error())
	}
}
