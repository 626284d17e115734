package structural

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/expression"
)

// maxObjectCost is what the rules may cost for one object, all together, as in
// Kubernetes.
const maxObjectCost = 10_000_000

// Rule is an entry of x-kubernetes-validations. The value that it is about is
// the variable self.
type Rule struct {
	Message string
	Reason  string
	// FieldPath is the field at fault, relative to self: ".spec.replicas".
	FieldPath string
	// old is the type of the variable oldSelf where a rule may do without a
	// value of it; nil where it may not.
	old *expression.Type
	// change says that the rule is about a change: without a former value there
	// is nothing to say.
	change bool

	rule, messageExpression *expression.Program
}

// rules reads the rules of a schema, whose other parts are read already, and
// compiles them.
func (p *parser) rules(s *Schema, m map[string]any, at string) {
	entries := list(m["x-kubernetes-validations"])
	if len(entries) == 0 {
		return
	}
	s.self = typeOf(s, "object")
	if s.self == nil {
		p.fail(api.FieldPath(at, "x-kubernetes-validations"), "", "a value of no known type can have no rules")
		return
	}
	for i, e := range entries {
		entry, ok := e.(map[string]any)
		if !ok {
			continue // the schema of schemas says so
		}
		here := api.IndexPath(api.FieldPath(at, "x-kubernetes-validations"), i)
		if r, ok := p.rule(entry, s.self, here); ok {
			s.Rules = append(s.Rules, r)
		}
	}
}

// rule reads one rule; false means that it is wrong.
func (p *parser) rule(m map[string]any, self *expression.Type, at string) (Rule, bool) {
	r := Rule{Message: strings.TrimSpace(text(m["message"])), Reason: text(m["reason"]), FieldPath: text(m["fieldPath"])}
	old := self
	if truth(m["optionalOldSelf"]) {
		old = &expression.Type{Kind: expression.Optional, Elem: self}
		r.old = old
	}
	variables := []expression.Variable{{Name: "self", Type: self}, {Name: "oldSelf", Type: old}}
	program, ok := p.compile(text(m["rule"]), at+".rule", variables, expression.BoolType)
	if !ok {
		return r, false
	}
	r.rule = program
	if message := text(m["messageExpression"]); message != "" {
		r.messageExpression, _ = p.compile(message, at+".messageExpression", variables, expression.StringType)
	}
	if r.Message == "" {
		r.Message = "does not satisfy the rule: " + strings.Join(strings.Fields(text(m["rule"])), " ")
	}
	r.change = r.old == nil && program.Uses("oldSelf")
	return r, true
}

func (p *parser) compile(expr, at string, variables []expression.Variable, result *expression.Type) (*expression.Program, bool) {
	program, err := expression.Compile(expr, expression.Options{Variables: variables, Result: result})
	if err == nil {
		return program, true
	}
	var list expression.Errors
	if !errors.As(err, &list) {
		p.fail(at, "", "%v", err)
		return nil, false
	}
	e := list[0]
	where := fmt.Sprintf("column %d", e.Column)
	if strings.Contains(expr, "\n") {
		where = fmt.Sprintf("line %d, column %d", e.Line, e.Column)
	}
	p.fail(at, "", "%s of the expression: %s", where, e.Message)
	return nil, false
}

// Evaluate reports which of the schema's rules v breaks. v must have passed
// Validate and have its defaults. What the rules cost is added to spent, when
// that is not nil. An error means that ctx ended.
func (s *Schema) Evaluate(ctx context.Context, v any, spent *uint64) ([]api.Problem, error) {
	return s.EvaluateChange(ctx, v, nil, spent)
}

// EvaluateChange is Evaluate for v in the place of old, which rules see as
// oldSelf: a member by its name, and an element of a keyed list by its keys.
// old is nil for a new object.
func (s *Schema) EvaluateChange(ctx context.Context, v, old any, spent *uint64) ([]api.Problem, error) {
	e := evaluator{ctx: ctx, meter: expression.Meter{Limit: maxObjectCost}}
	e.value(s, "", v, old, 0)
	if spent != nil {
		*spent += e.meter.Used
	}
	return e.problems, e.err
}

type evaluator struct {
	ctx      context.Context
	meter    expression.Meter
	problems []api.Problem
	err      error
	// spent says that the rules have cost all that they may.
	spent bool
}

func (e *evaluator) value(s *Schema, at string, v, old any, depth int) {
	if v == nil || e.err != nil || e.spent || depth > maxValueDepth || len(e.problems) >= maxProblems {
		return
	}
	if len(s.Rules) > 0 {
		e.rules(s, at, v, old)
	}
	switch x := v.(type) {
	case map[string]any:
		was, _ := old.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(x)) {
			if f := s.Property(key); f != nil && f.ruled(nil) {
				e.value(f, api.FieldPath(at, key), x[key], was[key], depth+1)
			}
		}
	case []any:
		if s.Items == nil || !s.Items.ruled(nil) {
			return
		}
		was := s.former(old)
		for i, item := range x {
			e.value(s.Items, api.IndexPath(at, i), item, was(item), depth+1)
		}
	}
}

// former finds the former value of an element of a keyed list; those of other
// lists have none.
func (s *Schema) former(old any) func(item any) any {
	list, _ := old.([]any)
	byKey := map[string]any{}
	if s.ListType == ListMap {
		for _, e := range list {
			if m, ok := e.(map[string]any); ok {
				if key, _, ok := keysOf(s, m); ok {
					byKey[key] = e
				}
			}
		}
	}
	return func(item any) any {
		m, ok := item.(map[string]any)
		if !ok || len(byKey) == 0 {
			return nil
		}
		key, _, _ := keysOf(s, m)
		return byKey[key]
	}
}

// maxValueDepth bounds how deep rules are looked for.
const maxValueDepth = 1000

func (e *evaluator) rules(s *Schema, at string, v, old any) {
	values := map[string]any{"self": s.self.Value(v)}
	for _, r := range s.Rules {
		switch {
		case r.change && old == nil:
			continue
		case r.change:
			values["oldSelf"] = s.self.Value(old)
		case r.old != nil:
			values["oldSelf"] = r.old.Value(old)
		}
		ok, err := r.rule.Bool(e.ctx, values, &e.meter)
		switch {
		case e.ctx.Err() != nil:
			e.err = e.ctx.Err()
			return
		case e.meter.Used > e.meter.Limit:
			e.spent = true
			e.add(at, "the rules cannot be evaluated: they cost too much for one object")
			return
		case err != nil:
			e.add(at+r.FieldPath, "the rule cannot be evaluated: %v", err)
		case !ok:
			e.add(at+r.FieldPath, "%s", e.message(r, values))
		}
	}
}

func (e *evaluator) message(r Rule, values map[string]any) string {
	if r.messageExpression != nil {
		if text, err := r.messageExpression.Text(e.ctx, values, &e.meter); err == nil {
			if text = strings.TrimSpace(text); text != "" && !strings.Contains(text, "\n") {
				return text
			}
		}
	}
	return r.Message
}

func (e *evaluator) add(at, format string, args ...any) {
	e.problems = append(e.problems, api.Problem{Code: CodeRule, Path: at, Message: fmt.Sprintf(format, args...)})
}

// CodeRule is the code of a broken rule of a CustomResourceDefinition.
const CodeRule = "Rule"
