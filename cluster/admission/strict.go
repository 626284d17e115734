package admission

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// Strict reports fields that k does not have (with the field probably meant)
// and values of the wrong JSON type, for the whole document.
func Strict(k api.Kind, o object.Object) []Problem { return StrictTree(k, o.Tree()) }

// StrictTree is Strict for a decoded document whose numbers are json.Number
// (see object.Unmarshal). Use it before object.Parse, which stops at the first
// label that is not a string.
func StrictTree(k api.Kind, tree map[string]any) []Problem {
	c := checker{kind: k.Kind}
	c.value(schemaOf(reflect.TypeOf(k.New())), "", "", tree)
	return c.problems
}

// StrictJSON is StrictTree for a document as text; it also reports duplicate
// keys, of which decoding keeps only the last.
func StrictJSON(k api.Kind, b []byte) []Problem {
	v, err := object.Unmarshal(b)
	if err != nil {
		return []Problem{{Code: api.CodeInvalid, Message: "not JSON: " + err.Error()}}
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return []Problem{{Code: api.CodeType, Message: "must be an object, not " + describe(v)}}
	}
	return append(duplicateKeys(b), StrictTree(k, tree)...)
}

// maxProblems bounds what is reported of one document.
const maxProblems = 100

type checker struct {
	kind     string
	problems []Problem
}

func (c *checker) add(code, path, message, hint string) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, Problem{Code: code, Path: path, Message: message, Hint: hint})
	}
}

// value checks v at path. name is the nearest field's name, which decides how
// messages speak of the value.
func (c *checker) value(s *schema, path, name string, v any) {
	if v == nil { // null means absent
		return
	}
	switch s.shape {
	case anything:
	case record:
		if m, ok := v.(map[string]any); ok {
			c.record(s, path, m)
		} else {
			c.wrong(path, "an object", v, "")
		}
	case dict:
		m, ok := v.(map[string]any)
		if !ok {
			c.wrong(path, "an object", v, "")
			return
		}
		for _, key := range slices.Sorted(maps.Keys(m)) {
			c.value(s.elem, api.FieldPath(path, key), name, m[key])
		}
	case list:
		c.list(s, path, name, v)
	default:
		c.scalar(s, path, name, v)
	}
}

func (c *checker) record(s *schema, path string, m map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		f, ok := s.fields[key]
		if !ok {
			c.unknown(s, path, key)
			continue
		}
		c.value(f, api.FieldPath(path, key), key, m[key])
	}
}

func (c *checker) list(s *schema, path, name string, v any) {
	items, ok := v.([]any)
	if !ok {
		hint := ""
		if s.elem.shape != record || isObject(v) {
			hint = "put it in a list: [ ]"
		}
		c.wrong(path, "a list", v, hint)
		return
	}
	for i, item := range items {
		if item == nil {
			c.add(api.CodeType, api.IndexPath(path, i), "null is not allowed in a list", "remove it")
			continue
		}
		c.value(s.elem, api.IndexPath(path, i), name, item)
	}
}

func (c *checker) unknown(s *schema, path, key string) {
	owner := "the document"
	switch {
	case path == "":
		owner = "a " + c.kind
	default:
		owner = path[strings.LastIndexAny(path, ".")+1:]
		owner, _, _ = strings.Cut(owner, "[")
	}
	hint := ""
	if near := api.Nearest(key, s.names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	} else if len(s.names) <= 8 {
		hint = "it has: " + strings.Join(s.names, ", ")
	}
	c.add(api.CodeUnknownField, api.FieldPath(path, key), fmt.Sprintf("%s has no field %q", owner, key), hint)
}

// wrong reports a value of the wrong JSON type.
func (c *checker) wrong(path, want string, v any, hint string) {
	c.add(api.CodeType, path, fmt.Sprintf("must be %s, not %s", want, describe(v)), hint)
}

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
			hint = "write true, without quotes"
		case "false", "no", "off":
			hint = "write false, without quotes"
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
				hint = fmt.Sprintf("write %s, without quotes", str)
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
			hint = fmt.Sprintf("write %d", int64(f))
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
			return fmt.Sprintf("write %s%s", digits, u)
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
	c.add(api.CodeType, path, message, fmt.Sprintf("quote it: %q", lit))
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
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	c.add(api.CodeUnsupported, path, fmt.Sprintf("%q is not one of %s", str, strings.Join(allowed, ", ")), hint)
}

func isObject(v any) bool { _, ok := v.(map[string]any); return ok }
func isList(v any) bool   { _, ok := v.([]any); return ok }

// describe names a JSON value's type, and the value where it is short.
func describe(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case bool:
		return "the boolean " + literal(v)
	case string:
		if len(x) > 40 {
			return "a string"
		}
		return fmt.Sprintf("the string %q", x)
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return "the number " + literal(v)
	}
}

func literal(v any) string {
	s := fmt.Sprint(v)
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// duplicateKeys reports members that occur twice in one object. b is valid JSON.
func duplicateKeys(b []byte) []Problem {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	c := checker{}
	if err := c.walk(d, ""); err != nil && !errors.Is(err, io.EOF) {
		c.add(api.CodeInvalid, "", "not JSON: "+err.Error(), "")
	}
	return c.problems
}

func (c *checker) walk(d *json.Decoder, path string) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	switch t {
	case json.Delim('{'):
		seen := map[string]bool{}
		for d.More() {
			t, err := d.Token()
			if err != nil {
				return err
			}
			key := t.(string) // the decoder allows nothing else here
			p := api.FieldPath(path, key)
			if seen[key] {
				c.add(api.CodeDuplicate, p, "the key occurs twice", "remove one")
			}
			seen[key] = true
			if err := c.walk(d, p); err != nil {
				return err
			}
		}
		_, err = d.Token()
	case json.Delim('['):
		for i := 0; d.More(); i++ {
			if err := c.walk(d, api.IndexPath(path, i)); err != nil {
				return err
			}
		}
		_, err = d.Token()
	}
	return err
}
