package yaml

import (
	"encoding/base64"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/writ-dev/writ/lang"
)

// scalar resolves a scalar by its tag, or, when it is plain, by its text.
func (c *converter) scalar(n *yaml.Node) (lang.Kind, string, error) {
	quoted := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	if n.Style&yaml.TaggedStyle != 0 {
		return c.tagged(n)
	}
	if quoted {
		return lang.String, n.Value, nil
	}
	kind, text, ok := resolve(n.Value)
	if !ok {
		return 0, "", c.fail(n, "YAML006", n.Value+" is not a number that JSON can hold", "quote it if it is text")
	}
	return kind, text, nil
}

func (c *converter) tagged(n *yaml.Node) (lang.Kind, string, error) {
	mismatch := func() (lang.Kind, string, error) {
		return 0, "", c.fail(n, "YAML006", strconv.Quote(n.Value)+" is not "+n.ShortTag(), "remove the tag or correct the value")
	}
	tag := n.ShortTag()
	switch tag {
	case "!!str", "!!timestamp":
		return lang.String, n.Value, nil
	case "!!binary":
		data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
		if err != nil || !utf8.Valid(data) {
			return mismatch()
		}
		return lang.String, string(data), nil
	case "!!null", "!!bool", "!!int", "!!float":
		kind, text, ok := resolve(n.Value)
		want := map[string]lang.Kind{"!!null": lang.Null, "!!bool": lang.Bool, "!!int": lang.Number, "!!float": lang.Number}[tag]
		if !ok || kind != want || tag == "!!int" && strings.Contains(text, ".") {
			return mismatch()
		}
		return kind, text, nil
	}
	return 0, "", c.fail(n, "YAML006", "unknown tag "+tag, "remove the tag; JSON has no such type")
}

// float is a decimal number of YAML 1.1, after removal of underscores.
var float = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// resolve gives a plain scalar its type and canonical text, by the rules of
// YAML 1.1 as kubectl applies them. It is false for infinities and NaN.
func resolve(s string) (kind lang.Kind, text string, ok bool) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return lang.Null, "", true
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return lang.Bool, "true", true
	case "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return lang.Bool, "false", true
	}
	switch strings.ToLower(strings.TrimLeft(s, "+-")) {
	case ".inf", ".nan":
		return 0, "", false
	}
	if !strings.ContainsRune("+-.0123456789", rune(s[0])) {
		return lang.String, s, true
	}
	plain := s
	if !strings.HasPrefix(s, "._") {
		plain = strings.ReplaceAll(s, "_", "")
	}
	if text, ok := integer(plain); ok {
		return lang.Number, text, true
	}
	if float.MatchString(plain) {
		// What a float64 cannot hold at all is text to kubectl.
		if _, err := strconv.ParseFloat(plain, 64); err == nil {
			if text, err := lang.CanonicalNumber(plain); err == nil {
				return lang.Number, text, true
			}
		}
	}
	return lang.String, s, true
}

// integer reads decimal, 0x, 0b, 0o and 0-octal integers of 64 bits.
func integer(s string) (string, bool) {
	i, ok := new(big.Int).SetString(s, 0)
	if !ok || !i.IsInt64() && !i.IsUint64() {
		return "", false
	}
	return i.String(), true
}
