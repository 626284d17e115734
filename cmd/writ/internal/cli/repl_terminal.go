package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/writ-dev/writ/lang/diag"
)

// What a terminal sends for Ctrl-C while lines are edited, and what the editor
// gets instead: it would take the former for the end of the session.
const (
	keyInterrupt = 0x03
	keyCancel    = 0x18
)

// interactive answers the lines that are edited on a terminal.
func (r *replRun) interactive(ctx context.Context) error {
	// Ctrl-C is about one line, here; others end the session.
	base := context.WithoutCancel(ctx)
	interrupt, end := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(interrupt)
	defer signal.Stop(end)
	t, err := newTerminal(r)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.app.err, "%s; :help tells more, Ctrl-D ends\n", r.session.Where())
	for {
		line, err := t.readLine(end)
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(r.app.err)
			return nil
		}
		if err != nil {
			return err
		}
		quit, err := r.interruptible(base, interrupt, end, line)
		switch {
		case errors.Is(err, context.Canceled):
			fmt.Fprintln(r.app.err, "interrupted")
		case err != nil:
			diag.Print(r.app.err, err)
		}
		if quit {
			return nil
		}
	}
}

// interruptible answers a line, until a signal comes.
func (r *replRun) interruptible(ctx context.Context, interrupt, end chan os.Signal, line string) (quit bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for len(interrupt) > 0 {
		<-interrupt // for the line before
	}
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-interrupt:
		case s := <-end:
			end <- s // for who reads the next line
		case <-done:
			return
		}
		cancel()
	}()
	quit, err = r.do(ctx, line)
	close(done)
	<-watched
	return quit, err
}

// terminal edits lines.
type terminal struct {
	fd     int
	cooked *term.State
	editor *term.Terminal
	run    *replRun
}

func newTerminal(r *replRun) (*terminal, error) {
	t := &terminal{fd: int(os.Stdin.Fd()), run: r}
	var err error
	if t.cooked, err = term.GetState(t.fd); err != nil {
		return nil, fmt.Errorf("read the state of the terminal: %w", err)
	}
	screen := struct {
		io.Reader
		io.Writer
	}{replaced{os.Stdin}, os.Stdout}
	t.editor = term.NewTerminal(screen, "")
	t.editor.AutoCompleteCallback = t.key
	t.editor.History = openHistory()
	return t, nil
}

// replaced reads what the editor gets.
type replaced struct{ from io.Reader }

func (r replaced) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	for i := range p[:n] {
		if p[i] == keyInterrupt {
			p[i] = keyCancel
		}
	}
	return n, err
}

// readLine reads a line, with the terminal in raw mode only so long: between
// lines Ctrl-C is a signal. A signal from end ends it like Ctrl-D.
func (t *terminal) readLine(end <-chan os.Signal) (string, error) {
	if _, err := term.MakeRaw(t.fd); err != nil {
		return "", fmt.Errorf("edit a line: %w", err)
	}
	defer func() { _ = term.Restore(t.fd, t.cooked) }()
	if width, height, err := term.GetSize(t.fd); err == nil && width > 0 {
		_ = t.editor.SetSize(width, height)
	}
	t.editor.SetPrompt(paint(t.run.app.color, bold, t.run.session.Target().String()+"> "))
	type read struct {
		line string
		err  error
	}
	lines := make(chan read, 1)
	go func() { // ends with the line, or with the process
		line, err := t.editor.ReadLine()
		if errors.Is(err, term.ErrPasteIndicator) {
			err = nil
		}
		lines <- read{line, err}
	}()
	select {
	case l := <-lines:
		return l.line, l.err
	case <-end:
		return "", io.EOF
	}
}

// key answers the keys that the editor does not know.
func (t *terminal) key(line string, pos int, key rune) (string, int, bool) {
	switch key {
	case keyCancel:
		return "", 0, true
	case '\t':
		return t.complete(line, pos)
	}
	return "", 0, false
}

// complete puts in what all candidates begin with, and shows them when that is
// nothing more.
func (t *terminal) complete(line string, pos int) (string, int, bool) {
	start, candidates := t.run.session.Complete(context.Background(), line, pos)
	if len(candidates) == 0 {
		return line, pos, true
	}
	same := candidates[0]
	for _, c := range candidates[1:] {
		for !strings.HasPrefix(c, same) {
			same = same[:len(same)-1]
		}
	}
	same = strings.ToValidUTF8(same, "")
	if len(candidates) > 1 && len(same) <= pos-start {
		fmt.Fprintf(t.editor, "%s\n", strings.Join(candidates, "  "))
		return line, pos, true
	}
	return line[:start] + same + line[pos:], start + len(same), true
}
