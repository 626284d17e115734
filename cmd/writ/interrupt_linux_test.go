package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInterrupt: what stops an evaluation that would never end leaves no process,
// however writ was stopped.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.jsonnet"), neverEnds)
	for _, c := range []struct {
		name   string
		signal syscall.Signal
		code   int
		args   []string
	}{
		{"render", syscall.SIGINT, 1, []string{"render", "--no-cache", "."}},
		{"eval", syscall.SIGTERM, 1, []string{"eval", "."}},
		{"killed", syscall.SIGKILL, -1, []string{"check", "."}},
		{"a pipe", syscall.SIGINT, 1, []string{"repl", "."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var talk bytes.Buffer
			run := &onTerminal{t: t, cmd: exec.Command(filepath.Join(binDir, "writ"), c.args...)}
			run.cmd.Dir, run.cmd.Env = dir, []string{"HOME=" + dir}
			run.cmd.Stdin, run.cmd.Stderr = strings.NewReader(".\n"), &talk
			if err := run.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = run.cmd.Process.Kill() })
			workers := run.children()
			time.Sleep(100 * time.Millisecond)
			if err := run.cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			run.ends(c.code, workers)
			if got := talk.String(); c.code == 1 && got != "interrupted\n" {
				t.Errorf("it said %q", got)
			}
		})
	}
}

// TestProgressOnTerminal: a long rendering says how far it is, where that can be
// taken back, and Ctrl-C ends it and all that it started.
func TestProgressOnTerminal(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		write(t, filepath.Join(dir, "apps", name+".jsonnet"), "{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '"+name+"' } }")
	}
	write(t, filepath.Join(dir, "apps", "d.jsonnet"), neverEnds)
	write(t, filepath.Join(dir, "writ.yaml"), "units: {apps: {entry: \"apps/*\"}}\n")
	for _, env := range [][]string{{"NO_COLOR=1"}, nil} {
		c := start(t, dir, env, "render", "--no-cache", ".")
		c.expect("\r\x1b[Krendering ")
		c.expect(" of 4")
		workers := c.children()
		c.send("\x03")
		c.ends(1, workers)
		c.expect("interrupted")
		if shown := c.text(); env != nil && strings.Contains(shown, "\x1b[3") {
			t.Errorf("there are colours in %q", shown)
		}
	}
	plain := start(t, dir, []string{"TERM=dumb"}, "render", "--no-cache", ".")
	workers := plain.children()
	time.Sleep(500 * time.Millisecond)
	plain.send("\x03")
	plain.ends(1, workers)
	plain.expect("interrupted")
	if shown := plain.text(); strings.Contains(shown, "\x1b") {
		t.Errorf("a dumb terminal got %q", shown)
	}
}
