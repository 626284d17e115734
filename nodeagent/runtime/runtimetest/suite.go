// Package runtimetest is what every implementation of nodeagent/runtime must
// pass: the contract as tests.
//
// The suite runs real containers of the program in testdata/probe, which its
// caller builds into an image. It makes no assumption about who runs it, but
// for Fixture.Users.
//
//	func TestContract(t *testing.T) {
//		runtimetest.Run(t, func(t *testing.T) runtimetest.Fixture { … })
//	}
package runtimetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/nodeagent/runtime"
)

// ProbeDir is the Go package of the probe program, below this package.
const ProbeDir = "testdata/probe"

// Fixture is a runtime under test.
type Fixture struct {
	Runtime runtime.Runtime
	// Image is the probe's image.
	Image string
	// Users tells whether containers may run as any user.
	Users bool
}

// Run runs the suite. open returns a fresh runtime; the suite closes it.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *suite)
	}{
		{"output and exit codes", testOutput},
		{"process", testProcess},
		{"start errors", testStartErrors},
		{"users", testUsers},
		{"mounts", testMounts},
		{"signals", testSignals},
		{"exec", testExec},
		{"removal", testRemoval},
		{"pod", testPod},
		{"confinement", testConfinement},
		{"concurrency", testConcurrency},
		{"unknown names", testUnknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s := &suite{Fixture: open(t), ctx: ctx}
			t.Cleanup(func() {
				if err := s.Runtime.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			s.sandbox(t, "pod")
			test.run(t, s)
		})
	}
}

type suite struct {
	Fixture
	ctx context.Context
	mu  sync.Mutex
	n   int
}

func (s *suite) sandbox(t *testing.T, id string) {
	t.Helper()
	if _, err := s.Runtime.CreateSandbox(s.ctx, runtime.SandboxConfig{ID: id, Hostname: id + "-host",
		Hosts: "10.1.2.3 friend\n", ResolvConf: "nameserver 169.254.1.1\n"}); err != nil {
		t.Fatalf("CreateSandbox: %v", err)
	}
}

// running is a started container and what it has written so far.
type running struct {
	id       string
	out, err output
}

// start starts a container of the first sandbox with the given actions.
func (s *suite) start(t *testing.T, change func(*runtime.ContainerConfig), actions ...string) *running {
	t.Helper()
	c, err := s.tryStart(change, actions...)
	if err != nil {
		t.Fatalf("StartContainer: %v", err)
	}
	return c
}

func (s *suite) tryStart(change func(*runtime.ContainerConfig), actions ...string) (*running, error) {
	s.mu.Lock()
	s.n++
	c := &running{id: fmt.Sprint("c", s.n)}
	s.mu.Unlock()
	config := runtime.ContainerConfig{ID: c.id, SandboxID: "pod", Image: s.Image, Args: actions, Stdout: &c.out, Stderr: &c.err}
	if change != nil {
		change(&config)
		c.id = config.ID
	}
	return c, s.Runtime.StartContainer(s.ctx, config)
}

// run runs a container to its end, which must be with exit code 0, and
// returns its output.
func (s *suite) run(t *testing.T, change func(*runtime.ContainerConfig), actions ...string) string {
	t.Helper()
	c := s.start(t, change, actions...)
	exit := s.wait(t, c)
	if exit.Code != 0 {
		t.Fatalf("container %v: exit %+v, output %q, errors %q", actions, exit, c.out.String(), c.err.String())
	}
	return c.out.String()
}

func (s *suite) wait(t *testing.T, c *running) runtime.Exit {
	t.Helper()
	exit, err := s.Runtime.Wait(s.ctx, c.id)
	if err != nil {
		t.Fatalf("Wait: %v", err)
	}
	return exit
}

// until waits for a line of output.
func (c *running) until(t *testing.T, line string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		if strings.Contains(c.out.String(), line+"\n") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no line %q in output %q", line, c.out.String())
		}
	}
}

func testUnknown(t *testing.T, s *suite) {
	_, waitErr := s.Runtime.Wait(s.ctx, "none")
	_, execErr := s.Runtime.Exec(s.ctx, "none", runtime.ExecConfig{Argv: []string{"x"}})
	_, imageErr := s.Runtime.Image(s.ctx, "no/such:image")
	_, startErr := s.tryStart(func(c *runtime.ContainerConfig) { c.SandboxID = "none" })
	_, imageStartErr := s.tryStart(func(c *runtime.ContainerConfig) { c.Image = "no/such:image" })
	for _, test := range []struct {
		name      string
		err, want error
	}{
		{"Wait", waitErr, runtime.ErrNotFound},
		{"Signal", s.Runtime.Signal("none", 15), runtime.ErrNotFound},
		{"Exec", execErr, runtime.ErrNotFound},
		{"RemoveContainer", s.Runtime.RemoveContainer(s.ctx, "none"), nil},
		{"RemoveSandbox", s.Runtime.RemoveSandbox(s.ctx, "none"), nil},
		{"Image", imageErr, runtime.ErrImageNotFound},
		{"StartContainer without sandbox", startErr, runtime.ErrNotFound},
		{"StartContainer without image", imageStartErr, runtime.ErrImageNotFound},
	} {
		if !errors.Is(test.err, test.want) {
			t.Errorf("%s of an unknown name: got error %v, want %v", test.name, test.err, test.want)
		}
	}
	info, err := s.Runtime.Image(s.ctx, s.Image)
	if err != nil || !strings.HasPrefix(info.ID, "sha256:") || !strings.HasPrefix(info.RepoDigest, "sha256:") {
		t.Errorf("Image: %+v, %v; want two digests", info, err)
	}
}

// output is a buffer that may be read while it is written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
