package structural

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
)

// maxLiteral bounds how much of a value a message shows, in bytes.
const maxLiteral = 60

// wrong reports a value of the wrong JSON type.
func (c *checker) wrong(path, want string, v any, hint string) {
	c.add(api.CodeType, path, fmt.Sprintf("must be %s, not %s", want, describe(v)), hint)
}

// describe names a JSON value's type, and the value where it is short.
func describe(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprintf("the boolean %t", x)
	case string:
		if len(x) > maxLiteral {
			return "a string"
		}
		return fmt.Sprintf("the string %q", x)
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "the number " + literal(v)
}

// literal is a value as JSON, cut when it is long.
func literal(v any) string {
	var s string
	switch x := v.(type) {
	case json.Number:
		s = string(x)
	case string:
		if len(x) > maxLiteral {
			return fmt.Sprintf("%q…", strings.ToValidUTF8(x[:maxLiteral], ""))
		}
		return fmt.Sprintf("%q", x)
	default:
		b, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		s = string(b)
	}
	if len(s) > maxLiteral {
		return strings.ToValidUTF8(s[:maxLiteral], "") + "…"
	}
	return s
}

// literals are values as JSON; strings without quotes. The empty string, which
// stands for no value, is left out.
func literals(values []any) []string {
	var out []string
	for _, v := range values {
		switch s, ok := v.(string); {
		case !ok:
			out = append(out, literal(v))
		case s != "":
			out = append(out, s)
		}
	}
	return out
}

func plainTexts(values []any) []string {
	var out []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// joinOr joins words: "a, b or c".
func joinOr(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
