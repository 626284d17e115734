package docs

import (
	"fmt"
	"path"
	"strings"

	"github.com/writ-dev/writ/lang"
)

// Marker begins every file that Write writes.
const Marker = "<!-- Made by writ docs from comments in sources; change those. -->\n"

// Markdown is pages one after another.
func Markdown(pages []lang.Page) []byte {
	var b strings.Builder
	for i, p := range pages {
		if i > 0 {
			b.WriteString("\n")
		}
		writePage(&b, p)
	}
	return []byte(b.String())
}

func writePage(b *strings.Builder, p lang.Page) {
	title := p.Name
	if p.Import != "" {
		title = p.Import
	}
	fmt.Fprintf(b, "# %s\n", escape(title))
	switch {
	case p.Import != "" && p.Language == "cue":
		fmt.Fprintf(b, "\nIn CUE: `import \"%s\"`\n", p.Import)
	case p.Import != "":
		fmt.Fprintf(b, "\nIn Jsonnet: `import '%s'`\n", p.Import)
	}
	paragraphs(b, p.Text, "")
	w := writer{b: b, known: map[string]bool{}}
	for _, s := range p.Symbols {
		w.known[s.Name] = s.Kind == lang.SymbolDefinition
	}
	if len(p.Symbols) > 5 {
		var links []string
		for _, s := range p.Symbols {
			links = append(links, fmt.Sprintf("[%s](#%s)", escape(s.Name), anchor(heading(s))))
		}
		fmt.Fprintf(b, "\n%s\n", strings.Join(links, " · "))
	}
	if len(p.Inputs) > 0 {
		b.WriteString("\n## Inputs\n\n")
		for _, s := range p.Inputs {
			w.item(s, "")
		}
	}
	for _, s := range p.Symbols {
		w.symbol(s)
	}
}

// writer writes what is about symbols. known are the definitions of the page.
type writer struct {
	b     *strings.Builder
	known map[string]bool
}

func heading(s lang.Symbol) string {
	if s.Kind != lang.SymbolFunction {
		return s.Name
	}
	var parameters []string
	for _, p := range s.Parameters {
		text := p.Name
		if p.Default != "" {
			text += "=" + p.Default
		}
		parameters = append(parameters, text)
	}
	return s.Name + "(" + strings.Join(parameters, ", ") + ")"
}

func (w writer) symbol(s lang.Symbol) {
	fmt.Fprintf(w.b, "\n## %s\n", escape(heading(s)))
	paragraphs(w.b, s.Text, "")
	if s.Kind != lang.SymbolFunction {
		if d := w.describe(s); d != "" {
			fmt.Fprintf(w.b, "\nIs %s.\n", d)
		}
	}
	if len(s.Embeds) > 0 {
		var all []string
		for _, e := range s.Embeds {
			all = append(all, w.reference(e))
		}
		fmt.Fprintf(w.b, "\nHas the fields of %s", strings.Join(all, " and "))
		if len(s.Fields) > 0 {
			w.b.WriteString(", and these:\n")
		} else {
			w.b.WriteString(".\n")
		}
	}
	items := s.Fields
	if s.Kind == lang.SymbolFunction {
		items = nil
		for _, p := range s.Parameters {
			if p.Text != "" {
				items = append(items, p)
			}
		}
	}
	if len(items) > 0 {
		w.b.WriteString("\n")
	}
	for _, f := range items {
		w.item(f, "")
	}
	if s.Open {
		w.b.WriteString("\nMay have other fields as well.\n")
	}
}

// item is a field in a list, with those in it below.
func (w writer) item(s lang.Symbol, indent string) {
	name := s.Name
	if s.Required {
		name += " (required)"
	}
	name = strings.Replace(name, s.Name, code(s.Name), 1)
	if d := w.describe(s); d != "" {
		name += ": " + d
	}
	fmt.Fprintf(w.b, "%s- %s", indent, name)
	if s.Text != "" {
		w.b.WriteString(`\`) // what follows is on its own line
	}
	w.b.WriteString("\n")
	if s.Text != "" {
		paragraphs(w.b, s.Text, indent+"  ")
	}
	if len(s.Fields) > 0 {
		if s.Text != "" {
			w.b.WriteString("\n")
		}
		for _, f := range s.Fields {
			w.item(f, indent+"  ")
		}
	}
}

// describe is what a symbol may be.
func (w writer) describe(s lang.Symbol) string {
	var parts []string
	switch {
	case len(s.Values) > 0:
		var values []string
		for _, v := range s.Values {
			values = append(values, code(v))
		}
		last := len(values) - 1
		parts = append(parts, strings.Join(values[:last], ", ")+" or "+values[last])
	case s.Type != "" && s.Type != s.Default:
		parts = append(parts, w.reference(s.Type))
	case s.Computed:
		parts = append(parts, "made of other fields")
	}
	if s.Default != "" {
		parts = append(parts, "default "+code(s.Default))
	}
	return strings.Join(parts, ", ")
}

// reference is code that leads to a definition, where it is the name of one.
func (w writer) reference(t string) string {
	if w.known[t] {
		return fmt.Sprintf("[%s](#%s)", code(t), anchor(t))
	}
	return code(t)
}

// anchor is the place of a heading, as GitHub and others make it.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 0x7f:
			return r
		}
		return -1
	}, heading)
}

// code is text between as many backticks as it takes.
func code(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

var escapes = strings.NewReplacer(`\`, `\\`, "<", "&lt;", "*", `\*`, "[", `\[`)

// escape keeps text from being taken for Markdown or HTML. Backticks stay: those
// who write comments mean them.
func escape(text string) string { return escapes.Replace(text) }

// paragraphs writes a comment. Lines that are indented are code.
func paragraphs(b *strings.Builder, text, indent string) {
	if text == "" {
		return
	}
	line := func(s string) {
		if s != "" {
			s = indent + s
		}
		b.WriteString(s + "\n")
	}
	if indent == "" {
		line("")
	}
	inCode := false
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		isCode := strings.HasPrefix(l, "\t") || strings.HasPrefix(l, "  ") && !strings.HasPrefix(strings.TrimSpace(l), "- ")
		if l == "" && inCode && i+1 < len(lines) && (strings.HasPrefix(lines[i+1], "\t") || strings.HasPrefix(lines[i+1], "  ")) {
			isCode = true
		}
		if isCode != inCode {
			line("```")
			inCode = isCode
		}
		if isCode {
			l = strings.TrimPrefix(strings.TrimPrefix(l, "\t"), "  ")
			line(strings.ReplaceAll(l, "\t", "  "))
			continue
		}
		line(escape(l))
	}
	if inCode {
		line("```")
	}
}

// fileName is the file of a page, when each has its own.
func fileName(p lang.Page) string {
	return path.Clean(p.Name) + ".md"
}
