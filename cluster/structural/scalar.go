package structural

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/writ-dev/writ/cluster/api"
)

// scalar checks a value that is to be a string, number or boolean.
func (c *checker) scalar(s *Schema, at place, v any) bool {
	switch {
	case s.Format == "quantity":
		return c.quantity(at, v)
	case s.Format == "port":
		return c.port(at, v)
	case s.Type == Boolean:
		return c.boolean(at, v)
	case s.Type == Integer || s.Type == Number:
		return c.number(s, at, v)
	}
	str, ok := v.(string)
	if !ok {
		c.notText(at, v)
		return false
	}
	if complaint := formatted(s.Format, str); complaint != "" && !at.loose {
		hint := ""
		if s.Format == "byte" {
			hint = "encode it, or put the plain text in stringData"
			if at.name != "data" {
				hint = "encode it"
			}
		}
		c.add(api.CodeInvalid, at.path, complaint, hint)
	}
	return true
}

func (c *checker) boolean(at place, v any) bool {
	if _, ok := v.(bool); ok {
		return true
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
	c.wrong(at.path, "true or false", v, hint)
	return false
}

func (c *checker) number(s *Schema, at place, v any) bool {
	n, ok := v.(json.Number)
	if !ok {
		hint := ""
		if str, ok := v.(string); ok {
			if _, err := strconv.ParseInt(str, 10, 64); err == nil {
				hint = api.WithoutQuotes(str)
			}
		}
		c.wrong(at.path, "a number", v, hint)
		return false
	}
	if s.Type == Number {
		return true
	}
	r, ok := rational(n)
	if !ok || !r.IsInt() {
		c.add(api.CodeType, at.path, fmt.Sprintf("must be a whole number, not %s", literal(n)), "")
		return false
	}
	low, high, bits := integerRange(s.Format)
	switch {
	case low.Sign() == 0 && r.Sign() < 0:
		c.add(api.CodeInvalid, at.path, fmt.Sprintf("must not be negative, but is %s", literal(n)), "")
	case r.Num().Cmp(low) < 0 || r.Num().Cmp(high) > 0:
		c.add(api.CodeInvalid, at.path, fmt.Sprintf("%s does not fit: the number must have at most %d bits", literal(n), bits), "")
	default:
		return true
	}
	return false
}

// integerRange is the least and the greatest integer of a format.
func integerRange(format string) (low, high *big.Int, bits uint) {
	bits, low = 64, new(big.Int)
	switch format {
	case "int32", "uint32":
		bits = 32
	case "uint8":
		bits = 8
	case "uint16":
		bits = 16
	}
	width := bits
	if !strings.HasPrefix(format, "uint") {
		width--
		low = new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), width))
	}
	high = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), width), big.NewInt(1))
	return low, high, bits
}

func (c *checker) intOrString(at place, v any) bool {
	switch n := v.(type) {
	case string:
		return true
	case json.Number:
		return c.number(&Schema{Type: Integer, Format: "int32"}, at, n)
	}
	c.wrong(at.path, "a number or a string", v, "")
	return false
}

func (c *checker) port(at place, v any) bool {
	switch p := v.(type) {
	case string:
		return true
	case json.Number:
		if _, err := strconv.ParseUint(p.String(), 10, 16); err != nil {
			c.add(api.CodeInvalid, at.path, fmt.Sprintf("%s is not a port number", literal(p)), "use 1 to 65535, or a port's name")
			return false
		}
		return true
	}
	c.wrong(at.path, "a port's name or number", v, "")
	return false
}

func (c *checker) quantity(at place, v any) bool {
	var str string
	switch q := v.(type) {
	case string:
		str = q
	case json.Number:
		str = q.String()
	default:
		c.wrong(at.path, "a quantity such as 500m, 2 or 128Mi", v, "")
		return false
	}
	if _, err := resource.ParseQuantity(str); err != nil {
		c.add(api.CodeInvalid, at.path, fmt.Sprintf("%s is not a quantity", literal(str)), quantityHint(str))
		return false
	}
	return true
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
func (c *checker) notText(at place, v any) {
	switch v.(type) {
	case map[string]any, []any:
		c.wrong(at.path, "a string", v, "")
		return
	}
	lit := fmt.Sprint(v)
	if len(lit) > maxLiteral {
		lit = lit[:maxLiteral] + "…"
	}
	message := fmt.Sprintf("must be a string, not %s", describe(v))
	if noun, ok := textNouns[at.name]; ok {
		kind := "a number"
		if _, ok := v.(bool); ok {
			kind = "a boolean"
		}
		message = fmt.Sprintf("%s is %s, and %s are strings", lit, kind, noun)
	}
	c.add(api.CodeType, at.path, message, api.QuoteIt(lit))
}

// textNouns are fields whose values people often forget to quote.
var textNouns = map[string]string{
	"labels": "labels", "matchLabels": "labels", "selector": "labels", "nodeSelector": "labels",
	"annotations": "annotations", "value": "values", "data": "values", "stringData": "values",
	"args": "arguments", "command": "arguments",
}

func (c *checker) enum(s *Schema, at place, v any) {
	if len(s.Enum) == 0 {
		return
	}
	want := canonical(v)
	if slices.ContainsFunc(s.Enum, func(e any) bool { return canonical(e) == want }) {
		return
	}
	allowed := literals(s.Enum)
	hint := ""
	if str, ok := v.(string); ok {
		if near := api.Nearest(str, plainTexts(s.Enum)); near != "" {
			hint = api.DidYouMean(near)
		}
	}
	c.add(api.CodeUnsupported, at.path, fmt.Sprintf("%s is not one of %s", literal(v), strings.Join(allowed, ", ")), hint)
}

// limits checks a value's size and pattern.
func (c *checker) limits(s *Schema, at place, v any) {
	switch x := v.(type) {
	case json.Number:
		c.numberLimits(s, at, x)
	case string:
		n := int64(utf8.RuneCountInString(x))
		c.between(at, "characters", n, s.MinLength, s.MaxLength)
		c.between(at, "bytes", int64(len(x)), nil, s.MaxBytes)
		if s.Pattern != nil && !s.Pattern.MatchString(x) {
			c.add(api.CodeInvalid, at.path, fmt.Sprintf("%s does not match the pattern %s", literal(x), s.Pattern), "")
		}
	case []any:
		c.between(at, "elements", int64(len(x)), s.MinItems, s.MaxItems)
	case map[string]any:
		c.between(at, "members", int64(len(x)), s.MinProperties, s.MaxProperties)
	}
}

func (c *checker) between(at place, what string, n int64, low, high *int64) {
	switch {
	case low != nil && n < *low:
		c.add(api.CodeInvalid, at.path, fmt.Sprintf("has %d %s and must have at least %d", n, what, *low), "")
	case high != nil && n > *high:
		c.add(api.CodeInvalid, at.path, fmt.Sprintf("has %d %s and must have at most %d", n, what, *high), "")
	}
}

func (c *checker) numberLimits(s *Schema, at place, n json.Number) {
	if s.Minimum == nil && s.Maximum == nil && s.MultipleOf == nil {
		return
	}
	r, ok := rational(n)
	if !ok {
		c.add(api.CodeInvalid, at.path, "has too many digits to be compared", "")
		return
	}
	if m := s.Minimum; m != nil {
		switch cmp := r.Cmp(m); {
		case s.ExclusiveMinimum && cmp <= 0:
			c.add(api.CodeInvalid, at.path, fmt.Sprintf("must be more than %s, but is %s", decimal(m), literal(n)), "")
		case cmp < 0:
			c.add(api.CodeInvalid, at.path, fmt.Sprintf("must be at least %s, but is %s", decimal(m), literal(n)), "")
		}
	}
	if m := s.Maximum; m != nil {
		switch cmp := r.Cmp(m); {
		case s.ExclusiveMaximum && cmp >= 0:
			c.add(api.CodeInvalid, at.path, fmt.Sprintf("must be less than %s, but is %s", decimal(m), literal(n)), "")
		case cmp > 0:
			c.add(api.CodeInvalid, at.path, fmt.Sprintf("must be at most %s, but is %s", decimal(m), literal(n)), "")
		}
	}
	if m := s.MultipleOf; m != nil && !new(big.Rat).Quo(r, m).IsInt() {
		c.add(api.CodeInvalid, at.path, fmt.Sprintf("must be a multiple of %s, but is %s", decimal(m), literal(n)), "")
	}
}

// decimal writes a number as people do.
func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.RatString()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}
