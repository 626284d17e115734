package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/writ-dev/writ/cmd/writ/internal/cli"
	"github.com/writ-dev/writ/nodeagent/runtime/sandbox"
)

// binDir holds a copy of the test binary named writ; a process of that name
// is the command, so the tests need no build of their own.
var binDir string

func TestMain(m *testing.M) {
	sandbox.Init()
	if filepath.Base(os.Args[0]) == "writ" {
		os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "writ-test-")
	if err == nil {
		defer os.RemoveAll(dir)
		binDir = dir
		err = installWrit(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "install the command for the tests:", err)
		return 1
	}
	return m.Run()
}

// installWrit copies this binary where other users may run it.
func installWrit(dir string) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	in, err := os.Open(self)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(filepath.Join(dir, "writ"), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:         "testdata/script",
		WorkdirRoot: worldReadable(t),
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			if err := os.MkdirAll(home, 0o777); err != nil {
				return err
			}
			goroot, gomod, gocache := goEnv()
			e.Setenv("PATH", binDir+":"+filepath.Join(goroot, "bin")+":"+os.Getenv("PATH"))
			e.Setenv("HOME", home)
			e.Setenv("ROOT", root)
			e.Setenv("GOMODCACHE", gomod)
			e.Setenv("GOCACHE", gocache)
			e.Setenv("GOFLAGS", "-buildvcs=false")
			e.Setenv("KUBECTL", os.Getenv("WRIT_KUBECTL"))
			e.Setenv("NO_COLOR", "1")
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			if cond == "kubectl" {
				return os.Getenv("WRIT_KUBECTL") != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"waitfor": waitFor,
			"family":  family,
			"nothing": nothing,
			"capture": capture,
			"fetch":   fetch,
		},
	})
}

// worldReadable is a working directory that other users can enter.
func worldReadable(t *testing.T) string {
	dir, err := os.MkdirTemp("", "writ-script-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func goEnv() (goroot, gomod, gocache string) {
	out, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE", "GOCACHE").Output()
	if err != nil {
		return "", "", ""
	}
	f := strings.Split(strings.TrimSpace(string(out)), "\n")
	return f[0], f[1], f[2]
}

var failed = regexp.MustCompile("(?m)^error: ")

// waitFor polls until a file matches a pattern; its default limit is 60 s. A
// line that starts with "error:" ends it, since nothing more will come.
//
//	waitfor up.out 'ready .*'
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: waitfor FILE PATTERN [SECONDS]")
	}
	limit := 60
	if len(args) > 2 {
		n, err := strconv.Atoi(args[2])
		ts.Check(err)
		limit = n
	}
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	deadline := time.Now().Add(time.Duration(limit) * time.Second)
	for {
		b, _ := os.ReadFile(ts.MkAbs(args[0]))
		if re.Match(b) {
			return
		}
		if time.Now().After(deadline) || failed.Match(b) {
			ts.Fatalf("%s does not match %q within %d s:\n%s", args[0], args[1], limit, b)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// capture sets a variable to the first group of a pattern in a file.
//
//	capture URL up.out '(http://[0-9.:]+)'
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 || neg {
		ts.Fatalf("usage: capture VARIABLE FILE PATTERN")
	}
	re, err := regexp.Compile("(?m)" + args[2])
	ts.Check(err)
	m := re.FindStringSubmatch(ts.ReadFile(args[1]))
	if m == nil {
		ts.Fatalf("%s does not match %q:\n%s", args[1], args[2], ts.ReadFile(args[1]))
	}
	ts.Setenv(args[0], m[1])
}

// fetch reads an http URL until it answers 200, and keeps the body in a file.
//
//	fetch $URL page.html
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: fetch URL FILE")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var last error
	for ctx.Err() == nil {
		out, err := exec.CommandContext(ctx, "curl", "-fsS", "--max-time", "5", args[0]).Output()
		if err == nil {
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), out, 0o644))
			return
		}
		last = err
		time.Sleep(100 * time.Millisecond)
	}
	ts.Fatalf("%s: %v", args[0], last)
}

// family remembers the processes that were started below the script's
// commands, with their network namespaces, for nothing to look for.
func family(ts *testscript.TestScript, neg bool, args []string) {
	var lines []string
	for _, p := range descendants(ts.Getenv("WORK")) {
		lines = append(lines, fmt.Sprintf("%d %s %s", p.pid, p.start, p.netns))
	}
	if (len(lines) == 0) != neg {
		ts.Fatalf("processes below this script: %d", len(lines))
	}
	ts.Logf("%d processes", len(lines))
	ts.Check(os.WriteFile(ts.MkAbs("family"), []byte(strings.Join(lines, "\n")), 0o644))
}

// nothing checks that the processes remembered by family are gone, that no
// other process is in one of their network namespaces, and that nothing is
// mounted below the script's directory.
func nothing(ts *testscript.TestScript, neg bool, args []string) {
	host, err := os.Readlink("/proc/self/ns/net")
	ts.Check(err)
	before := map[string]bool{}
	for line := range strings.Lines(ts.ReadFile("family")) {
		if f := strings.Fields(line); len(f) == 3 {
			before[f[0]+" "+f[1]] = true
			before[f[2]] = f[2] != host
		}
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		var left []string
		for _, p := range processes() {
			if before[fmt.Sprintf("%d %s", p.pid, p.start)] || before[p.netns] {
				left = append(left, fmt.Sprintf("process %d %s in %s", p.pid, p.command, p.netns))
			}
		}
		mounts, _ := os.ReadFile("/proc/self/mounts")
		for line := range strings.Lines(string(mounts)) {
			if strings.Contains(line, ts.Getenv("WORK")) {
				left = append(left, "mount "+strings.TrimSpace(line))
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("left behind:\n%s", strings.Join(left, "\n"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

type process struct {
	pid, parent           int
	start, netns, command string
	env                   []byte
}

// processes lists what /proc shows.
func processes() []process {
	var all []process
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		// The command is in parentheses and may hold anything.
		i := bytes.LastIndexByte(stat, ')')
		fields := strings.Fields(string(stat[i+1:]))
		if len(fields) < 20 || fields[0] == "Z" {
			continue
		}
		p := process{start: fields[19]}
		p.pid, _ = strconv.Atoi(filepath.Base(dir))
		p.parent, _ = strconv.Atoi(fields[1])
		p.netns, _ = os.Readlink(filepath.Join(dir, "ns", "net"))
		p.env, _ = os.ReadFile(filepath.Join(dir, "environ"))
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		p.command = string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		all = append(all, p)
	}
	return all
}

// descendants lists the processes that were started with this script's WORK,
// and all below them.
func descendants(work string) []process {
	all := processes()
	in := map[int]bool{}
	for range 10 { // deep enough for any chain; parents may come late
		for _, p := range all {
			in[p.pid] = in[p.pid] || in[p.parent] || bytes.Contains(p.env, []byte("WORK="+work+"\x00"))
		}
	}
	var out []process
	for _, p := range all {
		if in[p.pid] {
			out = append(out, p)
		}
	}
	return out
}
