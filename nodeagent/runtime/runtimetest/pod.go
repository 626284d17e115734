package runtimetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/nodeagent/runtime"
)

func testExec(t *testing.T, s *suite) {
	c := s.start(t, func(c *runtime.ContainerConfig) { c.Env = []string{"A=1"} }, "write:/tmp/f=inside", "say:up", "sleep:1m")
	c.until(t, "up")
	run := func(stdin string, argv ...string) (int, string, string) {
		t.Helper()
		var out, errs output
		code, err := s.Runtime.Exec(s.ctx, c.id, runtime.ExecConfig{Argv: argv, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs})
		if err != nil {
			t.Fatalf("Exec %v: %v", argv, err)
		}
		return code, out.String(), errs.String()
	}
	code, out, errs := run("", "probe", "read:/tmp/f", "env:A", "hostname", "complain:oh", "read:/etc/hosts", "exit:3")
	if want := "inside\nA=1\npod-host\n10.1.2.3 friend\n"; code != 3 || out != want || errs != "oh\n" {
		t.Errorf("exit code %d, output %q, errors %q; want 3, %q", code, out, errs, want)
	}
	if code, out, _ := run("typed", "probe", "cat"); code != 0 || out != "typed" {
		t.Errorf("cat: exit code %d, output %q", code, out)
	}
	if code, _, _ := run("", "probe", "die"); code != 128+9 {
		t.Errorf("exit code of a killed command: %d, want 137", code)
	}
	if _, out, _ := run("", "probe", "status:CapBnd", "status:NoNewPrivs", "status:Seccomp", "try:mount"); out !=
		s.run(t, nil, "status:CapBnd", "status:NoNewPrivs", "status:Seccomp", "try:mount") {
		t.Errorf("exec is not confined like its container: %q", out)
	}
	if _, err := s.Runtime.Exec(s.ctx, c.id, runtime.ExecConfig{Argv: []string{"nothing"}}); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("Exec of a missing command: %v", err)
	}
	ctx, cancel := context.WithTimeout(s.ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := s.Runtime.Exec(ctx, c.id, runtime.ExecConfig{Argv: []string{"probe", "sleep:1m"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Exec with a deadline: %v", err)
	}
	if _, out, _ := run("", "probe", "list:/proc/[0-9]*"); strings.Count(out, "/proc/") != 2 {
		t.Errorf("processes after a cancelled exec: %q, want the container's and this one", out)
	}
	// The end of the container is the end of what was executed in it.
	ended := make(chan error, 1)
	go func() {
		code, err := s.Runtime.Exec(s.ctx, c.id, runtime.ExecConfig{Argv: []string{"probe", "sleep:1m"}})
		if err == nil && code == 0 {
			err = errors.New("ended well")
		} else {
			err = nil
		}
		ended <- err
	}()
	if err := s.Runtime.RemoveContainer(s.ctx, c.id); err != nil {
		t.Fatalf("RemoveContainer: %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Exec in a removed container: %v", err)
	}
}

func testRemoval(t *testing.T, s *suite) {
	c := s.start(t, nil, "fork", "say:up", "sleep:1m")
	c.until(t, "up")
	waited := make(chan runtime.Exit, 1)
	go func() {
		exit, _ := s.Runtime.Wait(s.ctx, c.id)
		waited <- exit
	}()
	if err := s.Runtime.RemoveContainer(s.ctx, c.id); err != nil {
		t.Fatalf("RemoveContainer: %v", err)
	}
	// The waiter may have come after the removal, and then has no exit.
	if exit := <-waited; exit.Code != 137 && exit != (runtime.Exit{}) {
		t.Errorf("exit of a removed container: %+v", exit)
	}
	if _, err := s.Runtime.Wait(s.ctx, c.id); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("Wait after RemoveContainer: %v", err)
	}
	// The ID is free again.
	if got := s.run(t, func(config *runtime.ContainerConfig) { config.ID = "again" }, "say:one"); got != "one\n" {
		t.Errorf("output %q", got)
	}
	running := s.start(t, nil, "sleep:1m")
	if err := s.Runtime.RemoveSandbox(s.ctx, "pod"); err != nil {
		t.Fatalf("RemoveSandbox: %v", err)
	}
	if _, err := s.Runtime.Wait(s.ctx, running.id); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("Wait after RemoveSandbox: %v", err)
	}
	if _, err := s.tryStart(nil, "say:x"); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("StartContainer after RemoveSandbox: %v", err)
	}
	s.sandbox(t, "pod")
	if got := s.run(t, nil, "say:two"); got != "two\n" {
		t.Errorf("output %q", got)
	}
}

func testPod(t *testing.T, s *suite) {
	if got := s.run(t, nil, "interfaces"); got != "lo\n" {
		t.Errorf("interfaces of a new sandbox: %q, want lo alone", got)
	}
	netNS, err := s.Runtime.CreateSandbox(s.ctx, runtime.SandboxConfig{ID: "other", Hostname: "other"})
	if err != nil || netNS < 0 {
		t.Fatalf("CreateSandbox: %d, %v", netNS, err)
	}
	if _, err := s.Runtime.CreateSandbox(s.ctx, runtime.SandboxConfig{ID: "other"}); err == nil {
		t.Error("a second sandbox of the same ID was made")
	}
	if _, err := s.Runtime.CreateSandbox(s.ctx, runtime.SandboxConfig{ID: "../up"}); err == nil {
		t.Error("a sandbox with a path for an ID was made")
	}
	id := func(pod string) string {
		c := s.start(t, func(c *runtime.ContainerConfig) { c.SandboxID = pod }, "say:up", "sleep:1m")
		c.until(t, "up")
		var out output
		if _, err := s.Runtime.Exec(s.ctx, c.id, runtime.ExecConfig{Argv: []string{"probe", "hostname"}, Stdout: &out}); err != nil {
			t.Fatalf("Exec: %v", err)
		}
		return out.String()
	}
	if a, b := id("pod"), id("other"); a != "pod-host\n" || b != "other\n" {
		t.Errorf("hostnames %q and %q", a, b)
	}
}

func testConfinement(t *testing.T, s *suite) {
	for _, what := range []string{"mount", "userns", "netns", "mknod", "rawsocket", "sethostname", "chroot"} {
		if got, want := s.run(t, nil, "try:"+what), what+" operation not permitted\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := s.run(t, nil, "try:sysctl"); got != "sysctl read-only file system\n" {
		t.Errorf("writing below /proc/sys: %q", got)
	}
	got := s.run(t, nil, "status:NoNewPrivs", "status:Seccomp", "status:CapBnd", "status:CapEff", "status:CapInh", "status:CapAmb")
	// CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE.
	const caps = "00000000000005fb"
	if want := "1\n2\n" + caps + "\n" + caps + "\n0000000000000000\n0000000000000000\n"; got != want {
		t.Errorf("status %q, want %q", got, want)
	}
	if got := s.run(t, nil, "files", "try:lowport"); got != "/dev/null pipe pipe\nlowport worked\n" {
		t.Errorf("open files %q", got)
	}
}
