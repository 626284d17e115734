package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
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

// Main evaluates one program: it reads the request from stdin, runs the
// evaluator of its language with library, and writes the answer to stdout. It
// returns an error only when it cannot answer. It limits the memory of the
// whole process, and ends the process by itself when that is exceeded or when
// stdin ends, because an evaluator cannot be interrupted: call it only in a
// process that does nothing else.
func Main(ctx context.Context, stdin io.Reader, stdout io.Writer, evaluators map[string]lang.Evaluator, library fs.FS) error {
	in := bufio.NewReader(io.LimitReader(stdin, maxRequest))
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read evaluation request: %w", err)
	}
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("decode evaluation request: %w", err)
	}
	if r.Memory > 0 {
		if err := limitMemory(r.Memory); err != nil {
			return fmt.Errorf("limit memory: %w", err)
		}
		debug.SetMemoryLimit(r.Memory / 10 * 9)
		go watchMemory(uint64(r.Memory))
	}
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		os.Exit(exitAbandoned)
	}()
	var a response
	result, err := eval(ctx, r, evaluators, library)
	a.Result = result
	if err != nil {
		a.Diagnostics = diag.From(err)
	}
	out := bufio.NewWriter(stdout)
	if err := json.NewEncoder(out).Encode(a); err != nil {
		return fmt.Errorf("write evaluation: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write evaluation: %w", err)
	}
	return nil
}

func eval(ctx context.Context, r request, evaluators map[string]lang.Evaluator, library fs.FS) (*lang.Result, error) {
	evaluator, ok := evaluators[r.Language]
	if !ok {
		return nil, fmt.Errorf("no evaluator for language %q", r.Language)
	}
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return nil, fmt.Errorf("open module root: %w", err)
	}
	defer root.Close()
	return evaluator.Eval(ctx, lang.Program{FS: root.FS(), Entry: r.Entry, Inputs: r.Inputs, Offers: r.Offers, Library: library, Tests: r.Tests, Cover: r.Cover})
}

// watchMemory ends the process when it holds more than limit bytes.
func watchMemory(limit uint64) {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	for {
		metrics.Read(samples)
		if used := samples[0].Value.Uint64() - samples[1].Value.Uint64(); used > limit {
			os.Exit(exitMemory)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
