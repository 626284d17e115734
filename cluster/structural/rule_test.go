package structural

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/writ-dev/writ/cluster/expression"
)

// TestRulesCost gives the rules of one object less than they need.
func TestRulesCost(t *testing.T) {
	s, problems := Parse(map[string]any{"type": Array, "items": map[string]any{
		"type": Integer, "x-kubernetes-validations": []any{map[string]any{"rule": "[1, 2, 3, 4, 5].all(x, x > self)"}},
	}}, "", nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var l []any
	for range 50 {
		l = append(l, json.Number("0"))
	}
	for _, c := range []struct {
		limit uint64
		want  string
	}{{100_000, ""}, {200, "the rules cannot be evaluated: they cost too much for one object"}} {
		e := evaluator{ctx: t.Context(), meter: expression.Meter{Limit: c.limit}}
		e.value(s, "", l, nil, 0)
		var got []string
		for _, p := range e.problems {
			got = append(got, p.Message)
		}
		if g := strings.Join(got, "\n"); g != c.want || e.err != nil {
			t.Errorf("with %d: got %q, %v, want %q", c.limit, g, e.err, c.want)
		}
	}
	var spent uint64
	if _, err := s.Evaluate(t.Context(), l, &spent); err != nil || spent < 50 || spent > 10_000 {
		t.Errorf("spent %d, %v", spent, err)
	}
}
