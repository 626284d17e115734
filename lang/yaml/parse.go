package yaml

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// maxAliased bounds the nodes that the aliases of one file expand to.
const maxAliased = 100_000

// converter turns the nodes of one file into values.
type converter struct {
	file  string
	lines []string
	// aliased counts the nodes made while inside is positive, which is how
	// many aliases are being expanded.
	aliased, inside int
}

func parseYAML(file string, data []byte) ([]lang.Value, error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if i := invalid(data); i >= 0 {
		line := 1 + bytes.Count(data[:i], []byte("\n"))
		column := i - bytes.LastIndexByte(data[:i], '\n')
		return nil, diag.List{{
			Code: "YAML002", Pos: diag.Position{File: file, Line: line, Column: column},
			Message: "invalid UTF-8", Hint: "save the file as UTF-8",
		}}
	}
	c := newConverter(file, data)
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var documents []lang.Value
	for {
		var node yaml.Node
		if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
			return documents, nil
		} else if err != nil {
			return nil, c.syntax(err)
		}
		v, err := c.value(&node, 0)
		if err != nil {
			return nil, err
		}
		if v.Kind != lang.Null {
			documents = append(documents, v)
		}
	}
}

func invalid(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

var lineOf = regexp.MustCompile(`^yaml: line (\d+): `)

// anchorOf matches the one error of the parser that never has a line.
var anchorOf = regexp.MustCompile(`unknown anchor '(.+)' referenced`)

// find is the position of the first occurrence of a text.
func (c *converter) find(text string) diag.Position {
	for i, line := range c.lines {
		if at := strings.Index(line, text); at >= 0 {
			return diag.Position{File: c.file, Line: i + 1, Column: at + 1}
		}
	}
	return diag.Position{File: c.file}
}

// syntax makes a diagnostic of the parser's error, whose text holds the line.
func (c *converter) syntax(err error) error {
	text := err.Error()
	// The parser leaves out the line when it is the first one.
	d := diag.Diagnostic{Code: "YAML003", Pos: diag.Position{File: c.file, Line: 1}}
	if m := lineOf.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		d.Pos.Line, _ = strconv.Atoi(m[1])
	}
	d.Message = strings.TrimPrefix(text, "yaml: ")
	if m := anchorOf.FindStringSubmatch(text); m != nil {
		d.Pos = c.find("*" + m[1])
		d.Hint = "define the anchor &" + m[1] + " above it in the same document"
	}
	switch {
	case strings.Contains(text, "cannot start any token") && d.Pos.Line > 0 && d.Pos.Line <= len(c.lines) && strings.Contains(c.lines[d.Pos.Line-1], "\t"):
		d.Hint = "indent with spaces, not tabs"
	case strings.Contains(text, "mapping values are not allowed"):
		d.Hint = "quote a value that contains \": \", and check the indentation"
	}
	return diag.List{d}
}

// position converts the parser's column, which counts characters, to bytes.
func (c *converter) position(n *yaml.Node) diag.Position {
	p := diag.Position{File: c.file, Line: n.Line, Column: n.Column}
	if n.Line < 1 || n.Line > len(c.lines) {
		return p
	}
	line, column := c.lines[n.Line-1], 0
	for range n.Column - 1 {
		_, size := utf8.DecodeRuneInString(line[column:])
		column += size
	}
	p.Column = column + 1
	return p
}

func (c *converter) fail(n *yaml.Node, code, message, hint string) error {
	return diag.List{{Code: code, Pos: c.position(n), Message: message, Hint: hint}}
}

func (c *converter) value(n *yaml.Node, depth int) (lang.Value, error) {
	if depth > lang.MaxDepth {
		return lang.Value{}, c.fail(n, "YAML004", "lists and mappings nest deeper than "+strconv.Itoa(lang.MaxDepth), "")
	}
	if c.inside > 0 {
		if c.aliased++; c.aliased > maxAliased {
			return lang.Value{}, c.fail(n, "YAML004", "the aliases of this file expand to more than "+strconv.Itoa(maxAliased)+" values", "write the values out, or use CUE or Jsonnet")
		}
	}
	v := lang.Value{Pos: c.position(n)}
	var err error
	switch n.Kind {
	case yaml.DocumentNode:
		return c.value(n.Content[0], depth)
	case yaml.AliasNode:
		c.inside++
		defer func() { c.inside-- }()
		return c.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		if err := c.collectionTag(n, "!!seq"); err != nil {
			return v, err
		}
		v.Kind, v.Items = lang.List, make([]lang.Value, 0, len(n.Content))
		for _, child := range n.Content {
			item, err := c.value(child, depth+1)
			if err != nil {
				return v, err
			}
			v.Items = append(v.Items, item)
		}
	case yaml.MappingNode:
		if err := c.collectionTag(n, "!!map"); err != nil {
			return v, err
		}
		v.Kind = lang.Object
		v.Fields, err = c.mapping(n, depth)
	case yaml.ScalarNode:
		v.Kind, v.Text, err = c.scalar(n)
	}
	return v, err
}

func (c *converter) collectionTag(n *yaml.Node, want string) error {
	if n.Style&yaml.TaggedStyle == 0 || n.ShortTag() == want {
		return nil
	}
	return c.fail(n, "YAML006", "unknown tag "+n.ShortTag(), "remove the tag; JSON has no such type")
}

func (c *converter) mapping(n *yaml.Node, depth int) ([]lang.Field, error) {
	fields := []lang.Field{}
	at := map[string]diag.Position{}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			merged = append(merged, value)
			continue
		}
		name, err := c.key(key)
		if err != nil {
			return nil, err
		}
		f := lang.Field{Name: name, Pos: c.position(key)}
		if first, ok := at[name]; ok {
			return nil, lang.Duplicate(f, first)
		}
		at[name] = f.Pos
		if f.Value, err = c.value(value, depth+1); err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	for _, m := range merged {
		more, err := c.merge(m, depth)
		if err != nil {
			return nil, err
		}
		for _, f := range more {
			if _, ok := at[f.Name]; !ok {
				at[f.Name] = f.Pos
				fields = append(fields, f)
			}
		}
	}
	lang.SortFields(fields)
	return fields, nil
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" &&
		(key.ShortTag() == "!!merge" || key.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.TaggedStyle) == 0)
}

// merge is the members that a "<<" brings in; of a list the first one wins.
func (c *converter) merge(n *yaml.Node, depth int) ([]lang.Field, error) {
	target := n
	if n.Kind == yaml.AliasNode {
		target = n.Alias
	}
	switch target.Kind {
	case yaml.MappingNode:
		v, err := c.value(n, depth+1)
		return v.Fields, err
	case yaml.SequenceNode:
		var fields []lang.Field
		seen := map[string]bool{}
		for _, child := range target.Content {
			if inner := child; inner.Kind == yaml.SequenceNode || inner.Kind == yaml.AliasNode && inner.Alias.Kind == yaml.SequenceNode {
				break
			}
			more, err := c.merge(child, depth+1)
			if err != nil {
				return nil, err
			}
			for _, f := range more {
				if !seen[f.Name] {
					seen[f.Name] = true
					fields = append(fields, f)
				}
			}
		}
		return fields, nil
	}
	return nil, c.fail(n, "YAML005", "\"<<\" merges a mapping or a list of mappings", "")
}

// key is a mapping's key as it is written, whatever it would be as a value.
func (c *converter) key(n *yaml.Node) (string, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		return "", c.fail(n, "YAML005", "a key is text, not a list or a mapping", "quote the key")
	}
	return n.Value, nil
}
