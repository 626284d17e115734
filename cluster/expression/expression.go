// Package expression compiles and evaluates CEL: the rules of custom resources
// and of policies. It is the only importer of cel-go.
//
// The functions are those that Kubernetes offers in CEL, but for the
// authorizer. Evaluation is bounded: every program has a cost
// limit, counted as Kubernetes counts it, and stops when its context ends.
// Nothing but the given variables is visible: no clock, environment or file.
// Maps are walked in the order of their keys, so that equal inputs give equal
// results and messages.
package expression

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
)

// DefaultCost is the cost limit of one evaluation, that of Kubernetes: some
// tenths of a second.
const DefaultCost = 1_000_000

// maxSize bounds an expression, in characters.
const maxSize = 100_000

// interruptEvery is how many steps of a comprehension are taken between looks
// at the context.
const interruptEvery = 100

// Variable is a name that an expression may use.
type Variable struct {
	Name string
	Type *Type
}

// Options say how to compile.
type Options struct {
	Variables []Variable
	// Result is the type that the expression must have; nil means any.
	Result *Type
	// Cost is the limit of one evaluation; 0 means DefaultCost.
	Cost uint64
}

// Error is one thing wrong with the text of an expression. Line and Column
// count from 1, Column in characters.
type Error struct {
	Line, Column int
	Message      string
}

func (e Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

// Errors is everything wrong with the text of an expression.
type Errors []Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, x := range e {
		lines[i] = x.Error()
	}
	return strings.Join(lines, "\n")
}

// ErrCost says that an evaluation was stopped because it cost too much.
var ErrCost = errors.New("the expression costs too much")

// Program is a compiled expression. It is safe for concurrent use.
type Program struct {
	program cel.Program
	used    map[string]bool
}

// Parse checks the syntax of an expression only.
func Parse(text string) error {
	env, err := base()
	if err != nil {
		return err
	}
	_, issues := env.Parse(text)
	return problems(issues)
}

// Compile checks an expression's syntax and types. What is wrong with it is
// reported as Errors.
func Compile(text string, o Options) (*Program, error) {
	env, err := environment(o.Variables)
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(text)
	if err := problems(issues); err != nil {
		return nil, err
	}
	if o.Result != nil {
		want := o.Result.cel()
		if got := ast.OutputType(); !got.IsExactType(types.DynType) && !want.IsAssignableType(got) {
			return nil, Errors{{Line: 1, Column: 1, Message: fmt.Sprintf("gives a %s and must give a %s", name(got), name(want))}}
		}
	}
	if o.Cost == 0 {
		o.Cost = DefaultCost
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), cel.CostLimit(o.Cost),
		cel.CostTracking(costs{}), cel.InterruptCheckFrequency(interruptEvery))
	if err != nil {
		return nil, Errors{{Line: 1, Column: 1, Message: err.Error()}}
	}
	p := &Program{program: program, used: map[string]bool{}}
	for _, r := range ast.NativeRep().ReferenceMap() {
		if r.Name != "" {
			root, _, _ := strings.Cut(r.Name, ".")
			p.used[root] = true
		}
	}
	return p, nil
}

// Uses reports whether the expression refers to a variable.
func (p *Program) Uses(name string) bool { return p.used[name] }

// Meter adds up what evaluations cost. Once that is more than Limit, further
// ones fail with ErrCost. The zero Meter has no limit. It is not for concurrent
// use.
type Meter struct {
	Limit, Used uint64
}

// Bool evaluates an expression that gives a truth value. Values are given by
// variable: made by Type.Value, or decoded JSON for a variable of type Any. A
// meter may be nil.
func (p *Program) Bool(ctx context.Context, values map[string]any, meter *Meter) (bool, error) {
	v, err := p.eval(ctx, values, meter)
	if err != nil {
		return false, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, fmt.Errorf("the expression gives a %s and must give a bool", v.Type().TypeName())
	}
	return bool(b), nil
}

// Text evaluates an expression that gives a string.
func (p *Program) Text(ctx context.Context, values map[string]any, meter *Meter) (string, error) {
	v, err := p.eval(ctx, values, meter)
	if err != nil {
		return "", err
	}
	s, ok := v.(types.String)
	if !ok {
		return "", fmt.Errorf("the expression gives a %s and must give a string", v.Type().TypeName())
	}
	return string(s), nil
}

func (p *Program) eval(ctx context.Context, values map[string]any, meter *Meter) (v ref.Val, err error) {
	if meter != nil && meter.Limit > 0 && meter.Used > meter.Limit {
		return nil, ErrCost
	}
	// A fault of the library must not end a server.
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, fmt.Errorf("evaluate the expression: %v", r)
		}
	}()
	v, details, err := p.program.ContextEval(ctx, values)
	if meter != nil {
		meter.Used++
		if cost := details.ActualCost(); cost != nil {
			meter.Used += *cost
		}
	}
	switch {
	case err == nil:
		return v, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case strings.Contains(err.Error(), "actual cost limit exceeded"):
		return nil, ErrCost
	}
	return nil, errors.New(strings.TrimPrefix(err.Error(), "operation cancelled: "))
}

// base is the environment without variables, made once.
var base = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.ParserExpressionSizeLimit(maxSize), cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true), cel.CrossTypeNumericComparisons(true), cel.EnableIdentifierEscapeSyntax(),
		cel.CustomTypeAdapter(adapter{types.DefaultTypeAdapter}),
		cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Lists(), ext.Math(), ext.TwoVarComprehensions(), ext.Network(),
		regexFunctions(), listFunctions(), quantityFunctions(), urlFunctions(), formatFunctions(), semverFunctions(),
	)
})

func environment(variables []Variable) (*cel.Env, error) {
	env, err := base()
	if err != nil {
		return nil, err
	}
	p := &provider{Provider: env.CELTypeProvider(), records: map[string]*Type{}}
	options := []cel.EnvOption{cel.CustomTypeProvider(p)}
	for _, v := range variables {
		p.add(v.Type)
		options = append(options, cel.Variable(v.Name, v.Type.cel()))
	}
	return env.Extend(options...)
}

// problems are an expression's issues as Errors, or nil.
func problems(issues *cel.Issues) error {
	if issues.Err() == nil {
		return nil
	}
	var out Errors
	for _, e := range issues.Errors() {
		out = append(out, Error{Line: e.Location.Line(), Column: e.Location.Column() + 1, Message: plain(e.Message)})
	}
	if len(out) == 0 {
		out = Errors{{Line: 1, Column: 1, Message: issues.Err().Error()}}
	}
	return out
}

// plain is a message of the library without the list of all that could follow.
func plain(message string) string {
	message, _, _ = strings.Cut(message, " expecting {")
	if rest, ok := strings.CutPrefix(message, "Syntax error: "); ok {
		message = "syntax error: " + strings.Replace(rest, "'<EOF>'", "the end", 1)
	}
	return strings.TrimSpace(message)
}

// name is a type's name as people write it.
func name(t *cel.Type) string { return cel.FormatCELType(t) }
