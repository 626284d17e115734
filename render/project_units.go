package render

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// whole checks what concerns several parts of a project file.
func (r *projectReader) whole() {
	given := func(where string, inputs map[string]string, image Image) {
		if _, ok := inputs[image.Input()]; ok {
			r.fail(image.Pos, ".images."+image.Name, "input "+image.Input()+" is given under "+where+" as well", "remove one of the two")
		}
	}
	for _, image := range r.p.Images {
		given("inputs", r.p.Inputs, image)
		for _, e := range r.p.Environments {
			given("environments."+e.Name+".inputs", e.Inputs, image)
		}
	}
	if len(r.p.Units) > 0 && r.p.Entry != "." {
		r.fail(r.p.Units[0].Pos, ".units", "the project has an entry as well", "move the entry to a unit of its own")
	}
}

func (r *projectReader) unit(name string, n *yaml.Node) {
	at := ".units." + name
	u := Unit{Name: name, Pos: nodePos(n)}
	if !projectName.MatchString(name) {
		r.fail(nodePos(n), at, "a unit's name is lower-case letters, digits and '-'", "")
		return
	}
	if resolved(n).Kind == yaml.ScalarNode {
		u.Entry = r.path(n, at)
		r.p.Units = append(r.p.Units, u)
		return
	}
	r.fields(n, at, []string{"entry", "namespace", "inputs"}, func(key string, v *yaml.Node) {
		switch key {
		case "entry":
			u.Entry = r.path(v, at+".entry")
		case "namespace":
			u.Namespace = r.name(v, at+".namespace")
		case "inputs":
			u.Inputs, u.InputPos, u.Code = r.inputs(v, at+".inputs")
		}
	})
	if u.Entry == "" && len(r.errs) == 0 {
		r.fail(nodePos(n), at, "says not what to evaluate", "add entry: with a file or directory")
	}
	if _, err := path.Match(u.Entry, ""); err != nil {
		r.fail(nodePos(n), at+".entry", fmt.Sprintf("%q is no pattern", u.Entry), "a pattern has *, ? and [a-z]")
	}
	r.p.Units = append(r.p.Units, u)
}

func (r *projectReader) environment(name string, n *yaml.Node) {
	at := ".environments." + name
	e := Environment{Name: name, Pos: nodePos(n)}
	if !projectName.MatchString(name) || name == allEnvironments {
		r.fail(nodePos(n), at, "an environment's name is lower-case letters, digits and '-', and not \"all\"", "")
		return
	}
	if resolved(n).Tag != "!!null" {
		r.fields(n, at, []string{"namespace", "inputs", "units"}, func(key string, v *yaml.Node) {
			switch key {
			case "namespace":
				e.Namespace = r.name(v, at+".namespace")
			case "inputs":
				e.Inputs, e.InputPos, e.Code = r.inputs(v, at+".inputs")
			case "units":
				for i, item := range r.items(v, at+".units") {
					e.Units = append(e.Units, r.text(item, fmt.Sprintf("%s.units[%d]", at, i)))
				}
			}
		})
	}
	r.p.Environments = append(r.p.Environments, e)
}

func (r *projectReader) limits(n *yaml.Node) {
	r.fields(n, ".limits", []string{"time", "memory", "stack"}, func(key string, v *yaml.Node) {
		text := r.text(v, ".limits."+key)
		var err error
		switch key {
		case "time":
			r.p.Limits.Time, err = time.ParseDuration(text)
			if err == nil && r.p.Limits.Time <= 0 {
				err = fmt.Errorf("%q is not positive", text)
			}
		case "memory":
			r.p.Limits.Memory, err = ParseSize(text)
		case "stack":
			r.p.Limits.Stack, err = ParseStack(text)
		}
		if err != nil {
			r.fail(nodePos(v), ".limits."+key, err.Error(), "such as time: 30s, memory: 1GiB, stack: 1000")
		}
	})
}

// maxStack bounds what a stack limit may be: more would not fit into memory.
const maxStack = 100_000

// ParseStack reads a number of calls.
func ParseStack(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxStack {
		return 0, fmt.Errorf("%q is no number of calls from 1 to %d", text, maxStack)
	}
	return n, nil
}

// ParseSize reads a number of bytes such as 512MiB, 2GiB or 1000000.
func ParseSize(text string) (int64, error) {
	digits, shift := text, 0
	for unit, bits := range map[string]int{"KiB": 10, "MiB": 20, "GiB": 30} {
		if d, ok := strings.CutSuffix(text, unit); ok {
			digits, shift = d, bits
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || n <= 0 || n > 1<<40>>shift {
		return 0, fmt.Errorf("%q is no size: a whole number of bytes, KiB, MiB or GiB", text)
	}
	return n << shift, nil
}

// inputs reads inputs by name: text, or {code: EXPRESSION} of Jsonnet.
func (r *projectReader) inputs(n *yaml.Node, at string) (inputs map[string]string, pos map[string]diag.Position, code []string) {
	inputs, pos = map[string]string{}, map[string]diag.Position{}
	r.fields(n, at, nil, func(key string, v *yaml.Node) {
		at := at + "." + key
		pos[key] = nodePos(v)
		if resolved(v).Kind != yaml.MappingNode {
			inputs[key] = r.text(v, at)
			return
		}
		r.fields(v, at, []string{"code"}, func(_ string, v *yaml.Node) {
			inputs[key], code = r.text(v, at+".code"), append(code, key)
		})
		if _, ok := inputs[key]; !ok {
			r.fail(nodePos(v), at, "has no value", "write text, or code: with an expression of Jsonnet")
		}
	})
	return inputs, pos, code
}

func (r *projectReader) items(n *yaml.Node, at string) []*yaml.Node {
	n = resolved(n)
	if n.Kind != yaml.SequenceNode {
		r.fail(nodePos(n), at, "must be a list", "")
		return nil
	}
	return n.Content
}

func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// isProgram reports whether a match of a unit's pattern is a unit: a directory
// or a file in one of the languages. Files of tests, and directories of what
// they compare with, are none.
func isProgram(name string, isDir bool) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return false
	}
	if isDir {
		return !strings.HasSuffix(name, lang.SnapshotsSuffix) && name != "testdata"
	}
	base := strings.TrimSuffix(name, path.Ext(name))
	if strings.HasSuffix(base, "_test") || name == ProjectFile {
		return false
	}
	_, err := detectFile(name)
	return err == nil
}
