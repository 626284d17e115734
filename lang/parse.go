package lang

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/writ-dev/writ/lang/diag"
)

// MaxDepth bounds how deep lists and objects nest in a Value.
const MaxDepth = 500

// ParseJSON reads exactly one JSON value (RFC 8259) whose positions are in
// file. It is strict: duplicate members, invalid UTF-8, unpaired surrogates,
// nesting deeper than MaxDepth and text after the value are errors. Numbers
// stay exact.
func ParseJSON(file string, data []byte) (Value, error) {
	values, err := ParseJSONStream(file, data)
	if err != nil {
		return Value{}, err
	}
	if len(values) != 1 {
		pos := diag.Position{File: file, Line: 1, Column: 1}
		if len(values) > 1 {
			pos = values[1].Pos
		}
		return Value{}, diag.Errorf(pos, "JSON001", "there are %d JSON values where one belongs", len(values))
	}
	return values[0], nil
}

// ParseJSONStream reads any number of JSON values one after the other, as
// ParseJSON reads one.
func ParseJSONStream(file string, data []byte) (values []Value, err error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	p := &jsonParser{src: data, pos: diag.Position{File: file, Line: 1}}
	if i := invalidUTF8(data); i >= 0 {
		p.at = i
		return nil, diag.Errorf(p.position(), "JSON002", "invalid UTF-8")
	}
	defer func() {
		if r := recover(); r != nil {
			failure, ok := r.(jsonFailure)
			if !ok {
				panic(r)
			}
			values, err = nil, diag.List{failure.Diagnostic}
		}
	}()
	for p.space(); p.at < len(p.src); p.space() {
		values = append(values, p.value(0))
	}
	return values, nil
}

func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// jsonParser is a recursive descent over src. It unwinds with a jsonFailure.
type jsonParser struct {
	src []byte
	at  int
	// pos is the line that counted reached; lineStart is where it starts.
	pos       diag.Position
	counted   int
	lineStart int
}

type jsonFailure struct{ diag.Diagnostic }

// position is that of the byte at p.at; it only ever moves forward.
func (p *jsonParser) position() diag.Position {
	for ; p.counted < p.at; p.counted++ {
		if p.src[p.counted] == '\n' {
			p.pos.Line++
			p.lineStart = p.counted + 1
		}
	}
	pos := p.pos
	pos.Column = p.at - p.lineStart + 1
	return pos
}

func (p *jsonParser) fail(message string) {
	panic(jsonFailure{diag.Diagnostic{Code: "JSON001", Pos: p.position(), Message: message}})
}

func (p *jsonParser) space() {
	for p.at < len(p.src) && strings.IndexByte(" \t\r\n", p.src[p.at]) >= 0 {
		p.at++
	}
}

func (p *jsonParser) peek() byte {
	if p.at < len(p.src) {
		return p.src[p.at]
	}
	return 0
}

func (p *jsonParser) value(depth int) Value {
	if depth > MaxDepth {
		p.fail("lists and objects nest deeper than " + strconv.Itoa(MaxDepth))
	}
	v := Value{Pos: p.position()}
	switch c := p.peek(); {
	case c == '{':
		v.Kind, v.Fields = Object, p.members(depth)
	case c == '[':
		v.Kind, v.Items = List, p.items(depth)
	case c == '"':
		v.Kind, v.Text = String, p.str()
	case c == '-' || '0' <= c && c <= '9':
		v.Kind, v.Text = Number, p.number()
	case p.word("null"):
	case p.word("true"):
		v.Kind, v.Text = Bool, "true"
	case p.word("false"):
		v.Kind, v.Text = Bool, "false"
	case p.at == len(p.src):
		p.fail("the JSON ends where a value belongs")
	default:
		p.fail("no JSON value starts with " + strconv.QuoteRune(p.rune()))
	}
	return v
}

func (p *jsonParser) rune() rune {
	r, _ := utf8.DecodeRune(p.src[p.at:])
	return r
}

func (p *jsonParser) word(w string) bool {
	if !bytes.HasPrefix(p.src[p.at:], []byte(w)) {
		return false
	}
	p.at += len(w)
	if c := p.peek(); c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' {
		p.fail("unknown word after " + w)
	}
	return true
}

func (p *jsonParser) members(depth int) []Field {
	fields := []Field{}
	seen := map[string]diag.Position{}
	p.at++
	for p.space(); p.peek() != '}'; p.space() {
		if len(fields) > 0 {
			p.separator('}')
		}
		if p.peek() != '"' {
			p.fail("a member's name in double quotes belongs here")
		}
		f := Field{Pos: p.position()}
		f.Name = p.str()
		if first, ok := seen[f.Name]; ok {
			panic(jsonFailure{duplicate(f, first)})
		}
		seen[f.Name] = f.Pos
		p.space()
		if p.peek() != ':' {
			p.fail("a colon belongs here")
		}
		p.at++
		p.space()
		f.Value = p.value(depth + 1)
		fields = append(fields, f)
	}
	p.at++
	SortFields(fields)
	return fields
}

func duplicate(f Field, first diag.Position) diag.Diagnostic {
	return diag.Diagnostic{
		Code: "LANG003", Pos: f.Pos,
		Message: "duplicate key " + strconv.Quote(f.Name),
		Notes:   []diag.Note{{Pos: first, Text: "first written here"}},
		Hint:    "keep one of the two",
	}
}

// Duplicate is the diagnostic of a key that an object has twice.
func Duplicate(f Field, first diag.Position) diag.List { return diag.List{duplicate(f, first)} }

// SortFields sorts members by name.
func SortFields(fields []Field) {
	slices.SortFunc(fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
}

func (p *jsonParser) items(depth int) []Value {
	items := []Value{}
	p.at++
	for p.space(); p.peek() != ']'; p.space() {
		if len(items) > 0 {
			p.separator(']')
		}
		items = append(items, p.value(depth+1))
	}
	p.at++
	return items
}

// separator skips a comma between two elements; end would close them.
func (p *jsonParser) separator(end byte) {
	if p.peek() != ',' {
		p.fail("a comma or " + strconv.QuoteRune(rune(end)) + " belongs here")
	}
	p.at++
	p.space()
	if p.peek() == end {
		p.fail("nothing follows the comma")
	}
}

func (p *jsonParser) number() string {
	start := p.at
	digits := func() {
		from := p.at
		for '0' <= p.peek() && p.peek() <= '9' {
			p.at++
		}
		if p.at == from {
			p.fail("a digit belongs here")
		}
	}
	if p.peek() == '-' {
		p.at++
	}
	if p.peek() == '0' {
		p.at++
		if c := p.peek(); '0' <= c && c <= '9' {
			p.fail("a number does not start with zeros")
		}
	} else {
		digits()
	}
	if p.peek() == '.' {
		p.at++
		digits()
	}
	if p.peek()|0x20 == 'e' {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		digits()
	}
	text, err := CanonicalNumber(string(p.src[start:p.at]))
	if err != nil {
		p.fail(err.Error())
	}
	return text
}

// str reads a string; p.at is on its opening quote.
func (p *jsonParser) str() string {
	p.at++
	start := p.at
	for p.at < len(p.src) && p.src[p.at] >= 0x20 && p.src[p.at] != '"' && p.src[p.at] != '\\' {
		p.at++
	}
	if p.peek() == '"' {
		p.at++
		return string(p.src[start : p.at-1])
	}
	b := append([]byte(nil), p.src[start:p.at]...)
	for {
		switch c := p.peek(); {
		case p.at == len(p.src):
			p.fail("the string does not end")
		case c == '"':
			p.at++
			return string(b)
		case c == '\\':
			b = p.escape(b)
		case c < 0x20:
			p.fail("a string does not hold control characters; escape them")
		default:
			b = append(b, c)
			p.at++
		}
	}
}

func (p *jsonParser) escape(b []byte) []byte {
	p.at++
	c := p.peek()
	if c == 'u' {
		r := p.unit()
		if utf16.IsSurrogate(r) {
			if !bytes.HasPrefix(p.src[p.at:], []byte(`\u`)) {
				p.fail("unpaired surrogate")
			}
			p.at++
			if r = utf16.DecodeRune(r, p.unit()); r == utf8.RuneError {
				p.fail("unpaired surrogate")
			}
		}
		return utf8.AppendRune(b, r)
	}
	i := strings.IndexByte(`"\/bfnrt`, c)
	if i < 0 || p.at == len(p.src) {
		p.fail("unknown escape in a string")
	}
	p.at++
	return append(b, "\"\\/\b\f\n\r\t"[i])
}

// unit reads the "uXXXX" of an escape.
func (p *jsonParser) unit() rune {
	p.at++
	if p.at+4 > len(p.src) {
		p.fail("four hexadecimal digits belong here")
	}
	n, err := strconv.ParseUint(string(p.src[p.at:p.at+4]), 16, 16)
	if err != nil {
		p.fail("four hexadecimal digits belong here")
	}
	p.at += 4
	return rune(n)
}
