package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// onTerminal is a command on a terminal of its own.
type onTerminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	keys *os.File

	mu     sync.Mutex
	screen bytes.Buffer // all that was written to it
	seen   int          // how much of it expect has passed
}

// start runs writ on a new terminal, in dir.
func start(t *testing.T, dir string, env []string, args ...string) *onTerminal {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	line, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer line.Close()
	c := &onTerminal{t: t, keys: keys, cmd: exec.Command(filepath.Join(binDir, "writ"), args...)}
	c.cmd.Dir = dir
	c.cmd.Env = append([]string{"TERM=xterm", "HOME=" + dir, "PATH=" + os.Getenv("PATH")}, env...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = line, line, line
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_, _ = c.cmd.Process.Wait()
		keys.Close()
	})
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := keys.Read(b)
			c.mu.Lock()
			c.screen.Write(b[:n])
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return c
}

func (c *onTerminal) send(keys string) {
	c.t.Helper()
	if _, err := c.keys.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

// expect waits until text is written, after what it has waited for before.
func (c *onTerminal) expect(text string) {
	c.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c.mu.Lock()
		i := bytes.Index(c.screen.Bytes()[c.seen:], []byte(text))
		if i >= 0 {
			c.seen += i + len(text)
		}
		screen := c.screen.String()
		c.mu.Unlock()
		if i >= 0 {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%q does not come; the screen was\n%q", text, screen)
		}
	}
}

// text is all that was written to the screen.
func (c *onTerminal) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.screen.String()
}

// children waits until the command has processes below it, and returns them.
func (c *onTerminal) children() []process {
	c.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		below := slices.DeleteFunc(processes(), func(p process) bool { return p.parent != c.cmd.Process.Pid })
		if len(below) > 0 {
			return below
		}
	}
	c.t.Fatal("no process was started")
	return nil
}

// ends waits for the end of the command, and that nothing that it started is left.
func (c *onTerminal) ends(code int, started []process) {
	c.t.Helper()
	done := make(chan struct{})
	go func() { _ = c.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		c.t.Fatal("it does not end")
	}
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		c.t.Errorf("exit code %d, want %d; the screen was\n%s", got, code, c.text())
	}
	gone(c.t, started)
}

// gone waits until processes have ended.
func gone(t *testing.T, started []process) {
	t.Helper()
	var left []process
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		left = slices.DeleteFunc(processes(), func(p process) bool {
			return !slices.ContainsFunc(started, func(s process) bool { return s.pid == p.pid && s.start == p.start })
		})
		if len(left) == 0 {
			return
		}
	}
	for _, p := range left {
		t.Errorf("left behind: process %d %s", p.pid, p.command)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const neverEnds = "local f(n) = if n == 0 then 0 else f(n - 1) + f(n - 1); f(60)"

// TestReplOnTerminal edits lines as a person would.
func TestReplOnTerminal(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.jsonnet"), "{ name: 'web', number: 41, nothing:: 0, ports: [{ port: 80 }] }\n")
	c := start(t, dir, []string{"NO_COLOR=1"}, "repl", ".")
	c.expect("program .")
	c.expect(".> ")
	c.send("$.na\t\r") // completes to what is the only one
	c.expect("$.name")
	c.expect(`"web"`)
	c.expect("> ")
	c.send("$.n\t") // two: they are shown
	c.expect(".name  .number")
	c.send("u\t + 1\r")
	c.expect("$.number + 1")
	c.expect("42")
	c.expect("> ")
	c.send("\x1b[A\r") // the line before
	c.expect("42")
	c.expect("> ")
	c.send("$.oops\x03" + "$.ports[0].\t\r") // Ctrl-C takes the line back
	c.expect("80")
	c.expect("> ")

	// Ctrl-C ends an evaluation, and the session goes on.
	c.send(neverEnds + "\r")
	c.expect(neverEnds)
	workers := c.children()
	time.Sleep(200 * time.Millisecond)
	c.send("\x03")
	c.expect("interrupted")
	c.expect("> ")
	gone(t, workers)
	c.send(":set password=secret\r")
	c.expect("> ")
	c.send(":unset password\r")
	c.expect("> ")
	write(t, filepath.Join(dir, "main.jsonnet"), "{ name: 'changed' }\n")
	c.send(".name\r")
	c.expect(`"changed"`)
	c.expect("> ")
	workers = c.children()
	c.send("\x04")
	c.ends(0, workers)

	history, err := os.ReadFile(filepath.Join(dir, ".local/state/writ/repl_history"))
	if err != nil || !strings.Contains(string(history), "$.number + 1\n") || strings.Contains(string(history), ":set") {
		t.Errorf("the history is %q, %v", history, err)
	}
	again := start(t, dir, []string{"NO_COLOR=1"}, "repl", ".")
	again.expect("> ")
	again.send("\x1b[A") // of the session before
	again.expect(".name")
	again.send("\r")
	again.expect(`"changed"`)
	again.expect("> ")
	workers = again.children()
	if err := again.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	again.ends(0, workers)
}
