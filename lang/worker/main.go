package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// Exit codes of a worker process.
const (
	exitAbandoned = 84 // nobody waits for the answer
	exitMemory    = 86 // the memory limit is exceeded
)

// maxRequest bounds a request, in bytes.
const maxRequest = 16 << 20

// Main evaluates programs, one after another, until stdin ends: it reads a
// request, runs the evaluator of its language with library, and writes the
// answer to stdout. It returns an error only when it cannot answer. It limits
// the memory of the whole process. It ends the process when that is exceeded,
// and when stdin ends, because an evaluator cannot be interrupted: call it only
// in a process that does nothing else. It ignores interrupts, which a terminal
// sends to all processes: who asked decides what they end.
func Main(ctx context.Context, stdin io.Reader, stdout io.Writer, evaluators map[string]lang.Evaluator, library fs.FS) error {
	signal.Ignore(os.Interrupt)
	// Programs are short and memory is bounded anyway: collect seldom.
	debug.SetGCPercent(400)
	requests, broken := make(chan request), make(chan error, 1)
	go func() {
		in := bufio.NewReader(stdin)
		for {
			var r request
			err := readMessage(in, maxRequest, &r)
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				os.Exit(exitAbandoned)
			}
			if err != nil {
				broken <- err
				return
			}
			requests <- r
		}
	}()
	out := bufio.NewWriter(stdout)
	var limit memoryLimit
	for {
		var r request
		select {
		case r = <-requests:
		case err := <-broken:
			return fmt.Errorf("read evaluation request: %w", err)
		}
		if err := limit.set(r.Memory); err != nil {
			return fmt.Errorf("limit memory: %w", err)
		}
		if r.Stack > 0 {
			debug.SetMaxStack(r.Stack * stackPerCall)
		}
		a, err := answer(ctx, r, evaluators, library)
		if err != nil {
			a.Diagnostics = diag.From(err)
		}
		a.Spent = spent(r.Memory)
		if err := errors.Join(writeResponse(out, a), out.Flush()); err != nil {
			return fmt.Errorf("write evaluation: %w", err)
		}
	}
}

func answer(ctx context.Context, r request, evaluators map[string]lang.Evaluator, library fs.FS) (a response, err error) {
	evaluator, ok := evaluators[r.Language]
	if !ok {
		return a, fmt.Errorf("no evaluator for language %q", r.Language)
	}
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return a, fmt.Errorf("open module root: %w", err)
	}
	defer root.Close()
	p := lang.Program{
		FS: root.FS(), Entry: r.Entry, Inputs: r.Inputs, Offers: r.Offers, Overlay: r.Overlay, Library: library, Stack: r.Stack, Tests: r.Tests, Cover: r.Cover, Explain: r.Explain,
		Settings: r.Settings, Expression: r.Expression,
	}
	if !r.Lint {
		a.Result, err = evaluator.Eval(ctx, p)
		return a, err
	}
	linter, ok := evaluator.(lang.Linter)
	if !ok {
		return a, fmt.Errorf("no linter for language %q", r.Language)
	}
	a.Found, err = linter.Lint(ctx, p)
	return a, err
}

// memoryLimit is what this process may use, from the first request on.
type memoryLimit struct{ bytes int64 }

func (m *memoryLimit) set(bytes int64) error {
	if bytes <= 0 || m.bytes != 0 {
		return nil
	}
	m.bytes = bytes
	if err := limitMemory(bytes); err != nil {
		return err
	}
	debug.SetMemoryLimit(bytes / 10 * 9)
	go func() {
		for held() <= uint64(bytes) {
			time.Sleep(20 * time.Millisecond)
		}
		os.Exit(exitMemory)
	}()
	return nil
}

// held is how many bytes this process has of the system.
func held() uint64 {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// spent says that so much memory is held that the next program would not have
// what it may use.
func spent(limit int64) bool {
	if limit <= 0 || held() < uint64(limit)/4 {
		return false
	}
	debug.FreeOSMemory()
	return held() > uint64(limit)/4
}
