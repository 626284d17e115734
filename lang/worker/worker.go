// Package worker evaluates programs in a process of their own, so that one
// that never ends or eats all memory costs a killed process and a message
// instead of the program that asked. Evaluator is the asking side; Main is
// what the other process runs.
//
// The other process is this binary again, with Argument as its first argument.
// It gets one request as a line of JSON on its standard input, answers with
// JSON on its standard output, and ends when its input ends, so that it never
// outlives who started it. It gets no environment. It opens the module root
// itself, through os.Root, because a file system cannot be sent: the library
// is the one that is given to Main.
package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// Argument is the first argument of a process that must call Main.
const Argument = "__eval"

// Limits of an evaluation unless an Evaluator sets others.
const (
	DefaultTimeout = 60 * time.Second
	DefaultMemory  = 2 << 30 // bytes
)

// MaxResult bounds a result as JSON, in bytes.
const MaxResult = 512 << 20

// Evaluator evaluates programs of one language in worker processes. It is safe
// for concurrent use; every evaluation has a process of its own.
type Evaluator struct {
	// Language is a key of the map that Main is given.
	Language string
	// Root is the directory that is the module root. Program.FS must be that
	// directory too and is not used; neither is Program.Library.
	Root string
	// Timeout is how long an evaluation may take; 0 means DefaultTimeout.
	Timeout time.Duration
	// Memory is how many bytes the process may use; 0 means DefaultMemory. The
	// process itself needs some 50 MiB.
	Memory int64
	// Command is the program to start and its arguments; nil means this
	// executable with Argument.
	Command []string
}

var _ lang.Evaluator = Evaluator{}

// request is what the worker is asked to do.
type request struct {
	Language string            `json:"language"`
	Root     string            `json:"root"`
	Entry    string            `json:"entry"`
	Inputs   map[string]string `json:"inputs,omitempty"`
	Offers   map[string]string `json:"offers,omitempty"`
	Memory   int64             `json:"memory"`
	Tests    bool              `json:"tests,omitempty"`
	Cover    bool              `json:"cover,omitempty"`
}

// response is the worker's answer: a result, or what is wrong with the program
// and perhaps its coverage.
type response struct {
	Result      *lang.Result `json:"result,omitempty"`
	Diagnostics diag.List    `json:"diagnostics,omitempty"`
}

// Eval satisfies lang.Evaluator. When ctx ends first the process is killed and
// ctx's error returned.
func (e Evaluator) Eval(ctx context.Context, p lang.Program) (*lang.Result, error) {
	if e.Timeout == 0 {
		e.Timeout = DefaultTimeout
	}
	if e.Memory == 0 {
		e.Memory = DefaultMemory
	}
	if e.Command == nil {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this executable: %w", err)
		}
		e.Command = []string{self, Argument}
	}
	line, err := json.Marshal(request{e.Language, e.Root, p.Entry, p.Inputs, p.Offers, e.Memory, p.Tests, p.Cover})
	if err != nil {
		return nil, fmt.Errorf("encode evaluation request: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	out, stderr, err := run(limited, e.Command, append(line, '\n'))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, diag.List{{
			Code: "LANG101", Pos: diag.Position{File: p.Entry},
			Message: fmt.Sprintf("evaluation took longer than %s and was stopped", e.Timeout),
			Hint:    "look for recursion or a comprehension that does not end",
		}}
	case err != nil:
		return nil, e.explain(p.Entry, stderr, err)
	}
	var r response
	if err := json.Unmarshal(out, &r); err != nil {
		return nil, fmt.Errorf("decode evaluation of %s: %w", p.Entry, err)
	}
	if r.Result == nil && len(r.Diagnostics) == 0 {
		return nil, fmt.Errorf("decode evaluation of %s: the answer is empty", p.Entry)
	}
	return r.Result, r.Diagnostics.Err()
}

// run starts the command, sends it the request and waits for its answer.
func run(ctx context.Context, command []string, request []byte) (stdout []byte, stderr string, err error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = []string{}
	cmd.WaitDelay = 2 * time.Second
	var out bounded
	out.max = MaxResult
	var talk bounded
	talk.max = 64 << 10
	cmd.Stdout, cmd.Stderr = &out, &talk
	// The pipe stays open until the process has ended: its end is the sign for
	// the process that nobody waits any more.
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, "", fmt.Errorf("start evaluation: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("start evaluation: %w", err)
	}
	_, writeErr := in.Write(request)
	err = cmd.Wait()
	if err == nil && out.full {
		err = errors.New("the result is too large")
	}
	if err == nil && writeErr != nil {
		err = fmt.Errorf("send evaluation request: %w", writeErr)
	}
	return out.Bytes(), talk.String(), err
}

// bounded keeps the first max bytes written to it.
type bounded struct {
	bytes.Buffer
	max  int
	full bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.max - b.Len(); len(p) > room {
		b.full = true
		b.Buffer.Write(p[:room])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

// explain says why a worker ended without an answer.
func (e Evaluator) explain(entry, stderr string, err error) error {
	d := diag.Diagnostic{Code: "LANG104", Pos: diag.Position{File: entry}}
	var exit *exec.ExitError
	switch {
	case !errors.As(err, &exit):
		return fmt.Errorf("evaluate %s: %w", entry, err)
	case exit.ExitCode() == exitMemory, strings.Contains(stderr, "out of memory"), strings.Contains(stderr, "cannot allocate memory"), strings.Contains(stderr, "pthread_create failed"):
		d.Code = "LANG102"
		d.Message = fmt.Sprintf("evaluation needs more than %d MiB of memory and was stopped", e.Memory>>20)
		d.Hint = "look for recursion or a comprehension that does not end"
	case strings.Contains(stderr, "stack exceeds"), strings.Contains(stderr, "stack overflow"):
		d.Code = "LANG103"
		d.Message = "evaluation nests too deep and was stopped"
		d.Hint = "look for recursion or an expression that is nested very deep"
	default:
		first, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
		d.Message = strings.TrimSpace("the evaluating process ended: " + exit.Error() + " " + first)
	}
	return diag.List{d}
}
