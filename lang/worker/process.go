package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// endTime is how long a process that is told to end may take to do so.
const endTime = 2 * time.Second

// request is what a process is asked to do.
type request struct {
	Language string            `json:"language"`
	Root     string            `json:"root"`
	Entry    string            `json:"entry"`
	Inputs   map[string]string `json:"inputs,omitempty"`
	Offers   map[string]string `json:"offers,omitempty"`
	Overlay  map[string][]byte `json:"overlay,omitempty"`
	Memory   int64             `json:"memory"`
	Stack    int               `json:"stack"`
	// Lint asks for what the language's linter finds, and for no evaluation.
	Lint     bool          `json:"lint,omitempty"`
	Tests    bool          `json:"tests,omitempty"`
	Cover    bool          `json:"cover,omitempty"`
	Explain  []string      `json:"explain,omitempty"`
	Settings lang.Settings `json:"settings"`
	// Expression is that of the program, if it has one.
	Expression string `json:"expression,omitempty"`
}

// response is the answer: a result, or what is wrong with the program and
// perhaps its coverage.
type response struct {
	Result      *lang.Result `json:"result,omitempty"`
	Found       diag.List    `json:"found,omitempty"`
	Diagnostics diag.List    `json:"diagnostics,omitempty"`
	// Spent says that the process holds so much memory that it should end.
	Spent bool `json:"spent,omitempty"`
}

// Requests and responses are JSON, each after its length in eight bytes. After
// a response comes the value of its result, if it has one, in binary form.

func writeMessage(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeFrame(w, b)
}

func writeFrame(w io.Writer, b []byte) error {
	if _, err := w.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b)))); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}

var errTooLarge = errors.New("the message is too large")

func readMessage(r io.Reader, limit uint64, v any) error {
	b, err := readFrame(r, limit)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

func readFrame(r io.Reader, limit uint64) ([]byte, error) {
	var size [8]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint64(size[:])
	if n > limit {
		return nil, errTooLarge
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

func writeResponse(w io.Writer, a response) error {
	if a.Result == nil {
		return writeMessage(w, a)
	}
	rest := *a.Result
	value := rest.Value.AppendBinary(nil)
	rest.Value, a.Result = lang.Value{}, &rest
	if err := writeMessage(w, a); err != nil {
		return err
	}
	return writeFrame(w, value)
}

func readResponse(r io.Reader) (*response, error) {
	var a response
	if err := readMessage(r, MaxResult, &a); err != nil || a.Result == nil {
		return &a, err
	}
	value, err := readFrame(r, MaxResult)
	if err != nil {
		return nil, err
	}
	a.Result.Value, err = lang.ParseBinary(value)
	return &a, err
}

// process is one worker process. One goroutine uses it at a time.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	talk *bounded
}

func start(o Options) (*process, error) {
	w := &process{cmd: exec.Command(o.Command[0], o.Command[1:]...), talk: &bounded{max: 64 << 10}}
	w.cmd.Env = append([]string{}, o.Env...) // not nil, which would be ours
	w.cmd.Dir = o.Dir
	w.cmd.Stderr = w.talk
	w.cmd.WaitDelay = endTime
	// The pipe stays open as long as this process lives: its end is the sign
	// that nobody waits any more.
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start evaluation: %w", err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start evaluation: %w", err)
	}
	w.in, w.out = in, bufio.NewReaderSize(out, 64<<10)
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start evaluation: %w", err)
	}
	return w, nil
}

// ask sends a request and waits for the answer. After an error, the end of ctx
// too, the process must be killed.
func (w *process) ask(ctx context.Context, r request) (*response, error) {
	// The process may be busy with anything: only its end ends the reading.
	stop := context.AfterFunc(ctx, func() { _ = w.cmd.Process.Kill() })
	defer stop()
	if err := writeMessage(w.in, r); err != nil {
		return nil, fmt.Errorf("send evaluation request: %w", err)
	}
	a, err := readResponse(w.out)
	if err != nil {
		return nil, fmt.Errorf("read evaluation: %w", err)
	}
	if !stop() {
		return nil, ctx.Err() // it was killed while it answered
	}
	return a, nil
}

// end lets an idle process end.
func (w *process) end() {
	_ = w.in.Close()
	timer := time.AfterFunc(endTime, func() { _ = w.cmd.Process.Kill() })
	defer timer.Stop()
	_ = w.cmd.Wait()
}

// kill ends a process that does not answer, and returns how it ended: by
// itself, if it did.
func (w *process) kill() ending {
	done := make(chan error, 1)
	go func() { done <- w.cmd.Wait() }()
	var err error
	select {
	case err = <-done:
	case <-time.After(50 * time.Millisecond):
		_ = w.cmd.Process.Kill()
		err = <-done
	}
	_ = w.in.Close()
	e := ending{talk: w.talk.String()}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		e.status, e.code = exit.Error(), exit.ExitCode()
	}
	return e
}

// ending is how a process ended.
type ending struct {
	status string // empty when it ended well
	code   int
	talk   string
}

// memory says that memory was what ended it: the process has noticed itself, or
// the kernel gave it none, or the kernel killed it.
func (e ending) memory() bool {
	return e.code == exitMemory || e.says("out of memory", "cannot allocate memory", "pthread_create failed")
}

func (e ending) stack() bool { return e.says("stack exceeds", "stack overflow") }

func (e ending) says(texts ...string) bool {
	for _, t := range texts {
		if strings.Contains(e.talk, t) {
			return true
		}
	}
	return false
}

// String is the status and the first line of what it said.
func (e ending) String() string {
	first, _, _ := strings.Cut(strings.TrimSpace(e.talk), "\n")
	return strings.TrimSpace(e.status + " " + first)
}

// bounded keeps the first max bytes written to it. Its reader waits until the
// process has ended.
type bounded struct {
	mu  sync.Mutex
	b   bytes.Buffer
	max int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.b.Write(p[:min(len(p), b.max-b.b.Len())])
	return len(p), nil
}

func (b *bounded) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
