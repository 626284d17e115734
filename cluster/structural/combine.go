package structural

import (
	"fmt"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
)

// combined checks allOf, anyOf, oneOf and not.
func (c *checker) combined(s *Schema, at place, v any) {
	at.part = true
	for _, part := range s.AllOf {
		c.value(part, at, v)
	}
	if len(s.AnyOf) > 0 {
		if fits, why := c.fitting(s.AnyOf, at, v); fits == 0 {
			c.add(api.CodeInvalid, at.path, "fits none of the alternatives: "+why, "")
		}
	}
	if len(s.OneOf) > 0 {
		switch fits, why := c.fitting(s.OneOf, at, v); {
		case fits == 0:
			c.add(api.CodeInvalid, at.path, "fits none of the alternatives: "+why, "")
		case fits > 1:
			c.add(api.CodeInvalid, at.path, fmt.Sprintf("fits %d alternatives and must fit exactly one", fits), "")
		}
	}
	if s.Not != nil && len(c.try(s.Not, at, v)) == 0 {
		c.add(api.CodeInvalid, at.path, "is what the schema forbids here (not)", "")
	}
}

// maxAlternatives bounds how many alternatives a message explains.
const maxAlternatives = 4

// fitting counts the alternatives that v fits, and says why the others do not.
func (c *checker) fitting(alternatives []*Schema, at place, v any) (fits int, why string) {
	var reasons []string
	for _, s := range alternatives {
		problems := c.try(s, at, v)
		if len(problems) == 0 {
			fits++
			continue
		}
		p := problems[0]
		reason := p.Message
		if rel := strings.TrimPrefix(p.Path, at.path); rel != "" {
			reason = rel + " " + reason
		}
		if len(reasons) < maxAlternatives {
			reasons = append(reasons, reason)
		}
	}
	return fits, strings.Join(reasons, "; or ")
}

// try validates without reporting.
func (c *checker) try(s *Schema, at place, v any) []api.Problem {
	t := checker{kind: c.kind}
	t.value(s, at, v)
	return t.problems
}
