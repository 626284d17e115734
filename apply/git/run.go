package git

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode"
)

const (
	maxSaid   = 4 << 10  // bytes of an error's text
	maxAnswer = 64 << 20 // bytes of git's output that is kept
	killTime  = 2 * time.Second
)

func lookGit() (string, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return "", fail(Failed, "git is not installed: %w", err)
	}
	return filepath.Abs(program)
}

// passed are the variables of this process that git sees: how to find programs
// and the way out.
var passed = []string{"PATH", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY", "SYSTEMROOT"}

// workshop is a private directory for the time of some git commands: home,
// configuration and credentials.
type workshop struct {
	m       *Mirror
	dir     string
	env     []string
	secrets []string
}

// setting is one line of configuration; see git-config(1).
type setting struct{ section, name, value string }

// workshop makes one for the scheme of a remote, or for none.
func (m *Mirror) workshop(scheme string, c Credentials, more ...setting) (*workshop, error) {
	dir, err := os.MkdirTemp(m.o.Dir, "run-")
	if err != nil {
		return nil, fail(Failed, "make a directory for git: %w", err)
	}
	w := &workshop{m: m, dir: dir}
	settings := append([]setting{
		{"core", "hooksPath", os.DevNull}, {"core", "attributesFile", os.DevNull}, {"core", "fsmonitor", "false"},
		{"core", "askPass", ""}, {"credential", "helper", ""},
		{"http", "followRedirects", "false"}, {"http", "lowSpeedLimit", "1000"}, {"http", "lowSpeedTime", "30"},
		{"protocol", "allow", "never"}, {"submodule", "recurse", "false"}, {"fetch", "unpackLimit", "1"},
		{"fetch", "recurseSubmodules", "false"}, {"transfer", "bundleURI", "false"},
		{"gc", "auto", "0"}, {"maintenance", "auto", "false"}, {"advice", "detachedHead", "false"},
	}, more...)
	w.env = []string{
		"HOME=" + dir, "GIT_CONFIG_GLOBAL=" + filepath.Join(dir, "config"), "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_ALLOW_PROTOCOL=" + scheme, "GIT_PROTOCOL_FROM_USER=0",
		"GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C",
	}
	for _, name := range passed {
		if v, ok := os.LookupEnv(name); ok {
			w.env = append(w.env, name+"="+v)
		}
	}
	if scheme != "" {
		settings = append(settings, setting{`protocol "` + scheme + `"`, "allow", "always"})
	}
	switch scheme {
	case "https":
		settings, err = w.https(settings, c)
	case "ssh":
		err = w.ssh(c)
	}
	if err == nil {
		err = w.write("config", configText(settings))
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *workshop) close() { _ = os.RemoveAll(w.dir) }

func (w *workshop) path(name string) string { return filepath.Join(w.dir, name) }

func (w *workshop) write(name string, b []byte) error {
	if err := os.WriteFile(w.path(name), b, 0o600); err != nil {
		return fail(Failed, "write for git: %w", err)
	}
	return nil
}

func configText(settings []setting) []byte {
	var b bytes.Buffer
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
	for _, s := range settings {
		fmt.Fprintf(&b, "[%s]\n\t%s = \"%s\"\n", s.section, s.name, escape.Replace(s.value))
	}
	return b.Bytes()
}

// run runs git on the mirror's repository and returns its output, no longer
// than maxAnswer.
func (w *workshop) run(ctx context.Context, args ...string) ([]byte, error) {
	out := &limited{left: maxAnswer}
	err := w.stream(ctx, nil, out, args...)
	if out.left < 0 { // then git failed because nobody listened
		return nil, fail(TooLarge, "git %s: the answer has more than %d bytes", args[0], maxAnswer)
	}
	return out.Bytes(), err
}

// stream runs git between two streams.
func (w *workshop) stream(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, w.m.o.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.m.git, append([]string{"--git-dir=" + w.m.objects()}, args...)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = w.dir, w.env, killTime
	ownGroup(cmd)
	errs := &tail{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case context.Cause(ctx) == context.DeadlineExceeded:
		return fail(Unreachable, "git %s: not done within %s", args[0], w.m.o.Timeout)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fail(Failed, "git %s: %s", args[0], w.said(errs.String(), err))
}

// said is what git wrote to its standard error, fit for a person's terminal:
// one line, bounded, without control characters and secrets.
func (w *workshop) said(text string, err error) string {
	for _, s := range w.secrets {
		text = strings.ReplaceAll(text, s, "***")
	}
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, line))
		// git's own words matter most; hints are for somebody at a keyboard.
		if line != "" && !strings.HasPrefix(line, "hint:") {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return err.Error()
	}
	return strings.Join(lines, "; ")
}

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - maxSaid; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.ToValidUTF8(string(t.b), "") }

// limited refuses to take more than a number of bytes.
type limited struct {
	bytes.Buffer
	left int64
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, io.ErrShortWrite
	}
	return l.Buffer.Write(p)
}

// ReadFrom goes through Write, which counts.
func (l *limited) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{l}, r)
}
