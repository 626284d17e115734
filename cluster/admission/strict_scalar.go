package admission

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
)

func (c *checker) scalar(s *schema, path, name string, v any) {
	switch s.shape {
	case boolean:
		c.boolean(path, v)
	case integer, unsigned, number:
		c.number(s, path, v)
	case intOrText:
		if _, ok := v.(string); ok {
			return
		}
		if _, ok := v.(json.Number); !ok {
			c.wrong(path, "a number or a string", v, "")
			return
		}
		c.number(&schema{shape: integer, bits: 32}, path, v)
	case portName:
		c.portName(path, v)
	case quantity:
		c.quantity(path, v)
	default:
		str, ok := v.(string)
		if !ok {
			c.notText(path, name, v)
			return
		}
		c.formatted(s, path, str)
	}
}

func (c *checker) boolean(path string, v any) {
	if _, ok := v.(bool); ok {
		return
	}
	hint := ""
	if str, ok := v.(string); ok {
		switch strings.ToLower(str) {
		case "true", "yes", "on":
			hint = api.WithoutQuotes("true")
		case "false", "no", "off":
			hint = api.WithoutQuotes("false")
		}
	}
	c.wrong(path, "true or false", v, hint)
}

func (c *checker) number(s *schema, path string, v any) {
	n, ok := v.(json.Number)
	if !ok {
		hint := ""
		if str, ok := v.(string); ok {
			if _, err := strconv.ParseInt(str, 10, 64); err == nil {
				hint = api.WithoutQuotes(str)
			}
		}
		c.wrong(path, "a number", v, hint)
		return
	}
	var err error
	switch s.shape {
	case integer:
		_, err = strconv.ParseInt(n.String(), 10, s.bits)
	case unsigned:
		_, err = strconv.ParseUint(n.String(), 10, s.bits)
	case number:
		_, err = strconv.ParseFloat(n.String(), 64)
	}
	switch {
	case err == nil:
	case errors.Is(err, strconv.ErrRange):
		c.add(api.CodeInvalid, path, fmt.Sprintf("%s does not fit: the number must have at most %d bits", n, s.bits), "")
	case s.shape == unsigned && strings.HasPrefix(n.String(), "-"):
		c.add(api.CodeInvalid, path, fmt.Sprintf("must not be negative, but is %s", n), "")
	default:
		hint := ""
		if f, err := n.Float64(); err == nil && f == float64(int64(f)) && f < 1<<53 && f > -1<<53 {
			hint = api.WriteInstead(strconv.FormatInt(int64(f), 10))
		}
		c.add(api.CodeType, path, fmt.Sprintf("must be a whole number, not %s", n), hint)
	}
}

func (c *checker) portName(path string, v any) {
	switch p := v.(type) {
	case string:
	case json.Number:
		if _, err := strconv.ParseUint(p.String(), 10, 16); err != nil {
			c.add(api.CodeInvalid, path, fmt.Sprintf("%s is not a port number", p), "use 1 to 65535, or a port's name")
		}
	default:
		c.wrong(path, "a port's name or number", v, "")
	}
}

func (c *checker) quantity(path string, v any) {
	var str string
	switch q := v.(type) {
	case string:
		str = q
	case json.Number:
		str = q.String()
	default:
		c.wrong(path, "a quantity such as 500m, 2 or 128Mi", v, "")
		return
	}
	if _, err := resource.ParseQuantity(str); err != nil {
		c.add(api.CodeInvalid, path, fmt.Sprintf("%q is not a quantity", str), quantityHint(str))
	}
}

// quantityHint mends the usual slips: 128MB, 1 Gi, 512mi, 2gb.
func quantityHint(s string) string {
	digits := strings.TrimRight(s, " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit := strings.ToLower(strings.TrimSpace(s[len(digits):]))
	units := map[string]string{
		"k": "k", "kb": "k", "mb": "M", "gb": "G", "tb": "T", "g": "G", "t": "T",
		"ki": "Ki", "mi": "Mi", "gi": "Gi", "ti": "Ti", "kib": "Ki", "mib": "Mi", "gib": "Gi", "tib": "Ti",
	}
	if u, ok := units[unit]; ok {
		if _, err := resource.ParseQuantity(digits + u); err == nil {
			return api.WriteInstead(digits + u)
		}
	}
	return "write a number with a unit, such as 500m, 2, 128Mi or 1Gi"
}

// notText reports v where a string belongs. Most such mistakes are YAML's: a
// bare yes, 1.10 or 8080.
func (c *checker) notText(path, name string, v any) {
	if isObject(v) || isList(v) {
		c.wrong(path, "a string", v, "")
		return
	}
	lit := literal(v)
	message := fmt.Sprintf("must be a string, not %s", describe(v))
	if noun, ok := textNouns[name]; ok {
		kind := "a number"
		if _, ok := v.(bool); ok {
			kind = "a boolean"
		}
		message = fmt.Sprintf("%s is %s, and %s are strings", lit, kind, noun)
	}
	c.add(api.CodeType, path, message, api.QuoteIt(lit))
}

// textNouns are fields whose values people often forget to quote.
var textNouns = map[string]string{
	"labels": "labels", "matchLabels": "labels", "selector": "labels", "nodeSelector": "labels",
	"annotations": "annotations", "value": "values", "data": "values", "stringData": "values",
	"args": "arguments", "command": "arguments",
}

// formatted checks strings with a format.
func (c *checker) formatted(s *schema, path, str string) {
	bad := func(hint string) { c.add(api.CodeInvalid, path, fmt.Sprintf("%q is not %s", str, hint), "") }
	switch s.shape {
	case base64Text:
		if _, err := base64.StdEncoding.DecodeString(str); err != nil {
			c.add(api.CodeInvalid, path, "must be base64", "encode it, or put the plain text in stringData")
		}
	case timestamp:
		if _, err := time.Parse(time.RFC3339, str); err != nil {
			bad("a time such as 2026-01-31T12:00:00Z")
		}
	case microTimestamp:
		if _, err := time.Parse(metav1.RFC3339Micro, str); err != nil {
			bad("a time such as 2026-01-31T12:00:00.000000Z")
		}
	case duration:
		if _, err := time.ParseDuration(str); err != nil {
			bad("a duration such as 30s or 5m")
		}
	case text:
		c.enum(s, path, str)
	}
}

func (c *checker) enum(s *schema, path, str string) {
	allowed := enums[s.typ]
	if allowed == nil || str == "" || slices.Contains(allowed, str) {
		return
	}
	hint := ""
	if near := api.Nearest(str, allowed); near != "" {
		hint = api.DidYouMean(near)
	}
	c.add(api.CodeUnsupported, path, fmt.Sprintf("%q is not one of %s", str, strings.Join(allowed, ", ")), hint)
}
