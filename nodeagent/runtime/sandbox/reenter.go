//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// reentered marks the environment of a program that Reenter started.
const reentered = "WRIT_USER_NAMESPACE"

// Privileged tells whether this program has CAP_SYS_ADMIN in its user
// namespace, without which there are no sandboxes.
func Privileged() bool {
	var data [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	return data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// Reenter runs this program again with args (without the program's name) in a
// new user namespace, where the caller is root, and waits for it. Nothing but
// the user namespace changes: files, network and process IDs are the caller's.
// Signals are passed on; code is the exit code to end with, 128+signal if a
// signal ended it. The second program dies with the first.
//
// The error says which setting of the system forbids user namespaces.
func Reenter(args []string) (code int, err error) {
	if os.Getenv(reentered) != "" {
		return 0, fmt.Errorf("enter a user namespace: it gives no capabilities here: %s", explainUserNS("/proc/sys"))
	}
	// Pdeathsig is about the thread that forks: it must stay until the end.
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), reentered+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("enter a user namespace: %w: %s", err, explainUserNS("/proc/sys"))
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case s := <-signals:
				if !fromTerminal(s) {
					// It may have ended meanwhile, which is no error.
					_ = cmd.Process.Signal(s)
				}
			case <-stop:
				return
			}
		}
	}()
	err = cmd.Wait()
	close(stop)
	<-stopped
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("wait for the program in the user namespace: %w", err)
	}
	return exitCode(cmd.ProcessState), nil
}

// fromTerminal tells whether a signal was sent by the terminal, which sends to
// every process of the foreground group, so that the other program has it
// already: twice would mean "stop at once" to many.
func fromTerminal(s os.Signal) bool {
	if s != syscall.SIGINT && s != syscall.SIGQUIT {
		return false
	}
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(tty)
	foreground, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && foreground == unix.Getpgrp()
}

func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// explainUserNS says which setting below dir (/proc/sys) keeps ordinary users
// from making namespaces, and what to do about it.
func explainUserNS(dir string) string {
	for _, setting := range []struct{ name, bad, good string }{
		{"kernel.unprivileged_userns_clone", "0", "1"},
		{"user.max_user_namespaces", "0", "15000"},
		{"user.max_net_namespaces", "0", "15000"},
		{"user.max_mnt_namespaces", "0", "15000"},
		{"user.max_pid_namespaces", "0", "15000"},
		{"kernel.apparmor_restrict_unprivileged_userns", "1", "0"},
	} {
		data, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(setting.name, ".", "/")))
		if err == nil && strings.TrimSpace(string(data)) == setting.bad {
			return fmt.Sprintf("%[1]s is %[2]s, which forbids user namespaces to ordinary users; allow them with `sudo sysctl -w %[1]s=%[3]s`, or run as root",
				setting.name, setting.bad, setting.good)
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(dir), "self/ns/user")); err != nil {
		return "this kernel has no user namespaces (CONFIG_USER_NS); run as root"
	}
	return "no sysctl forbids it, so a container or a security module probably does; run as root, or outside the container"
}
