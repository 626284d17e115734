package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/writ-dev/writ/cluster/expression"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
)

// about is what a rule is evaluated for.
type about string

const (
	aboutObject about = "object"
	aboutEdge   about = "edge"
	aboutEdges  about = "edges"
)

// rule is a policy in CEL.
type rule struct {
	name     string
	pos      diag.Position
	match    *match
	about    about
	program  *expression.Program
	message  string
	computed *expression.Program
	severity Severity
	path     string
	hint     string
}

// Edge is one declared access, as rules see it:
//
//	edge.from.namespace, .kind, .name     the workload that declares it
//	edge.from.labels                      its labels, if it is among the documents
//	edge.to.namespace, .service           the Service that it may use
//	edge.to.ports                         a list of {name, port, protocol}; of a Service
//	                                      that is elsewhere {name} or {port} as declared
//	edge.to.labels, .workloads            the Service's labels, and the workloads behind it
//	                                      as "Deployment/api", if it is among the documents
//	edge.dependency                       the name of the Dependency
//	edge.start                            "none" or "ready"
type Edge struct {
	// Document is the index of the Dependency.
	Document int
	// Facts are the members above, as decoded JSON.
	Facts map[string]any
}

// maxRuleCost is what one policy may cost for all documents together.
const maxRuleCost = 200_000_000

// run is one application of a set.
type run struct {
	ctx       context.Context
	documents []object.Object
	// trees are the documents, decoded when they are first looked at.
	trees []map[string]any
	edges []Edge
	found []Violation
}

func (c *run) tree(i int) map[string]any {
	if c.trees[i] == nil {
		c.trees[i] = c.documents[i].Tree()
	}
	return c.trees[i]
}

// rule applies one rule to all that it is about.
func (c *run) rule(r *rule) error {
	meter := &expression.Meter{Limit: maxRuleCost}
	switch r.about {
	case aboutObject:
		for i, o := range c.documents {
			if !r.match.fits(subjectOf(o)) {
				continue
			}
			if stop, err := c.evaluate(r, i, c.tree(i), meter); stop || err != nil {
				return err
			}
		}
	case aboutEdge:
		for _, e := range c.edges {
			if !r.match.fits(subjectOfEdge(e)) {
				continue
			}
			if stop, err := c.evaluate(r, e.Document, e.Facts, meter); stop || err != nil {
				return err
			}
		}
	case aboutEdges:
		all := []any{}
		for _, e := range c.edges {
			if r.match.fits(subjectOfEdge(e)) {
				all = append(all, e.Facts)
			}
		}
		_, err := c.evaluate(r, -1, all, meter)
		return err
	}
	return nil
}

// evaluate applies a rule to one value; stop says that the rule has used up
// its cost.
func (c *run) evaluate(r *rule, document int, v any, meter *expression.Meter) (stop bool, err error) {
	values := map[string]any{string(r.about): v}
	ok, err := r.program.Bool(c.ctx, values, meter)
	x := Violation{Policy: r.name, Pos: r.pos, Severity: r.severity, Document: document, Path: r.path, Hint: r.hint}
	switch {
	case c.ctx.Err() != nil:
		return true, c.ctx.Err()
	case errors.Is(err, expression.ErrCost):
		x.Severity, x.Hint = Error, "look for loops in loops, or match fewer documents"
		x.Message = "the policy cannot be evaluated: the rule costs too much"
		if meter.Used > meter.Limit {
			x.Message, x.Document = "the policy cannot be evaluated: the rule costs too much for all documents together", -1
			stop = true
		}
	case err != nil:
		x.Severity, x.Message = Error, "the policy cannot be evaluated: "+err.Error()
		x.Hint = "make the rule right for documents without the field: has(x.y), or x.?y.orValue(z)"
	case ok:
		return false, nil
	default:
		x.Message = c.text(r, values, meter)
	}
	c.found = append(c.found, x)
	return stop, nil
}

// text is what a violation says.
func (c *run) text(r *rule, values map[string]any, meter *expression.Meter) string {
	if r.computed == nil {
		return r.message
	}
	text, err := r.computed.Text(c.ctx, values, meter)
	if text = strings.Join(strings.Fields(text), " "); err == nil && text != "" {
		return text
	}
	if err != nil {
		return fmt.Sprintf("%s (messageExpression: %v)", r.message, err)
	}
	return r.message
}

func subjectOfEdge(e Edge) subject {
	from, _ := e.Facts["from"].(map[string]any)
	text := func(key string) string { s, _ := from[key].(string); return s }
	s := subject{kind: text("kind"), namespace: text("namespace"), name: text("name"), labels: map[string]string{}}
	if l, ok := from["labels"].(map[string]any); ok {
		for k, v := range l {
			s.labels[k], _ = v.(string)
		}
	}
	return s
}
