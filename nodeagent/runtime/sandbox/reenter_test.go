//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// asNobody starts this program as an ordinary user in a given role; root's run
// and an ordinary user's own are the same to it.
func asNobody(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", args...)
	if os.Getenv(reentered) == "" {
		dir, env := nobodyHome(t)
		cmd = exec.CommandContext(t.Context(), filepath.Join(dir, "sandbox.test"), args...)
		cmd.Dir, cmd.Env = dir, env
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	} else {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, roleEnv+"="+role)
	return cmd
}

func TestReenterPassesExitCode(t *testing.T) {
	out, err := asNobody(t, "exit", "23").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 23 {
		t.Errorf("got %v, want exit status 23; output %q", err, out)
	}
}

func TestReenterPassesSignals(t *testing.T) {
	cmd := asNobody(t, "wait")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 64)
	n, err := out.Read(line)
	if got := string(line[:n]); got != "ready 0 true\n" {
		t.Fatalf("program said %q, %v", got, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	var exit *exec.ExitError
	err = cmd.Wait()
	if !errors.As(err, &exit) {
		t.Fatalf("Wait: %v", err)
	}
	// In a user namespace already, the program has no second one between.
	if got := exitCode(exit.ProcessState); got != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d, want 143", got)
	}
}

// playNested forbids user namespaces to this one, becomes powerless in it and
// tries to enter one.
func playNested() int {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		fmt.Println(err)
		return 1
	}
	if err := os.Unsetenv(reentered); err != nil {
		return 1
	}
	_, err := Reenter([]string{"0"})
	fmt.Println(err)
	return 0
}

func TestReenterSaysWhatForbidsIt(t *testing.T) {
	out, err := asNobody(t, "nested").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"enter a user namespace", "user.max_user_namespaces is 0", "sudo sysctl -w user.max_user_namespaces="} {
		if !strings.Contains(string(out), want) {
			t.Errorf("message %q lacks %q", out, want)
		}
	}
}

func TestExplainUserNS(t *testing.T) {
	for _, test := range []struct{ name, file, value, want string }{
		{"debian", "kernel/unprivileged_userns_clone", "0\n", "kernel.unprivileged_userns_clone=1"},
		{"ubuntu", "kernel/apparmor_restrict_unprivileged_userns", "1\n", "kernel.apparmor_restrict_unprivileged_userns=0"},
		{"limit", "user/max_user_namespaces", "0\n", "user.max_user_namespaces=15000"},
		{"allowed", "kernel/unprivileged_userns_clone", "1\n", "no user namespaces"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "sys")
			file := filepath.Join(dir, test.file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(test.value), 0o644); err != nil {
				t.Fatal(err)
			}
			if got := explainUserNS(dir); !strings.Contains(got, test.want) {
				t.Errorf("got %q, want it to contain %q", got, test.want)
			}
		})
	}
}

func TestPrivilegedMatchesKernel(t *testing.T) {
	err := unix.Access("/proc/self/ns/user", unix.R_OK)
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	onThread(func() { result <- unix.Unshare(unix.CLONE_NEWUTS) })
	if err := <-result; Privileged() != (err == nil) {
		t.Errorf("Privileged() = %v, but making a namespace: %v", Privileged(), err)
	}
}
