package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Every object is decoded and encoded several times on its way, so both have a
// quick way for what documents usually hold. Whatever is unusual, or wrong, goes
// through encoding/json, and so has its results and its errors.

// Unmarshal decodes one JSON value with exact numbers (json.Number) and
// refuses anything after it.
func Unmarshal(b []byte) (any, error) {
	d := decoder{text: string(b)}
	if v, ok := d.value(0); ok && d.ended() {
		return v, nil
	}
	slow := json.NewDecoder(bytes.NewReader(b))
	slow.UseNumber()
	var v any
	if err := slow.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := slow.Token(); err != io.EOF {
		return nil, errors.New("unexpected data after the JSON value")
	}
	return v, nil
}

// Marshal encodes v compactly with sorted keys and without HTML escaping.
func Marshal(v any) ([]byte, error) {
	if b, ok := appendTree(nil, v, 0); ok {
		return b, nil
	}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// quickDepth is how deep values may nest for the quick way.
const quickDepth = 100

// decoder takes values off the front of the rest of a text. Strings without
// escapes share its memory.
type decoder struct {
	text string
	at   int
}

// space skips white space and returns the byte after it, without taking it, or
// 0 at the end, which is nothing that JSON may go on with.
func (d *decoder) space() byte {
	for ; d.at < len(d.text); d.at++ {
		switch c := d.text[d.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (d *decoder) ended() bool { return d.space() == 0 && d.at == len(d.text) }

func (d *decoder) take(word string) bool {
	if !strings.HasPrefix(d.text[d.at:], word) {
		return false
	}
	d.at += len(word)
	return true
}

// value decodes the next value; not ok when it is anything but plain.
func (d *decoder) value(depth int) (any, bool) {
	if depth > quickDepth {
		return nil, false
	}
	switch c := d.space(); c {
	case '{':
		return d.object(depth)
	case '[':
		return d.array(depth)
	case '"':
		return d.string()
	case 't':
		return true, d.take("true")
	case 'f':
		return false, d.take("false")
	case 'n':
		return nil, d.take("null")
	default:
		return d.number()
	}
}

func (d *decoder) object(depth int) (any, bool) {
	m := map[string]any{}
	d.at++
	if d.space() == '}' {
		d.at++
		return m, true
	}
	for {
		if d.space() != '"' {
			return nil, false
		}
		key, ok := d.string()
		if !ok || d.space() != ':' {
			return nil, false
		}
		d.at++
		v, ok := d.value(depth + 1)
		if !ok {
			return nil, false
		}
		m[key] = v
		switch d.space() {
		case ',':
			d.at++
		case '}':
			d.at++
			return m, true
		default:
			return nil, false
		}
	}
}

func (d *decoder) array(depth int) (any, bool) {
	items := []any{}
	d.at++
	if d.space() == ']' {
		d.at++
		return items, true
	}
	for {
		v, ok := d.value(depth + 1)
		if !ok {
			return nil, false
		}
		items = append(items, v)
		switch d.space() {
		case ',':
			d.at++
		case ']':
			d.at++
			return items, true
		default:
			return nil, false
		}
	}
}

func (d *decoder) string() (string, bool) {
	begin := d.at + 1
	escaped := false
	for i := begin; i < len(d.text); i++ {
		switch c := d.text[i]; {
		case c == '"':
			s := d.text[begin:i]
			d.at = i + 1
			if escaped {
				err := json.Unmarshal([]byte(d.text[begin-1:i+1]), &s)
				return s, err == nil
			}
			return s, utf8.ValidString(s)
		case c == '\\':
			escaped = true
			i++
		case c < 0x20:
			return "", false
		}
	}
	return "", false
}

func (d *decoder) number() (any, bool) {
	begin := d.at
	for d.at < len(d.text) && strings.IndexByte("+-.0123456789eE", d.text[d.at]) >= 0 {
		d.at++
	}
	text := d.text[begin:d.at]
	return json.Number(text), isNumber(text)
}

// isNumber reports whether a text is a JSON number (RFC 8259, section 6).
func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	rest := digits(s)
	if rest == s || s[0] == '0' && len(s)-len(rest) > 1 {
		return false
	}
	if fraction, ok := strings.CutPrefix(rest, "."); ok {
		if rest = digits(fraction); rest == fraction {
			return false
		}
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		exponent := rest[1:]
		if exponent != "" && (exponent[0] == '+' || exponent[0] == '-') {
			exponent = exponent[1:]
		}
		if rest = digits(exponent); rest == exponent {
			return false
		}
	}
	return rest == ""
}

// digits is what follows the digits that s begins with.
func digits(s string) string { return strings.TrimLeft(s, "0123456789") }

// appendTree appends a decoded value as JSON; not ok when it holds anything but
// what Unmarshal makes.
func appendTree(b []byte, v any, depth int) (_ []byte, ok bool) {
	if depth > quickDepth {
		return nil, false
	}
	switch x := v.(type) {
	case nil:
		return append(b, "null"...), true
	case bool:
		if x {
			return append(b, "true"...), true
		}
		return append(b, "false"...), true
	case string:
		return appendString(b, x)
	case json.Number:
		return append(b, x...), isNumber(string(x))
	case []any:
		if x == nil {
			return nil, false
		}
		b = append(b, '[')
		for i, item := range x {
			if i > 0 {
				b = append(b, ',')
			}
			if b, ok = appendTree(b, item, depth+1); !ok {
				return nil, false
			}
		}
		return append(b, ']'), true
	case map[string]any:
		if x == nil {
			return nil, false
		}
		b = append(b, '{')
		var room [16]string
		keys := room[:0]
		for key := range x {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for i, key := range keys {
			if i > 0 {
				b = append(b, ',')
			}
			if b, ok = appendString(b, key); !ok {
				return nil, false
			}
			if b, ok = appendTree(append(b, ':'), x[key], depth+1); !ok {
				return nil, false
			}
		}
		return append(b, '}'), true
	}
	return nil, false
}

// appendString appends a string; not ok when that needs more than quotes and
// the commonest escapes.
func appendString(b []byte, s string) ([]byte, bool) {
	b = append(b, '"')
	plain := 0 // from where on nothing is appended yet
	for i := range len(s) {
		var escape string
		switch c := s[i]; {
		case c == '"':
			escape = `\"`
		case c == '\\':
			escape = `\\`
		case c == '\n':
			escape = `\n`
		case c == '\t':
			escape = `\t`
		case c < 0x20 || c >= utf8.RuneSelf:
			return nil, false
		default:
			continue
		}
		b = append(append(b, s[plain:i]...), escape...)
		plain = i + 1
	}
	return append(append(b, s[plain:]...), '"'), true
}
