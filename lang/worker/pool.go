package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// Argument is the first argument of a process that must call Main.
const Argument = "__eval"

// Limits of an evaluation unless Options set others.
const (
	DefaultTimeout = 60 * time.Second
	DefaultMemory  = 2 << 30 // bytes
)

// stackPerCall is how many bytes of stack there are for a call, several times
// what the evaluators need for one.
const stackPerCall = 256 << 10

// MaxResult bounds a result as JSON, in bytes.
const MaxResult = 512 << 20

// Options configure a Pool.
type Options struct {
	// Root is the directory that is the module root of all programs. The FS of
	// a Program must be that directory too and is not used; neither is its
	// Library.
	Root string
	// Size is how many processes there are at most, hence how many programs
	// are evaluated at a time; 0 means one for each processor.
	Size int
	// Timeout is how long an evaluation may take; 0 means DefaultTimeout.
	Timeout time.Duration
	// Memory is how many bytes a process may use; 0 means DefaultMemory. The
	// process itself needs some 50 MiB.
	Memory int64
	// Stack is how many calls may be inside calls; 0 means lang.DefaultStack.
	// The processor's stack of a process is bounded to stackPerCall for each,
	// for languages that do not count calls.
	Stack int
	// Command is the program to start and its arguments; nil means this
	// executable with Argument.
	Command []string
	// Env is the environment of the processes, and Dir their working
	// directory. Nothing may depend on either: they are for proving that.
	Env []string
	Dir string
	// Fresh gives every evaluation a process of its own.
	Fresh bool
}

// Pool evaluates programs in processes that are started as needed and used
// again. It is safe for concurrent use. Close ends the processes; so does the
// end of this process, whatever ends it.
type Pool struct {
	o     Options
	slots chan struct{}

	mu     sync.Mutex
	idle   []*process
	closed bool
}

// NewPool makes a pool; it starts no process yet.
func NewPool(o Options) (*Pool, error) {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	if o.Stack <= 0 {
		o.Stack = lang.DefaultStack
	}
	if o.Size <= 0 {
		o.Size = runtime.GOMAXPROCS(0)
	}
	if o.Command == nil {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this executable: %w", err)
		}
		o.Command = []string{self, Argument}
	}
	return &Pool{o: o, slots: make(chan struct{}, o.Size)}, nil
}

// Close ends the processes that are idle, and those in use when their
// evaluation ends.
func (p *Pool) Close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, w := range idle {
		w.end()
	}
}

// Evaluator returns the evaluator of a language, which is a key of the map that
// Main is given. When the context of an evaluation ends first, its process is
// killed and the context's error returned.
func (p *Pool) Evaluator(language string) lang.Evaluator { return front{p, language} }

// Linter returns the linter of a language that has one. An analysis that exceeds
// a limit is a diag.List with one of the codes of lang.
func (p *Pool) Linter(language string) lang.Linter { return front{p, language} }

// front is a language's front end in the processes of a pool.
type front struct {
	pool     *Pool
	language string
}

// Eval satisfies lang.Evaluator.
func (e front) Eval(ctx context.Context, program lang.Program) (*lang.Result, error) {
	a, err := e.ask(ctx, program, false)
	if err != nil {
		return nil, err
	}
	if a.Result == nil && len(a.Diagnostics) == 0 {
		return nil, fmt.Errorf("decode evaluation of %s: the answer is empty", program.Entry)
	}
	return a.Result, a.Diagnostics.Err()
}

// Lint satisfies lang.Linter.
func (e front) Lint(ctx context.Context, program lang.Program) (diag.List, error) {
	a, err := e.ask(ctx, program, true)
	if err != nil {
		return nil, err
	}
	return a.Found, a.Diagnostics.Err()
}

func (e front) ask(ctx context.Context, program lang.Program, lint bool) (*response, error) {
	p := e.pool
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	w, err := p.take()
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	begin := time.Now()
	a, err := w.ask(limited, request{
		Language: e.language, Root: p.o.Root, Memory: p.o.Memory, Stack: cmp.Or(program.Stack, p.o.Stack), Lint: lint,
		Entry: program.Entry, Inputs: program.Inputs, Offers: program.Offers, Overlay: program.Overlay, Tests: program.Tests, Cover: program.Cover, Explain: program.Explain,
		Settings: program.Settings, Expression: program.Expression,
	})
	if err != nil {
		return nil, p.explain(ctx, limited, w, program.Entry, lint, time.Since(begin), err)
	}
	p.give(w, a.Spent)
	return a, nil
}

// take returns an idle process, or a new one.
func (p *Pool) take() (*process, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		w := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return w, nil
	}
	p.mu.Unlock()
	return start(p.o)
}

// give takes a process back. One that holds much memory makes room for a new
// one.
func (p *Pool) give(w *process, spent bool) {
	p.mu.Lock()
	if !spent && !p.closed && !p.o.Fresh {
		p.idle = append(p.idle, w)
		w = nil
	}
	p.mu.Unlock()
	if w != nil {
		w.end()
	}
}

// explain ends a process that did not answer and says why it did not.
func (p *Pool) explain(ctx, limited context.Context, w *process, entry string, lint bool, took time.Duration, err error) error {
	out := w.kill()
	took = took.Round(10 * time.Millisecond)
	what := "evaluation"
	d := diag.Diagnostic{Pos: diag.Position{File: entry}, Hint: "look for recursion or a comprehension that does not end, or raise the limit: "}
	if lint {
		what = "the analysis of the file and of all that it imports"
		d.Hint = "import less, split the file, or raise the limit: "
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		d.Code = lang.CodeTime
		d.Message = fmt.Sprintf("%s took longer than %s and was stopped", what, p.o.Timeout)
		d.Hint += "--time, or limits.time in writ.yaml"
	case out.memory():
		d.Code = lang.CodeMemory
		d.Message = fmt.Sprintf("%s needs more than %d MiB of memory and was stopped after %s", what, p.o.Memory>>20, took)
		d.Hint += "--memory, or limits.memory in writ.yaml"
	case out.stack():
		d.Code = lang.CodeStack
		d.Message = fmt.Sprintf("%s nests deeper than %d KiB of stack can hold, which is the limit for %d calls, and was stopped after %s", what, p.o.Stack*stackPerCall>>10, p.o.Stack, took)
		d.Hint = "look for recursion or an expression that is nested very deep, or raise the limit: --stack, or limits.stack in writ.yaml"
	case errors.Is(err, errTooLarge):
		d.Code, d.Hint = "LANG105", "look for a comprehension that makes more than is needed"
		d.Message = fmt.Sprintf("the result is larger than %d MiB", MaxResult>>20)
	case out.status != "":
		d.Code, d.Hint = "LANG104", ""
		d.Message = "the evaluating process ended: " + out.String()
	default:
		return fmt.Errorf("evaluate %s: %w", entry, err)
	}
	return diag.List{d}
}
