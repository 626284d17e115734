package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/nodeagent/runtime"
)

func testOutput(t *testing.T, s *suite) {
	c := s.start(t, nil, "say:hello", "complain:oh", "exit:7")
	before := time.Now().Add(-time.Minute)
	exit := s.wait(t, c)
	if exit.Code != 7 || exit.Signal != 0 || exit.At.Before(before) || exit.Message != "" {
		t.Errorf("exit %+v, want code 7", exit)
	}
	if c.out.String() != "hello\n" || c.err.String() != "oh\n" {
		t.Errorf("output %q, errors %q", c.out.String(), c.err.String())
	}
	if again := s.wait(t, c); again != exit {
		t.Errorf("second Wait %+v, first %+v", again, exit)
	}
	const n = 20_000
	long := s.start(t, nil, fmt.Sprint("lines:", n))
	s.wait(t, long)
	for name, text := range map[string]string{"out": long.out.String(), "err": long.err.String()} {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if last := lines[len(lines)-1]; len(lines) != n || last != fmt.Sprint(name, " ", n-1) {
			t.Errorf("%s: %d lines of %d, the last %q", name, len(lines), n, last)
		}
	}
}

func testProcess(t *testing.T, s *suite) {
	for _, test := range []struct {
		name    string
		change  func(*runtime.ContainerConfig)
		actions []string
		want    string
	}{
		{"pid", nil, []string{"ids"}, "0 0 1\n"},
		{"hostname", nil, []string{"hostname", "env:HOSTNAME", "read:/etc/hostname"}, "pod-host\nHOSTNAME=pod-host\npod-host\n"},
		{"hosts and resolv.conf", nil, []string{"read:/etc/hosts", "read:/etc/resolv.conf"}, "10.1.2.3 friend\nnameserver 169.254.1.1\n"},
		{"environment", func(c *runtime.ContainerConfig) { c.Env = []string{"A=1", "B=2", "A=3"} },
			[]string{"env:A", "env:B", "env:PATH", "env:HOME"}, "A=3\nB=2\nPATH=/usr/local/bin:/usr/bin:/bin\nHOME=/root\n"},
		{"no environment of the node", nil, []string{"env:GOMAXPROCS", "env:USER"}, "GOMAXPROCS=\nUSER=\n"},
		{"working directory", func(c *runtime.ContainerConfig) { c.WorkingDir = "/some/new/place" }, []string{"dir"}, "/some/new/place\n"},
		{"default working directory", nil, []string{"dir"}, "/\n"},
		{"command by name", func(c *runtime.ContainerConfig) { c.Command = []string{"probe", "say:first"} }, []string{"say:then"}, "first\nthen\n"},
		{"devices", nil, []string{"write:/dev/null=x", "list:/dev/*"},
			"/dev/fd /dev/full /dev/null /dev/ptmx /dev/pts /dev/random /dev/shm /dev/stderr /dev/stdin /dev/stdout /dev/tty /dev/urandom /dev/zero\n"},
		{"files", nil, []string{"write:/tmp/f=text", "read:/tmp/f", "write:/dev/shm/g=too", "read:/dev/shm/g"}, "text\ntoo\n"},
		{"fresh root each time", nil, []string{"list:/tmp/*", "list:/.*"}, "\n\n"},
		{"own processes only", nil, []string{"list:/proc/[0-9]*"}, "/proc/1\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := s.run(t, test.change, test.actions...); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func testStartErrors(t *testing.T, s *suite) {
	for _, test := range []struct {
		name   string
		change func(*runtime.ContainerConfig)
		want   string
	}{
		{"missing", func(c *runtime.ContainerConfig) { c.Command = []string{"nothing"} }, "not found in the container's PATH"},
		{"missing path", func(c *runtime.ContainerConfig) { c.Command = []string{"/bin/nothing"} }, "no such file"},
		{"not executable", func(c *runtime.ContainerConfig) { c.Command = []string{"/etc/passwd"} }, "not executable"},
		{"directory", func(c *runtime.ContainerConfig) { c.Command = []string{"/etc"} }, "not executable"},
		{"working directory", func(c *runtime.ContainerConfig) { c.WorkingDir = "/etc/passwd/x" }, "director"},
		{"volume", func(c *runtime.ContainerConfig) {
			c.Mounts = []runtime.Mount{{Source: "/no/such/dir", Target: "/data"}}
		}, "mount at /data"},
		{"root forbidden", func(c *runtime.ContainerConfig) { c.RunAsNonRoot = true }, "must not run as root"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := s.tryStart(test.change)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			if _, err := s.Runtime.Wait(s.ctx, c.id); !errors.Is(err, runtime.ErrNotFound) {
				t.Errorf("Wait after failed start: %v, want ErrNotFound", err)
			}
		})
	}
}

func testUsers(t *testing.T, s *suite) {
	user, group := int64(1234), int64(567)
	as := func(c *runtime.ContainerConfig) { c.User, c.Group, c.RunAsNonRoot = &user, &group, true }
	if !s.Users {
		_, err := s.tryStart(as, "ids")
		if !errors.Is(err, runtime.ErrUnsupported) || !strings.Contains(err.Error(), "1234") {
			t.Errorf("error %v, want ErrUnsupported naming the user", err)
		}
		return
	}
	got := s.run(t, as, "ids", "status:CapEff", "status:CapPrm", "status:NoNewPrivs", "try:lowport", "write:/dev/stderr=x")
	if want := "1234 567 1\n0000000000000000\n0000000000000000\n1\nlowport worked\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := s.run(t, func(c *runtime.ContainerConfig) { c.User = &group }, "ids"); got != "567 0 1\n" {
		t.Errorf("group of a user without an entry: %q", got)
	}
}

func testMounts(t *testing.T, s *suite) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "given"), []byte("from outside"), 0o666); err != nil {
		t.Fatal(err)
	}
	mount := func(readOnly bool) func(*runtime.ContainerConfig) {
		return func(c *runtime.ContainerConfig) {
			c.Mounts = []runtime.Mount{
				{Source: filepath.Join(dir, "given"), Target: "/data/inner/file", ReadOnly: true},
				{Source: dir, Target: "/data/inner", ReadOnly: readOnly},
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	got := s.run(t, mount(false), "read:/data/inner/given", "read:/data/inner/file", "write:/data/inner/made=inside")
	if want := "from outside\nfrom outside\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "made")); err != nil || string(data) != "inside" {
		t.Errorf("file made inside: %q, %v", data, err)
	}
	refused := s.start(t, mount(true), "write:/data/inner/other=x")
	if exit := s.wait(t, refused); exit.Code != 1 || !strings.Contains(refused.out.String(), "read-only file system") {
		t.Errorf("write to a read-only mount: %+v, %q", exit, refused.out.String())
	}
	fixed := func(c *runtime.ContainerConfig) {
		mount(false)(c)
		c.ReadOnlyRoot = true
	}
	got = s.run(t, fixed, "write:/data/inner/yes=x", "write:/dev/shm/yes=x", "read:/data/inner/yes")
	if got != "x\n" {
		t.Errorf("read-only root: %q", got)
	}
	refused = s.start(t, fixed, "write:/no=x")
	if exit := s.wait(t, refused); exit.Code != 1 || !strings.Contains(refused.out.String(), "read-only file system") {
		t.Errorf("write to a read-only root: %+v, %q", exit, refused.out.String())
	}
}

func testSignals(t *testing.T, s *suite) {
	c := s.start(t, nil, "term:5")
	c.until(t, "ready")
	if err := s.Runtime.Signal(c.id, 15); err != nil {
		t.Fatalf("Signal: %v", err)
	}
	if exit := s.wait(t, c); exit.Code != 5 || c.out.String() != "ready\nterminated\n" {
		t.Errorf("exit %+v, output %q", exit, c.out.String())
	}
	if err := s.Runtime.Signal(c.id, 15); err != nil {
		t.Errorf("Signal after the end: %v", err)
	}
	c = s.start(t, nil, "say:up", "sleep:1m")
	c.until(t, "up")
	ctx, cancel := context.WithTimeout(s.ctx, 10*time.Millisecond)
	defer cancel()
	if _, err := s.Runtime.Wait(ctx, c.id); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait with a deadline: %v", err)
	}
	if err := s.Runtime.Signal(c.id, 9); err != nil {
		t.Fatalf("Signal: %v", err)
	}
	if exit := s.wait(t, c); exit.Code != 137 || exit.Signal != 9 {
		t.Errorf("exit after SIGKILL %+v", exit)
	}
}

func testConcurrency(t *testing.T, s *suite) {
	var wg sync.WaitGroup
	for pod := range 4 {
		id := fmt.Sprint("pod-", pod)
		wg.Go(func() {
			if _, err := s.Runtime.CreateSandbox(s.ctx, runtime.SandboxConfig{ID: id, Hostname: id}); err != nil {
				t.Errorf("CreateSandbox: %v", err)
				return
			}
			var inner sync.WaitGroup
			for range 4 {
				inner.Go(func() {
					c, err := s.tryStart(func(c *runtime.ContainerConfig) { c.SandboxID = id }, "hostname")
					if err != nil {
						t.Errorf("StartContainer: %v", err)
						return
					}
					if _, err := s.Runtime.Wait(s.ctx, c.id); err != nil || c.out.String() != id+"\n" {
						t.Errorf("Wait: %v, output %q, want %q", err, c.out.String(), id)
					}
				})
			}
			inner.Wait()
			if err := s.Runtime.RemoveSandbox(s.ctx, id); err != nil {
				t.Errorf("RemoveSandbox: %v", err)
			}
		})
	}
	wg.Wait()
}
