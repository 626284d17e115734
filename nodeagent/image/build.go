package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// BuildOptions says what to build.
type BuildOptions struct {
	// Dir is the directory of a Go main package.
	Dir string
	// Ref names the image, name or name:tag. A digest is refused.
	Ref string
	// OS and Arch are the platform, as in GOOS and GOARCH. Default: linux and
	// the architecture of this program.
	OS, Arch string
	// Progress, if set, is told what is being done, one short line at a time.
	Progress func(string)
}

// maxOutput bounds how much of a compiler's output is kept, in bytes.
const maxOutput = 64 << 10

// buildFlags make a binary that depends on nothing but the sources.
var buildFlags = []string{"-trimpath", "-buildvcs=false"}

// majorVersion is the last element of a module path, which names no program.
var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

const linkFlags = "-s -w -buildid="

// Build compiles a Go package into a static program and stores it as an image
// of one layer. The digest depends only on the sources, the Go version and the
// platform. Errors of the compiler are returned as it printed them. Sources
// that were built before are recognised by Go's own build cache and not linked
// again.
func (s *Store) Build(ctx context.Context, o BuildOptions) (Result, error) {
	ref, err := ParseReference(o.Ref)
	if err != nil {
		return Result{}, err
	}
	if ref.Name == "" || ref.Digest != "" {
		return Result{}, fmt.Errorf("build image %s: a digest is the result of a build; give a name", o.Ref)
	}
	if o.OS == "" {
		o.OS = "linux"
	}
	if o.Arch == "" {
		o.Arch = runtime.GOARCH
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if info, err := os.Stat(o.Dir); err != nil {
		return Result{}, fmt.Errorf("build image %s: %w", o.Ref, err)
	} else if !info.IsDir() {
		return Result{}, fmt.Errorf("build image %s: %s is not a directory", o.Ref, o.Dir)
	}
	b := builder{store: s, options: o}
	result, err := b.run(ctx, ref)
	if err != nil {
		return Result{}, fmt.Errorf("build image %s from %s: %w", o.Ref, o.Dir, err)
	}
	return result, nil
}

type builder struct {
	store   *Store
	options BuildOptions
	goTool  string
}

func (b *builder) run(ctx context.Context, ref Reference) (Result, error) {
	var err error
	if b.goTool, err = exec.LookPath("go"); err != nil {
		return Result{}, errors.New("the go tool is not on PATH; install Go from https://go.dev/dl, or use an image that is already in the store")
	}
	b.options.Progress("compile " + b.options.Dir)
	program, key, err := b.inspect(ctx)
	if err != nil {
		return Result{}, err
	}
	if digest, ok := b.remembered(key); ok {
		found, err := b.store.name(digest, ref)
		if found || err != nil {
			return Result{Ref: ref.Name + "@" + digest.String(), Digest: digest.String()}, err
		}
	}
	b.options.Progress("link " + program)
	binary, err := b.link(ctx)
	if err != nil {
		return Result{}, err
	}
	img, err := programImage(binary, program, b.options.OS, b.options.Arch)
	if err != nil {
		return Result{}, err
	}
	result, err := b.store.put(img, ref)
	if err != nil {
		return Result{}, err
	}
	return result, b.store.writeFile(filepath.Join(b.store.dir, "builds", key), []byte(result.Digest))
}

// inspect compiles without linking. It returns the program's name and a key
// that changes whenever any package that goes into it changes: go list -export
// prints the build ID of each, which covers its sources, embedded files,
// compiler and flags.
func (b *builder) inspect(ctx context.Context) (program, key string, err error) {
	args := append([]string{"list", "-export", "-deps", "-f", "{{.Name}} {{.ImportPath}} {{.BuildID}}"}, buildFlags...)
	out, err := b.goCommand(ctx, append(args, ".")...)
	if err != nil {
		return "", "", err
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	last := strings.Fields(lines[len(lines)-1])
	if len(last) != 3 {
		return "", "", fmt.Errorf("go list printed %q", lines[len(lines)-1])
	}
	if last[0] != "main" {
		return "", "", fmt.Errorf("package %s is not a program: it is package %s, not package main", last[1], last[0])
	}
	program = path.Base(last[1])
	if majorVersion.MatchString(program) && path.Dir(last[1]) != "." {
		program = path.Base(path.Dir(last[1]))
	}
	if program == "command-line-arguments" || program == "." {
		abs, err := filepath.Abs(b.options.Dir)
		if err != nil {
			return "", "", err
		}
		program = filepath.Base(abs)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{"1", b.options.OS, b.options.Arch, program, linkFlags, out}, "\n")))
	return program, hex.EncodeToString(sum[:]), nil
}

// link makes the binary and returns it.
func (b *builder) link(ctx context.Context) ([]byte, error) {
	dir, err := os.MkdirTemp(filepath.Join(b.store.dir, "tmp"), "build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "program")
	args := append([]string{"build", "-o", binary, "-ldflags", linkFlags}, buildFlags...)
	if _, err := b.goCommand(ctx, append(args, ".")...); err != nil {
		return nil, err
	}
	return os.ReadFile(binary)
}

// goCommand runs the go tool in the package's directory and returns what it
// printed; a failure is what it printed as an error.
func (b *builder) goCommand(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, b.goTool, args...)
	cmd.Dir = b.options.Dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+b.options.OS, "GOARCH="+b.options.Arch)
	cmd.Env = append(cmd.Env, b.store.goCaches()...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &limited{w: &stderr, left: maxOutput}
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		if text := strings.TrimSpace(stderr.String()); text != "" {
			return "", fmt.Errorf("go %s: %w\n%s", args[0], err, text)
		}
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return stdout.String(), nil
}

// goCaches gives the go tool a cache inside the store when the user has no
// home directory to keep one in, as service users do.
func (s *Store) goCaches() []string {
	var env []string
	if os.Getenv("GOCACHE") == "" {
		dir, err := os.UserCacheDir()
		if err == nil {
			err = os.MkdirAll(filepath.Join(dir, "go-build"), 0o755)
		}
		if err != nil {
			env = append(env, "GOCACHE="+filepath.Join(s.dir, "builds", "go-cache"))
		}
	}
	if os.Getenv("GOPATH") == "" && os.Getenv("GOMODCACHE") == "" {
		home, err := os.UserHomeDir()
		if err == nil {
			_, err = os.Stat(home)
		}
		if err != nil {
			env = append(env, "GOPATH="+filepath.Join(s.dir, "builds", "go-path"))
		}
	}
	return env
}

// remembered returns the image that an earlier build of the same inputs made.
func (b *builder) remembered(key string) (v1.Hash, bool) {
	data, err := os.ReadFile(filepath.Join(b.store.dir, "builds", key))
	if err != nil {
		return v1.Hash{}, false
	}
	h, err := v1.NewHash(string(data))
	if err != nil {
		return v1.Hash{}, false
	}
	return h, true
}

// limited drops what goes beyond its bound.
type limited struct {
	w    *strings.Builder
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	keep := p[:min(len(p), l.left)]
	l.left -= len(keep)
	l.w.Write(keep)
	return len(p), nil
}
