//go:build linux

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"

	"golang.org/x/sys/unix"

	"github.com/writ-dev/writ/nodeagent/runtime"
)

// Init must be the first thing main does (and TestMain, of tests that run
// containers). In a process that a Runtime started to become a container, or
// to guard containers, it never returns; in any other it returns at once.
func Init() {
	if len(os.Args) != 2 {
		return
	}
	switch os.Args[1] {
	case initArg:
	case guardArg:
		os.Exit(beGuard())
	default:
		return
	}
	// Credentials and filters belong to a thread; exec keeps those of the
	// thread that calls it.
	goruntime.LockOSThread()
	control := os.NewFile(controlFD, "control")
	err := becomeContainer(control)
	// What follows runs only if the command could not take over.
	said := report{Error: err.Error(), Unsupported: errors.Is(err, runtime.ErrUnsupported)}
	if said.Unsupported {
		var u unsupported
		if errors.As(err, &u) {
			said.Error = string(u)
		}
	}
	_ = json.NewEncoder(control).Encode(said)
	os.Exit(127)
}

// unsupported is a runtime.ErrUnsupported whose text the parent completes.
type unsupported string

func (u unsupported) Error() string { return string(u) }

func (u unsupported) Is(target error) bool { return target == runtime.ErrUnsupported }

// becomeContainer returns only errors.
func becomeContainer(control *os.File) error {
	unix.CloseOnExec(controlFD)
	unix.CloseOnExec(processFD)
	var s spec
	if err := json.NewDecoder(control).Decode(&s); err != nil {
		return fmt.Errorf("read spec: %w", err)
	}
	// A process that shares the container's view must not open this program
	// through /proc. Becoming the command undoes it.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide process: %w", err)
	}
	// Failing to become likelier to be killed when memory is short is no
	// reason not to run.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0)
	ids, err := readIDMaps("/proc/self")
	if err != nil {
		return err
	}
	unix.Umask(0)
	if s.Exec {
		err = joinContainer()
	} else {
		err = buildRoot(&s)
	}
	if err != nil {
		return err
	}
	who, err := resolveUser(s.User)
	if err != nil {
		return err
	}
	if err := ids.check(who); err != nil {
		return err
	}
	if err := os.Chdir(s.Dir); err != nil {
		return fmt.Errorf("enter working directory: %w", err)
	}
	if err := setLimits(); err != nil {
		return err
	}
	unix.Umask(0o022)
	if err := dropPrivileges(who, ids.setGroups); err != nil {
		return err
	}
	return runCommand(&s, who, control)
}

// joinContainer enters the mount namespace of the container that processFD
// names; the other namespaces are the container's already.
func joinContainer() error {
	// A thread that shares its root and working directory cannot.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("leave the file system: %w", err)
	}
	if err := unix.Setns(processFD, unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("enter the container's file system: %w", err)
	}
	return nil
}

// setLimits gives what containerd gives: many files, no core dumps.
func setLimits() error {
	const files = 1 << 20
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &now); err != nil {
		return fmt.Errorf("read limit of open files: %w", err)
	}
	n := min(now.Max, files)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n}); err != nil {
		return fmt.Errorf("limit open files: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("limit core dumps: %w", err)
	}
	return nil
}

// runCommand makes the last preparations and becomes the command.
func runCommand(s *spec, who identity, control *os.File) error {
	env := s.Env
	if lookupEnv(env, "HOME") == "" {
		env = append(env, "HOME="+who.home)
	}
	file, err := lookPath(s.Argv[0], lookupEnv(env, "PATH"))
	if err != nil {
		return err
	}
	filter, err := seccompProgram()
	if err != nil {
		return err
	}
	// Everything but standard input, output and error closes with exec.
	if err := unix.CloseRange(controlFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close files: %w", err)
	}
	// Only now, because changing credentials undoes it. The report fails if the
	// parent was gone before.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("die with parent: %w", err)
	}
	if err := json.NewEncoder(control).Encode(report{Ready: true}); err != nil {
		return fmt.Errorf("parent is gone: %w", err)
	}
	if err := installFilter(filter); err != nil {
		return err
	}
	return execError(s.Argv[0], unix.Exec(file, s.Argv, env))
}
