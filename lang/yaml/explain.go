package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-dev/writ/lang"
)

// source is a file of a program, and how many documents of the program's value
// are before its own.
type source struct {
	name  string
	data  []byte
	first int
}

// explain tells how the value at each path came to be. Value is the program's.
func explain(paths []string, value lang.Value, sources []source) []lang.Explanation {
	var all []lang.Explanation
	for _, p := range paths[:min(len(paths), lang.MaxExplain)] {
		steps, err := explainPath(p, value, sources)
		e := lang.Explanation{Path: p, Steps: steps}
		if err != nil {
			e.Gap = err.Error()
		}
		all = append(all, e)
	}
	return all
}

func explainPath(at string, value lang.Value, sources []source) ([]lang.Step, error) {
	elements, ok := lang.SplitPath(at)
	part, has := value.At(at)
	if !ok || !has || len(elements) == 0 || len(sources) == 0 {
		return nil, fmt.Errorf("there is no value at %q", at)
	}
	in := sources[0]
	for _, s := range sources {
		if s.first <= elements[0].Index {
			in = s
		}
	}
	t := tracer{converter: newConverter(in.name, in.data)}
	if path.Ext(in.name) == ".json" {
		t.found(elements[len(elements)-1], part, 0)
		return t.steps, nil
	}
	document, err := t.document(in.data, elements[0].Index-in.first)
	if err != nil {
		return nil, err
	}
	t.walk(document, elements[1:], elements[0], 0)
	return t.steps, t.gap
}

// tracer follows a path through the nodes of a file.
type tracer struct {
	*converter
	steps []lang.Step
	gap   error
}

// document is the n-th of a file that is not empty.
func (t *tracer) document(data []byte, n int) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
	for {
		var node yaml.Node
		if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
			return nil, errors.New("the file has fewer documents than before")
		} else if err != nil {
			return nil, t.syntax(err)
		}
		v, err := t.value(&node, 0)
		switch {
		case err != nil:
			return nil, err
		case v.Kind == lang.Null:
		case n == 0:
			return &node, nil
		default:
			n--
		}
	}
}

// step adds a step, with the value at the rest of the path in the node n.
func (t *tracer) step(s lang.Step, n *yaml.Node, rest []lang.Element) {
	if len(t.steps) >= lang.MaxExplainSteps {
		t.gap = errors.New("there are more steps than are shown")
		return
	}
	t.aliased = 0
	if v, err := t.value(n, 0); err == nil {
		if inner, ok := v.Inside(rest); ok {
			s.Show(inner)
		} else if s.Effect == lang.Overridden {
			s.Show(v)
		}
	}
	t.steps = append(t.steps, s)
}

// found adds the step of a value that was written at v.Pos as the element e.
func (t *tracer) found(e lang.Element, v lang.Value, depth int) {
	s := lang.Step{Depth: depth, Kind: lang.StepElement, Effect: lang.Gives, Pos: v.Pos}
	if e.Index < 0 {
		s.Kind, s.Name = lang.StepField, e.Name
	}
	s.Show(v)
	t.steps = append(t.steps, s)
}

// walk follows rest into the node n, which is the element last of what it is
// in.
func (t *tracer) walk(n *yaml.Node, rest []lang.Element, last lang.Element, depth int) {
	if depth > 2*lang.MaxDepth || t.gap != nil {
		return
	}
	if n.Kind == yaml.DocumentNode {
		n = n.Content[0]
	}
	if n.Kind == yaml.AliasNode {
		t.step(lang.Step{Depth: depth, Kind: lang.StepAlias, Effect: lang.Gives, Pos: t.position(n), Name: n.Value}, n, rest)
		t.step(lang.Step{Depth: depth + 1, Kind: lang.StepAnchor, Effect: lang.Gives, Pos: t.position(n.Alias), Name: n.Value}, n.Alias, rest)
		if len(rest) > 0 {
			t.walk(n.Alias, rest, last, depth+2)
		}
		return
	}
	if len(rest) == 0 {
		t.aliased = 0
		if v, err := t.value(n, 0); err == nil {
			t.found(last, v, depth)
		}
		return
	}
	switch e := rest[0]; {
	case n.Kind == yaml.SequenceNode && e.Index >= 0 && e.Index < len(n.Content):
		t.walk(n.Content[e.Index], rest[1:], e, depth)
	case n.Kind == yaml.MappingNode && e.Index < 0:
		t.member(n, rest, depth)
	}
}

// candidate is a value that a mapping has, or merges, for a name.
type candidate struct {
	value *yaml.Node
	// merge is the mapping, or alias of one, that has it; nil when it is
	// written in place.
	merge *yaml.Node
}

// member follows the member rest[0] of a mapping. The first candidate wins.
func (t *tracer) member(n *yaml.Node, rest []lang.Element, depth int) {
	for i, c := range t.candidates(n, rest[0].Name) {
		switch {
		case i == 0 && c.merge == nil:
			t.walk(c.value, rest[1:], rest[0], depth)
		case i == 0:
			t.step(t.mergeStep(c, lang.Gives, depth), c.merge, rest)
			target, inside := c.merge, depth+1
			if target.Kind == yaml.AliasNode {
				target = target.Alias
				t.step(lang.Step{Depth: inside, Kind: lang.StepAnchor, Effect: lang.Gives, Pos: t.position(target), Name: c.merge.Value}, target, rest)
				inside++
			}
			t.walk(target, rest, rest[0], inside)
		default:
			s := t.mergeStep(c, lang.Overridden, depth)
			s.Pos = t.position(c.value)
			if len(rest) > 1 {
				s.Note = "a merge brings in whole members: the other " + rest[0].Name + " replaces all of this one"
			}
			t.step(s, c.value, rest[1:])
		}
	}
}

func (t *tracer) mergeStep(c candidate, effect lang.Effect, depth int) lang.Step {
	s := lang.Step{Depth: depth, Kind: lang.StepMerge, Effect: effect, Pos: t.position(c.merge)}
	if c.merge.Kind == yaml.AliasNode {
		s.Name = c.merge.Value
	}
	return s
}

// candidates are all values that a mapping has for a name, the one that counts
// first.
func (t *tracer) candidates(n *yaml.Node, name string) []candidate {
	var own, merged []candidate
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			merged = append(merged, t.merged(value, name, 0)...)
		} else if k, err := t.key(key); err == nil && k == name {
			own = append(own, candidate{value: value})
		}
	}
	return append(own, merged...)
}

// merged are the candidates of what a "<<" merges: a mapping or several.
func (t *tracer) merged(n *yaml.Node, name string, depth int) []candidate {
	target := n
	if n.Kind == yaml.AliasNode {
		target = n.Alias
	}
	var found []candidate
	switch {
	case depth > 2:
	case target.Kind == yaml.SequenceNode:
		for _, child := range target.Content {
			found = append(found, t.merged(child, name, depth+1)...)
		}
	case target.Kind == yaml.MappingNode:
		if inner := t.candidates(target, name); len(inner) > 0 {
			found = append(found, candidate{value: inner[0].value, merge: n})
		}
	}
	return found
}

func newConverter(file string, data []byte) *converter {
	return &converter{file: file, lines: strings.Split(string(bytes.TrimPrefix(data, []byte("\uFEFF"))), "\n")}
}
