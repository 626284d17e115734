package check

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/why"
)

// Fix is a change that probably does away with a finding: of the field that the
// finding is about, and, where exactly that is written in one place, of the
// source.
type Fix struct {
	api.Fix
	Edit *Edit `json:"edit,omitempty"`
}

// Edit is a change of the source: Text goes where Pos to End was, which is on
// one line. End is the first position after it.
type Edit struct {
	Pos  diag.Position `json:"pos"`
	End  diag.Position `json:"end"`
	Text string        `json:"text"`
}

// fixOf is the fix of a problem, or nil.
func fixOf(p api.Problem) *Fix {
	if fix, ok := p.Fix(); ok {
		return &Fix{Fix: fix}
	}
	return nil
}

// editor finds in sources what is to be changed. An edit is made only where the
// source has the very name or value that is wrong: a value that was computed
// has no such place.
type editor struct {
	fsys  fs.FS
	files map[string][][]byte
}

func newEditor(fsys fs.FS) *editor { return &editor{fsys, map[string][][]byte{}} }

// edit is the change of the source that f.Fix means, or nil.
func (e *editor) edit(f *Finding, origin render.Origin) *Edit {
	at, v, ok := origin.Concrete(f.Path)
	if !ok {
		return nil
	}
	if f.Fix.Name != "" {
		return e.rename(f, at)
	}
	places := []diag.Position{v.Pos}
	for _, s := range slices.Backward(f.Provenance.Steps) {
		if s.Effect == lang.Gives && bytes.Equal(s.Value, f.Provenance.Value) {
			places = append(places, s.Pos)
		}
	}
	for _, p := range places {
		if edit := e.replace(p, v, &f.Fix.Fix); edit != nil {
			return edit
		}
	}
	return nil
}

// rename changes the name of a field, unless it is written in several places
// that would all have to change.
func (e *editor) rename(f *Finding, at string) *Edit {
	elements, ok := lang.SplitPath(at)
	if !ok || len(elements) == 0 || slices.ContainsFunc(f.Provenance.Steps, func(s why.Step) bool { return s.Effect == lang.Overridden }) {
		return nil
	}
	old := elements[len(elements)-1].Name
	rest := e.from(f.Pos)
	for _, form := range forms(old, true) {
		if begins(rest, form, afterName) {
			return edit(f.Pos, len(form), name(f.Fix.Name, form))
		}
	}
	return nil
}

// replace changes the value v where it is written at a position.
func (e *editor) replace(p diag.Position, v lang.Value, fix *api.Fix) *Edit {
	rest := e.from(p)
	ext := path.Ext(p.File)
	yaml := ext == ".yaml" || ext == ".yml"
	if yaml && fix.Quote {
		// As it is written: what was read of 1.10 is 1.1.
		word := yamlWord.Find(rest)
		if !begins(rest, string(word), afterValue) {
			return nil
		}
		fix.Value, _ = json.Marshal(string(word)) // a string always has a form
		return edit(p, len(word), string(fix.Value))
	}
	old := []string{v.Text}
	if v.Kind == lang.String {
		old = forms(v.Text, yaml)
	}
	for _, form := range old {
		if !begins(rest, form, afterValue) {
			continue
		}
		text := string(fix.Value)
		var word string
		if json.Unmarshal(fix.Value, &word) == nil && form[0] != '"' {
			switch {
			case form[0] == '\'' && !strings.ContainsAny(word, `'\`):
				text = "'" + word + "'"
			case yaml && v.Kind == lang.String && form[0] != '\'' && render.PlainYAML(word):
				text = word
			}
		}
		return edit(p, len(form), text)
	}
	return nil
}

// yamlWord is a plain scalar that YAML takes for a number, a boolean or a time.
var yamlWord = regexp.MustCompile(`^[-+.:\w]+`)

// forms are the ways to write a text, quoted and perhaps bare.
func forms(text string, bare bool) []string {
	quoted, _ := json.Marshal(text) // a string always has a form
	out := []string{string(quoted), "'" + text + "'"}
	if bare && text != "" {
		out = append(out, text)
	}
	return out
}

// name is a field's name, quoted as another is where it has to be.
func name(text, like string) string {
	switch {
	case like[0] == '\'' && !strings.ContainsAny(text, `'\`):
		return "'" + text + "'"
	case like[0] == '"' || like[0] == '\'' || !identifier.MatchString(text):
		return forms(text, false)[0]
	}
	return text
}

var identifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// What follows a value, and the name of a field.
var (
	afterValue = regexp.MustCompile(`^\s*($|[,\]});#|]|//)`)
	afterName  = regexp.MustCompile(`^\s*[:+?!]`)
)

// begins reports whether a text begins with a word that ends there.
func begins(text []byte, word string, end *regexp.Regexp) bool {
	after, ok := bytes.CutPrefix(text, []byte(word))
	return ok && word != "" && end.Match(after)
}

func edit(p diag.Position, length int, text string) *Edit {
	end := p
	end.Column += length
	return &Edit{Pos: p, End: end, Text: text}
}

// from is the rest of the line at a position; empty when it cannot be read.
func (e *editor) from(p diag.Position) []byte {
	if p.Line < 1 || p.Column < 1 || lang.IsLibrary(p.File) {
		return nil
	}
	lines, ok := e.files[p.File]
	if !ok {
		lines = e.read(p.File)
		e.files[p.File] = lines
	}
	if p.Line > len(lines) || p.Column > len(lines[p.Line-1]) {
		return nil
	}
	return lines[p.Line-1][p.Column-1:]
}

func (e *editor) read(file string) [][]byte {
	f, err := e.fsys.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(f, lang.MaxFileSize))
	if err != nil {
		return nil
	}
	return bytes.Split(b, []byte("\n"))
}
