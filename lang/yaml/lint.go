package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// The rules of Lint.
var (
	ambiguousBoolean = lang.Rule{Code: "AmbiguousBoolean", Text: "a plain yes, no, on, off, y or n: a boolean to YAML 1.1, text to YAML 1.2"}
	octalNumber      = lang.Rule{Code: "OctalNumber", Text: "a plain number with a leading 0 or 0o: octal to some readers of YAML, decimal or text to others"}
	sexagesimal      = lang.Rule{Code: "SexagesimalNumber", Text: "plain digits with colons such as 12:30: a number in base 60 to YAML 1.1, text to YAML 1.2"}
	underscoreNumber = lang.Rule{Code: "UnderscoreNumber", Text: "a plain number with underscores: a number to YAML 1.1, text to YAML 1.2"}
	lostDigits       = lang.Rule{Code: "LostDigits", Text: "a plain number that ends in a zero after the point: version 1.10 becomes 1.1"}
	duplicateAnchor  = lang.Rule{Code: "DuplicateAnchor", Text: "an anchor that is defined twice in one document: what an alias means depends on where it is"}
	unusedAnchor     = lang.Rule{Code: "UnusedAnchor", Text: "an anchor that no alias names"}
	tabIndent        = lang.Rule{Code: "TabIndent", Text: "a tab in the indentation"}
)

// Rules lists what Lint looks for.
func Rules() []lang.Rule {
	return []lang.Rule{ambiguousBoolean, octalNumber, sexagesimal, underscoreNumber, lostDigits, duplicateAnchor, unusedAnchor, tabIndent}
}

// Lint finds what is not wrong in a YAML file and likely to become so: text that
// readers of YAML do not agree about, anchors without use, tabs. The error, a
// diag.List, says why the file is no YAML. A file whose name ends in .json has
// none of these.
func Lint(file string, data []byte) (found diag.List, err error) {
	// The YAML parser has panicked on crafted input before.
	defer func() {
		if r := recover(); r != nil {
			found, err = nil, diag.Errorf(diag.Position{File: file}, "YAML000", "the YAML parser failed: %v", r)
		}
	}()
	if _, err := Parse(file, data); err != nil || path.Ext(file) == ".json" {
		return nil, err
	}
	l := linter{converter: newConverter(file, data), anchors: map[string]*anchor{}}
	decoder := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, l.syntax(err)
		}
		l.node(&document)
		l.endDocument()
	}
	l.tabs()
	return diag.From(l.found.Err()), nil
}

// linter walks the nodes of one file.
type linter struct {
	*converter
	// anchors are those of the document, by name; all is the order they came in.
	anchors map[string]*anchor
	all     []*anchor
	found   diag.List
	// starts are the lines on which nodes start, in order; text says of those
	// whose scalars may go on below that they do.
	starts []start
}

type start struct {
	line int
	text bool
}

type anchor struct {
	node *yaml.Node
	used bool
}

func (l *linter) report(n *yaml.Node, rule lang.Rule, message, hint string, notes ...diag.Note) {
	l.found = append(l.found, diag.Diagnostic{Code: rule.Code, Pos: l.position(n), Message: message, Hint: hint, Notes: notes})
}

func (l *linter) node(n *yaml.Node) {
	if n.Anchor != "" {
		if first, ok := l.anchors[n.Anchor]; ok {
			l.report(n, duplicateAnchor, "anchor &"+n.Anchor+" is defined twice", "give it a name of its own", diag.Note{Pos: l.position(first.node), Text: "the first"})
		}
		a := &anchor{node: n}
		l.anchors[n.Anchor] = a
		l.all = append(l.all, a)
	}
	if n.Kind == yaml.AliasNode {
		if a := l.anchors[n.Value]; a != nil {
			a.used = true
		}
		return // what it stands for was looked at where it is
	}
	if n.Kind == yaml.ScalarNode {
		l.scalarNode(n)
	}
	for _, child := range n.Content {
		l.node(child)
	}
}

func (l *linter) endDocument() {
	for _, a := range l.all {
		if !a.used {
			l.report(a.node, unusedAnchor, "no alias names the anchor &"+a.node.Anchor, "remove the anchor")
		}
	}
	l.all = nil
	clear(l.anchors)
}

var (
	booleanText     = regexp.MustCompile(`^(y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF)$`)
	octalText       = regexp.MustCompile(`^[-+]?0o?[0-9_]+$`)
	sexagesimalText = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)
	underscoreText  = regexp.MustCompile(`^[-+]?[0-9]+(_+[0-9]+)+(\.[0-9_]*)?$`)
	zeroEndText     = regexp.MustCompile(`^[-+]?[0-9]+\.[0-9]*[1-9]0+$`)
)

func (l *linter) scalarNode(n *yaml.Node) {
	quoted := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0
	block := n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	l.starts = append(l.starts, start{n.Line, quoted || block})
	if quoted || block || n.Style&yaml.TaggedStyle != 0 {
		return
	}
	quote := fmt.Sprintf("quote it, %q, if it is text", n.Value)
	switch v := n.Value; {
	case booleanText.MatchString(v):
		means := "true"
		if strings.ContainsAny(v[:1], "nN") || strings.EqualFold(v, "off") {
			means = "false"
		}
		l.report(n, ambiguousBoolean, fmt.Sprintf("%s is the boolean %s to readers of YAML 1.1, and text to others", v, means), "write "+means+", or quote it: "+fmt.Sprintf("%q", v))
	case octalText.MatchString(v) && strings.Trim(v, "+-0") != "":
		l.report(n, octalNumber, v+" is octal to some readers of YAML and not to others", "write the number in decimal, or "+quote)
	case sexagesimalText.MatchString(v):
		l.report(n, sexagesimal, v+" is a number in base 60 to readers of YAML 1.1, and text to others", quote)
	case underscoreText.MatchString(v):
		l.report(n, underscoreNumber, v+" is a number to readers of YAML 1.1, and text to others", "leave out the underscores, or "+quote)
	case zeroEndText.MatchString(v):
		l.report(n, lostDigits, v+" is a number, and the same as "+strings.TrimRight(v, "0"), "leave out the zero, or "+quote)
	}
}

// tabs looks for tabs in the indentation of lines that are not part of a text
// that goes over several lines.
func (l *linter) tabs() {
	inside := make([]bool, len(l.lines)+2)
	for i, s := range l.starts {
		end := len(l.lines) + 1
		if i+1 < len(l.starts) {
			end = l.starts[i+1].line
		}
		for line := s.line + 1; s.text && line < end && line < len(inside); line++ {
			inside[line] = true
		}
	}
	for i, line := range l.lines {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		at := strings.IndexByte(indent, '\t')
		if at < 0 || inside[i+1] || strings.TrimSpace(line) == "" {
			continue
		}
		l.found = append(l.found, diag.Diagnostic{
			Code: tabIndent.Code, Pos: diag.Position{File: l.file, Line: i + 1, Column: at + 1},
			Message: "a tab is in the indentation", Hint: "indent with spaces; how wide a tab is, readers do not agree",
		})
	}
}
