//go:build linux

package sandbox

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/writ-dev/writ/nodeagent/runtime"
)

// playRole is what this program does when a test starts it for a purpose.
func playRole(role string) int {
	if !Privileged() {
		code, err := Reenter(os.Args[1:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return code
	}
	switch role {
	case "agent":
		return playAgent()
	case "exit":
		code, err := strconv.Atoi(os.Args[1])
		if err != nil {
			return 1
		}
		return code
	case "wait":
		fmt.Println("ready", os.Getuid(), Privileged())
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	case "nested":
		return playNested()
	}
	return 1
}

// playAgent runs containers, says so, and waits to be killed.
func playAgent() int {
	fail := func(err error) int {
		fmt.Println("error:", err)
		return 1
	}
	store, err := probeStore()
	if err != nil {
		return fail(err)
	}
	r, err := New(Options{Dir: os.Args[1], Images: store})
	if err != nil {
		return fail(err)
	}
	ctx := context.Background()
	for pod := range 2 {
		id := fmt.Sprint("pod", pod)
		if _, err := r.CreateSandbox(ctx, runtime.SandboxConfig{ID: id, Hostname: id}); err != nil {
			return fail(err)
		}
		for n := range 2 {
			up := firstLine{seen: make(chan struct{})}
			c := runtime.ContainerConfig{ID: fmt.Sprint(id, "-", n), SandboxID: id, Image: probe64, Stdout: &up,
				Args: []string{"fork:" + os.Args[2], "say:up", "sleep:5m"}}
			if n == 1 && os.Args[3] == "users" {
				// Which makes the kernel forget the death signal.
				c.Args = []string{"fork:" + os.Args[2], "setuid:1234", "say:up", "sleep:5m"}
			}
			if err := r.StartContainer(ctx, c); err != nil {
				return fail(err)
			}
			<-up.seen
		}
	}
	executing := make(chan error)
	go func() {
		_, err := r.Exec(ctx, "pod0-0", runtime.ExecConfig{Argv: []string{"probe", "sleep:5m"}})
		executing <- err
	}()
	fmt.Println("ready")
	return fail(<-executing)
}

// firstLine tells when something is written to it.
type firstLine struct {
	seen chan struct{}
	once sync.Once
}

func (l *firstLine) Write(p []byte) (int, error) {
	l.once.Do(func() { close(l.seen) })
	return len(p), nil
}

// world is what must be the same before and after.
type world struct {
	processes, mounts, namespaces []string
}

// look counts what containers are made of: processes with mark in their
// command line or that are this program about to become a container, and
// namespaces that some thread of this program is in but not the program.
func look(t *testing.T, mark string) world {
	t.Helper()
	var w world
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]string{}
	kinds := []string{"net", "ipc", "uts", "mnt", "pid"}
	for _, kind := range kinds {
		own[kind], _ = os.Readlink("/proc/self/ns/" + kind)
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		command, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		program, _ := os.Readlink(filepath.Join("/proc", e.Name(), "exe"))
		if !strings.Contains(string(command), mark) &&
			(program != self || !strings.Contains(string(command), initArg) && !strings.Contains(string(command), guardArg)) {
			continue
		}
		w.processes = append(w.processes, e.Name()+" "+strings.ReplaceAll(string(command), "\x00", " "))
	}
	tasks, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		for _, kind := range kinds {
			if ns, err := os.Readlink(filepath.Join(task, "ns", kind)); err == nil && ns != own[kind] {
				w.namespaces = append(w.namespaces, ns)
			}
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	w.mounts = strings.Split(string(mounts), "\n")
	slices.Sort(w.namespaces)
	return w
}

func (w world) String() string {
	return fmt.Sprintf("processes %q, %d mounts, namespaces %v", w.processes, len(w.mounts), w.namespaces)
}

func (w world) equal(o world) bool {
	return slices.Equal(w.processes, o.processes) && slices.Equal(w.mounts, o.mounts) && slices.Equal(w.namespaces, o.namespaces)
}

// settle waits until the world is as it was: threads end a moment after their
// last function returns.
func settle(t *testing.T, mark string, want world) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		now := look(t, mark)
		if now.equal(want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("before: %v\nafter: %v", want, now)
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestNothingIsLeft(t *testing.T) {
	store, err := probeStore()
	if err != nil {
		t.Fatal(err)
	}
	mark := rand.Text()
	before := look(t, mark)
	dir := t.TempDir()
	cycle := func() {
		r, err := New(Options{Dir: dir, Images: store})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, err := r.CreateSandbox(ctx, runtime.SandboxConfig{ID: "p", Hostname: "p"}); err != nil {
			t.Fatal(err)
		}
		up := firstLine{seen: make(chan struct{})}
		if err := r.StartContainer(ctx, runtime.ContainerConfig{ID: "c", SandboxID: "p", Image: probe64, Stdout: &up,
			Args: []string{"fork:" + mark, "say:up", "sleep:1m"}}); err != nil {
			t.Fatal(err)
		}
		<-up.seen
		if err := r.StartContainer(ctx, runtime.ContainerConfig{ID: "bad", SandboxID: "p", Image: probe64, Command: []string{"nothing"}}); err == nil {
			t.Fatal("a missing command was started")
		}
		if _, err := r.Exec(ctx, "c", runtime.ExecConfig{Argv: []string{"probe", "say:x"}, Stdout: io.Discard, Stderr: io.Discard}); err != nil {
			t.Fatal(err)
		}
		if during := look(t, mark); len(during.processes) < 4 || len(during.namespaces) < 3 {
			t.Fatalf("the measure sees nothing while a container runs: %v", during)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "sandbox", "pods", "*")); err != nil || len(left) != 0 {
			t.Fatalf("files left: %q, %v", left, err)
		}
	}
	cycle() // The Go runtime opens files of its own the first time.
	files := openFiles(t)
	for range 3 {
		cycle()
	}
	settle(t, mark, before)
	if now := openFiles(t); now > files {
		t.Errorf("open files: %d before, %d after", files, now)
	}
}

// TestDiesWithParent kills a program that runs containers, in a way that it
// cannot notice.
func TestDiesWithParent(t *testing.T) {
	store, err := probeStore()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Unpack(t.Context(), probe64); err != nil {
		t.Fatal(err)
	}
	mark := rand.Text()
	before := look(t, mark)
	dir := t.TempDir()
	ids, err := readIDMaps("/proc/self")
	if err != nil {
		t.Fatal(err)
	}
	users := "user"
	if mapped(ids.users, 1234) {
		users = "users"
	}
	cmd := startRole(t, "agent", dir, mark, users)
	cmd.until(t, "ready")
	// Four processes each of four containers, and the guard.
	if during := look(t, mark); len(during.processes) < len(before.processes)+4*4+1 {
		t.Fatalf("containers do not run: %v", during)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // It was killed, which is an error.
	settle(t, mark, before)
	// What it left on disk goes with the next one.
	var r *Runtime
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if r, err = New(Options{Dir: dir, Images: store}); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "sandbox", "pods", "*")); err != nil || len(left) != 0 {
		t.Errorf("files left: %q, %v", left, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// role is this program, started for a purpose.
type role struct {
	*exec.Cmd
	out   *bufio.Reader
	stdin io.Closer
}

func startRole(t *testing.T, name string, args ...string) *role {
	t.Helper()
	if scratch != "" {
		t.Setenv(storeEnv, filepath.Join(scratch, "images"))
	}
	t.Setenv(roleEnv, name)
	cmd := exec.Command("/proc/self/exe", args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return &role{Cmd: cmd, out: bufio.NewReader(out), stdin: stdin}
}

func (r *role) until(t *testing.T, want string) {
	t.Helper()
	timer := time.AfterFunc(30*time.Second, func() { _ = r.Process.Signal(unix.SIGKILL) })
	defer timer.Stop()
	line, err := r.out.ReadString('\n')
	if err != nil || strings.TrimSpace(line) != want {
		t.Fatalf("program said %q, %v; want %q", line, err, want)
	}
}
