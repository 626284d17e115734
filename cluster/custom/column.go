package custom

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/util/jsonpath"

	"github.com/writ-dev/writ/cluster/api"
)

// Column is one that kubectl get shows, besides the name.
type Column struct {
	api.DefinitionColumn
	path *jsonpath.JSONPath
}

// maxCell bounds the text of one cell, in bytes.
const maxCell = 1024

func columns(at string, list []api.DefinitionColumn) ([]Column, []api.Problem) {
	if len(list) == 0 {
		list = []api.DefinitionColumn{{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"}}
	}
	var out []Column
	var problems []api.Problem
	for i, c := range list {
		here := api.IndexPath(at, i)
		p, err := parsePath(c.JSONPath)
		switch {
		case c.Name == "":
			problems = append(problems, api.Problem{Code: api.CodeRequired, Path: here + ".name", Message: "is required"})
		case err != nil:
			problems = append(problems, api.Problem{Code: api.CodeInvalid, Path: here + ".jsonPath", Message: err.Error()})
		}
		switch c.Type {
		case "integer", "number", "string", "boolean", "date":
		default:
			problems = append(problems, api.Problem{Code: api.CodeInvalid, Path: here + ".type", Message: fmt.Sprintf("must be integer, number, string, boolean or date, not %q", c.Type)})
		}
		out = append(out, Column{DefinitionColumn: c, path: p})
	}
	return out, problems
}

func parsePath(text string) (*jsonpath.JSONPath, error) {
	if !strings.HasPrefix(text, ".") {
		return nil, fmt.Errorf("%q must begin with a dot", text)
	}
	p := jsonpath.New("").AllowMissingKeys(true)
	if err := p.Parse("{" + text + "}"); err != nil {
		return nil, err
	}
	return p, nil
}

// Cell is what the column shows of an object, nil for nothing. tree has Go's
// numbers (see json.Unmarshal).
func (c Column) Cell(tree map[string]any, now time.Time) any {
	results, err := c.path.FindResults(tree)
	if err != nil || len(results) == 0 || len(results[0]) == 0 {
		return nil
	}
	v := results[0][0].Interface()
	switch c.Type {
	case "integer":
		if n, ok := v.(float64); ok {
			return int64(n)
		}
		return nil
	case "number", "boolean":
		switch v.(type) {
		case float64, bool:
			return v
		}
		return nil
	case "date":
		s, _ := v.(string)
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return "<unknown>"
		}
		return duration.HumanDuration(now.Sub(t))
	}
	if s, ok := v.(string); ok && len(results[0]) == 1 {
		return clip(s)
	}
	var b bytes.Buffer
	if err := c.path.PrintResults(&b, results[0]); err != nil {
		return nil
	}
	return clip(b.String())
}

func clip(s string) string {
	if len(s) > maxCell {
		return strings.ToValidUTF8(s[:maxCell], "") + "..."
	}
	return s
}

// plainPath is the members of a path like .spec.replicas.
func plainPath(text string) ([]string, bool) {
	rest, ok := strings.CutPrefix(text, ".")
	if !ok || rest == "" || strings.ContainsAny(rest, "[]*@?()'\"") {
		return nil, false
	}
	parts := strings.Split(rest, ".")
	for _, p := range parts {
		if p == "" {
			return nil, false
		}
	}
	return parts, true
}

func scalePaths(at string, s *api.DefinitionScale) []api.Problem {
	if s == nil {
		return nil
	}
	var out []api.Problem
	check := func(field, path, under string) {
		p, ok := plainPath(path)
		if !ok || p[0] != under || len(p) < 2 {
			out = append(out, api.Problem{Code: api.CodeInvalid, Path: at + "." + field, Message: fmt.Sprintf("must be a field under .%s, not %q", under, path)})
		}
	}
	check("specReplicasPath", s.SpecReplicasPath, "spec")
	check("statusReplicasPath", s.StatusReplicasPath, "status")
	if s.LabelSelectorPath != nil {
		if p, ok := plainPath(*s.LabelSelectorPath); !ok || len(p) < 2 || p[0] != "status" && p[0] != "spec" {
			out = append(out, api.Problem{Code: api.CodeInvalid, Path: at + ".labelSelectorPath", Message: "must be a field under .status or .spec"})
		}
	}
	return out
}

// Find returns the value at a path of members; nil when there is none.
func Find(tree map[string]any, path string) any {
	var v any = tree
	for _, p := range strings.Split(strings.TrimPrefix(path, "."), ".") {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// ReadScale fills in the scale of an object.
func (k *Kind) ReadScale(tree map[string]any, s *autoscalingv1.Scale) {
	s.Spec.Replicas = integer(Find(tree, k.scale.SpecReplicasPath))
	s.Status.Replicas = integer(Find(tree, k.scale.StatusReplicasPath))
	if k.scale.LabelSelectorPath != nil {
		s.Status.Selector, _ = Find(tree, *k.scale.LabelSelectorPath).(string)
	}
}

// WriteScale sets how many replicas an object asks for.
func (k *Kind) WriteScale(tree map[string]any, replicas int32) {
	parts, _ := plainPath(k.scale.SpecReplicasPath)
	for _, p := range parts[:len(parts)-1] {
		m, ok := tree[p].(map[string]any)
		if !ok {
			m = map[string]any{}
			tree[p] = m
		}
		tree = m
	}
	tree[parts[len(parts)-1]] = json.Number(fmt.Sprint(replicas))
}

func integer(v any) int32 {
	n, _ := v.(json.Number)
	i, err := n.Int64()
	if err != nil || i != int64(int32(i)) {
		return 0
	}
	return int32(i)
}
