package check

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/writ-dev/writ/lang/diag"
)

// WriteText writes the report for people: each finding with its notes and what
// to do, then what was counted. What is the same in several documents, because
// they come from one place of the source, is written once. Paint colours a word
// for a severity; nil does not.
func (r *Report) WriteText(w io.Writer, paint func(s Severity, word string) string) error {
	if paint == nil {
		paint = func(_ Severity, word string) string { return word }
	}
	var b bytes.Buffer
	others := r.repeated()
	for _, f := range r.Findings {
		n, first := others[placeOf(f)]
		if !first {
			continue // it is written already
		}
		delete(others, placeOf(f))
		d := f.Diagnostic
		if n > 0 {
			d.Message += fmt.Sprintf(" (and in %s)", count(n, "other document"))
		}
		if len(f.Environments) > 0 {
			d.Notes = append(append([]diag.Note{}, d.Notes...), diag.Note{Text: "in " + strings.Join(f.Environments, ", ")})
		}
		for _, n := range f.origins() {
			n.Text = "from: " + n.Text
			d.Notes = append(slices.Clip(d.Notes), n)
		}
		diag.Write(&b, paint(f.Severity, string(f.Severity)+":"), d)
	}
	for _, u := range r.uncheckedKinds() {
		fmt.Fprintf(&b, "%s %s: nothing is known about %s (%s): give its CustomResourceDefinition with --crd\n",
			paint(Warning, "unchecked:"), u.first.Pos, u.kind, count(u.n, "document"))
	}
	fmt.Fprintln(&b, r.Summary())
	_, err := w.Write(b.Bytes())
	return err
}

// place is what findings have in common that are the same but for the document.
type place struct {
	severity                  Severity
	code, path, message, hint string
	pos                       diag.Position
	environments              string
}

func placeOf(f Finding) place {
	return place{f.Severity, f.Code, f.Path, f.Message, f.Hint, f.Pos, strings.Join(f.Environments, " ")}
}

// repeated counts how often each finding is there again.
func (r *Report) repeated() map[place]int {
	out := map[place]int{}
	for _, f := range r.Findings {
		p := placeOf(f)
		if n, ok := out[p]; ok {
			out[p] = n + 1
		} else {
			out[p] = 0
		}
	}
	return out
}

// uncheckedKind is a kind that nothing is known about.
type uncheckedKind struct {
	kind  string
	first Document
	n     int
}

func (r *Report) uncheckedKinds() []uncheckedKind {
	var out []uncheckedKind
	at := map[string]int{}
	for _, d := range r.Documents {
		if d.Checked {
			continue
		}
		kind, _, _ := strings.Cut(d.Object, " ")
		i, ok := at[kind]
		if !ok {
			i = len(out)
			at[kind] = i
			out = append(out, uncheckedKind{kind: kind, first: d})
		}
		out[i].n++
	}
	return out
}

// Summary counts in one line: "12 documents checked, 1 unchecked: 2 errors, 1
// warning".
func (r *Report) Summary() string {
	s := fmt.Sprintf("%s checked, %d unchecked: ", count(r.Checked(), r.noun()), r.Unchecked())
	if len(r.Findings) == 0 {
		return s + "nothing is wrong"
	}
	return s + count(r.Count(Error), "error") + ", " + count(r.Count(Warning), "warning")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
