// Command probe is the program inside the containers of the runtime suite.
// Each argument is one action; they run in order.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	for _, action := range os.Args[1:] {
		name, arg, _ := strings.Cut(action, ":")
		if err := act(name, arg); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
	}
}

func act(name, arg string) error {
	switch name {
	case "say":
		fmt.Println(arg)
	case "complain":
		fmt.Fprintln(os.Stderr, arg)
	case "exit":
		code, err := strconv.Atoi(arg)
		if err != nil {
			return err
		}
		os.Exit(code)
	case "env":
		fmt.Println(arg + "=" + os.Getenv(arg))
	case "dir":
		dir, err := os.Getwd()
		fmt.Println(dir)
		return err
	case "ids":
		fmt.Println(os.Getuid(), os.Getgid(), os.Getpid())
	case "hostname":
		host, err := os.Hostname()
		fmt.Println(host)
		return err
	case "read":
		data, err := os.ReadFile(arg)
		fmt.Println(strings.TrimSpace(string(data)))
		return err
	case "write":
		path, text, _ := strings.Cut(arg, "=")
		return os.WriteFile(path, []byte(text), 0o644)
	case "list":
		names, err := filepath.Glob(arg)
		fmt.Println(strings.Join(names, " "))
		return err
	case "status":
		return status(arg)
	case "sleep":
		wait, err := time.ParseDuration(arg)
		time.Sleep(wait)
		return err
	case "lines":
		return lines(arg)
	case "cat":
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	case "die":
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	default:
		return more(name, arg)
	}
	return nil
}

func more(name, arg string) error {
	switch name {
	case "term":
		// Ends with the given code on SIGTERM, after saying that it listens.
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		fmt.Println("ready")
		<-signals
		fmt.Println("terminated")
		return act("exit", arg)
	case "fork":
		// Leaves children behind that would run for a minute. The argument
		// makes them findable.
		for range 3 {
			if err := exec.Command("/proc/self/exe", "sleep:1m", "say:"+arg).Start(); err != nil {
				return err
			}
		}
	case "try":
		return try(arg)
	case "setuid":
		uid, err := strconv.Atoi(arg)
		if err != nil {
			return err
		}
		return syscall.Setuid(uid)
	case "files":
		return files()
	case "interfaces":
		all, err := net.Interfaces()
		for _, i := range all {
			fmt.Println(i.Name)
		}
		return err
	default:
		return fmt.Errorf("no action %q", name)
	}
	return nil
}

// try attempts what a container must not be able to do and says how it went.
func try(what string) error {
	var err error
	switch what {
	case "mount":
		err = syscall.Mount("tmpfs", "/tmp", "tmpfs", 0, "")
	case "userns":
		err = (&exec.Cmd{Path: "/proc/self/exe", Args: []string{"probe"}, SysProcAttr: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}}).Run()
	case "netns":
		err = syscall.Unshare(syscall.CLONE_NEWNET)
	case "mknod":
		err = syscall.Mknod("/tmp/disk", syscall.S_IFBLK|0o600, 0x800)
	case "rawsocket":
		_, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_RAW, syscall.IPPROTO_ICMP)
	case "sethostname":
		err = syscall.Sethostname([]byte("mine"))
	case "sysctl":
		err = os.WriteFile("/proc/sys/kernel/panic", []byte("0"), 0)
	case "chroot":
		err = syscall.Chroot("/tmp")
	case "lowport":
		var l net.Listener
		if l, err = net.Listen("tcp", "0.0.0.0:80"); err == nil {
			err = l.Close()
		}
	default:
		return fmt.Errorf("no attempt %q", what)
	}
	var errno syscall.Errno
	switch {
	case err == nil:
		fmt.Println(what, "worked")
	case errors.As(err, &errno):
		fmt.Println(what, errno)
	default:
		fmt.Println(what, err)
	}
	return nil
}

// files prints what is open, but for what the Go runtime itself opened.
func files() error {
	names, err := filepath.Glob("/proc/self/fd/*")
	var open []string
	for _, name := range names {
		target, err := os.Readlink(name)
		if err != nil || strings.HasPrefix(target, "anon_inode:") {
			continue // The second is epoll, the first was Glob's own.
		}
		target, _, _ = strings.Cut(target, ":")
		open = append(open, target)
	}
	fmt.Println(strings.Join(open, " "))
	return err
}

// status prints one line of /proc/self/status.
func status(name string) error {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	for in.Scan() {
		if value, ok := strings.CutPrefix(in.Text(), name+":"); ok {
			fmt.Println(strings.TrimSpace(value))
			return nil
		}
	}
	return in.Err()
}

// lines prints numbered lines, alternating between the two outputs.
func lines(arg string) error {
	n, err := strconv.Atoi(arg)
	out, errs := bufio.NewWriter(os.Stdout), bufio.NewWriter(os.Stderr)
	for i := range n {
		fmt.Fprintln(out, "out", i)
		fmt.Fprintln(errs, "err", i)
	}
	return errors.Join(err, out.Flush(), errs.Flush())
}
