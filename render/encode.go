package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/object"
)

// JSON encodes the documents as one Kubernetes List, indented.
func (b *Bundle) JSON() []byte {
	items := make([]object.Object, len(b.Documents))
	for i, d := range b.Documents {
		items[i] = d.Object
	}
	list, err := object.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		panic("render: documents were valid when made: " + err.Error())
	}
	var out bytes.Buffer
	_ = json.Indent(&out, list, "", "  ") // list is valid JSON
	out.WriteByte('\n')
	return out.Bytes()
}

// JSONLines encodes the documents in canonical form, one a line.
func (b *Bundle) JSONLines() []byte {
	size := 0
	for _, d := range b.Documents {
		size += len(d.Object.JSON()) + 1
	}
	var out bytes.Buffer
	out.Grow(size)
	for _, d := range b.Documents {
		out.Write(d.Object.JSON())
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// YAML encodes the documents as a YAML stream that parsers of YAML 1.1 and
// 1.2 read alike: every string that either could take for something else is
// quoted.
func (b *Bundle) YAML() []byte {
	var out bytes.Buffer
	for i, d := range b.Documents {
		if i > 0 {
			out.WriteString("---\n")
		}
		WriteYAML(&out, d.Object.Tree())
	}
	return out.Bytes()
}

// WriteYAML writes a decoded JSON tree as one YAML document, in block style
// with sorted keys.
func WriteYAML(out *bytes.Buffer, tree any) {
	switch v := tree.(type) {
	case map[string]any:
		if len(v) > 0 {
			writeMap(out, v, 0, false)
			return
		}
	case []any:
		if len(v) > 0 {
			writeList(out, v, 0)
			return
		}
	}
	writeScalar(out, tree, 2)
	out.WriteByte('\n')
}

// writeMap writes the members at an indent; inline says that the first one
// continues the present line, after "- ".
func writeMap(out *bytes.Buffer, m map[string]any, indent int, inline bool) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for i, k := range keys {
		if i > 0 || !inline {
			out.WriteString(strings.Repeat(" ", indent))
		}
		if len(k) > 100 {
			// A key of a certain length must be marked as one.
			out.WriteString("? " + quote(k) + "\n" + strings.Repeat(" ", indent))
		} else if PlainYAML(k) && !strings.Contains(k, ":") {
			out.WriteString(k)
		} else {
			out.WriteString(quote(k))
		}
		out.WriteByte(':')
		writeMember(out, m[k], indent)
	}
}

func writeMember(out *bytes.Buffer, v any, indent int) {
	switch c := v.(type) {
	case map[string]any:
		if len(c) > 0 {
			out.WriteByte('\n')
			writeMap(out, c, indent+2, false)
			return
		}
	case []any:
		if len(c) > 0 {
			out.WriteByte('\n')
			writeList(out, c, indent)
			return
		}
	}
	out.WriteByte(' ')
	writeScalar(out, v, indent+2)
	out.WriteByte('\n')
}

func writeList(out *bytes.Buffer, l []any, indent int) {
	for _, v := range l {
		out.WriteString(strings.Repeat(" ", indent) + "-")
		if m, ok := v.(map[string]any); ok && len(m) > 0 {
			out.WriteByte(' ')
			writeMap(out, m, indent+2, true)
			continue
		}
		if inner, ok := v.([]any); ok && len(inner) > 0 {
			out.WriteByte('\n')
			writeList(out, inner, indent+2)
			continue
		}
		out.WriteByte(' ')
		writeScalar(out, v, indent+2)
		out.WriteByte('\n')
	}
}

// writeScalar writes a scalar or an empty container; indent is that of a
// block scalar's lines.
func writeScalar(out *bytes.Buffer, v any, indent int) {
	switch s := v.(type) {
	case nil:
		out.WriteString("null")
	case bool:
		fmt.Fprint(out, s)
	case json.Number:
		out.WriteString(yamlNumber(s.String()))
	case string:
		switch {
		case PlainYAML(s):
			out.WriteString(s)
		case literal(s):
			writeLiteral(out, s, indent)
		default:
			out.WriteString(quote(s))
		}
	case map[string]any:
		out.WriteString("{}")
	case []any:
		out.WriteString("[]")
	default:
		out.WriteString(quote(fmt.Sprint(s)))
	}
}

// yamlNumber writes a JSON number so that YAML 1.1, which wants a point and a
// signed exponent in a float, takes it for a number too.
func yamlNumber(s string) string {
	mantissa, exponent, ok := strings.Cut(strings.ToLower(s), "e")
	if !ok {
		return s
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if exponent[0] != '+' && exponent[0] != '-' {
		exponent = "+" + exponent
	}
	return mantissa + "e" + exponent
}

// words are the plain scalars that YAML 1.1 or 1.2 reads as null or bool.
var words = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

// PlainYAML reports whether s needs no quotes as a value in any YAML: it starts
// with a letter or a slash, has only characters without meaning where they
// are, and is not a word.
func PlainYAML(s string) bool {
	if s == "" || len(s) > 200 || slices.Contains(words, strings.ToLower(s)) || s[len(s)-1] == ':' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if i == 0 && !letter && c != '/' {
			return false
		}
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("-_./:@=+", rune(c)) {
			return false
		}
	}
	return true
}

// literal reports whether s is text of several lines that a block scalar keeps
// exactly: printable, without tabs or spaces where they could be lost.
func literal(s string) bool {
	body := strings.TrimSuffix(s, "\n")
	if !strings.Contains(body, "\n") || strings.HasSuffix(body, "\n") || strings.HasPrefix(body, "\n") {
		return false
	}
	for line := range strings.SplitSeq(body, "\n") {
		if strings.HasSuffix(line, " ") {
			return false
		}
		for _, r := range line {
			if r < ' ' || r > '~' {
				return false
			}
		}
	}
	return body[0] != ' '
}

func writeLiteral(out *bytes.Buffer, s string, indent int) {
	body, newline := strings.CutSuffix(s, "\n")
	out.WriteByte('|')
	if !newline {
		out.WriteByte('-')
	}
	for line := range strings.SplitSeq(body, "\n") {
		out.WriteByte('\n')
		if line != "" {
			out.WriteString(strings.Repeat(" ", indent) + line)
		}
	}
}

// quote writes s in double quotes with the escapes that JSON and YAML share.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
