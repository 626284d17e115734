package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/units"
)

// affectedSince compares the programs with those of a git revision.
func (a *app) affectedSince(ctx context.Context, f *unitsFlags, programs []units.Program) (because map[int][]units.Use, gone []render.Target, err error) {
	temporary, err := os.MkdirTemp("", "writ-base-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(temporary)
	project, err := checkout(ctx, f.since, f.src.dir, temporary)
	if err != nil {
		return nil, nil, err
	}
	up, err := filepath.Rel(f.src.dir, f.src.root)
	if err != nil {
		return nil, nil, err
	}
	top := filepath.Join(project, up)
	if !below(top, temporary) {
		return nil, nil, fmt.Errorf("the module root %s is outside of the git repository", f.src.root)
	}
	if err := os.MkdirAll(top, 0o700); err != nil { // there was no such directory
		return nil, nil, err
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	g := &gitTree{ctx: ctx, dir: f.src.dir, root: f.src.root, base: root.FS(), ignored: map[string]bool{}}
	before := units.Before{FS: root.FS(), Same: g.same, Targets: a.targetsOf(f, project)}
	because = map[int][]units.Use{}
	for i, p := range programs {
		if uses := before.Changes(p); len(uses) > 0 {
			because[i] = uses
		}
	}
	if len(f.src.project.Images) > 0 {
		if err := g.images(f, programs, because); err != nil {
			return nil, nil, err
		}
	}
	return because, before.Gone(programs), g.err
}

// targetsOf are the programs of the project as it was; none, with a warning, when
// that was no project.
func (a *app) targetsOf(f *unitsFlags, dir string) []render.Target {
	src := f.src
	src.session = nil
	targets, err := func() ([]render.Target, error) {
		if err := src.open(dir); err != nil {
			return nil, err
		}
		if slices.Equal(src.environments, []string{"all"}) && len(src.project.Environments) == 0 {
			src.environments = nil
		}
		src.pretendBuilt()
		m, err := src.module()
		if err != nil {
			return nil, err
		}
		defer m.close()
		targets, _, err := src.targets(m)
		return targets, err
	}()
	if err != nil {
		for _, d := range diag.From(err) {
			fmt.Fprintf(a.err, "%s at %s there were no such units: %s\n", paint(a.errColor, yellow, "warning:"), f.since, d.Message)
		}
	}
	return targets
}

// gitTree is the working tree that a base is compared with.
type gitTree struct {
	ctx       context.Context
	dir, root string
	base      fs.FS
	ignored   map[string]bool // by full path
	err       error           // the first
}

func (g *gitTree) git(args ...string) ([]byte, error) {
	cmd := exec.CommandContext(g.ctx, "git", append([]string{"-C", g.dir}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("git %s: %w %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out, nil
}

// same reports whether a read that comes out otherwise in the base does so only
// because git ignores what it is about: of that there is nothing to compare with.
func (g *gitTree) same(r lang.Read) bool {
	parent, base := path.Split(r.File)
	ext, pattern := strings.CutPrefix(base, "*")
	if base != "" && !pattern {
		full := filepath.Join(g.root, filepath.FromSlash(r.File))
		if real, err := filepath.EvalSymlinks(full); err == nil {
			full = real
		}
		return g.ignores(full)
	}
	parent = path.Clean(parent)
	now, err := os.ReadDir(filepath.Join(g.root, filepath.FromSlash(parent)))
	if err != nil {
		return false
	}
	before, err := fs.ReadDir(g.base, parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	names := map[string]bool{}
	for _, e := range before {
		if strings.HasSuffix(e.Name(), ext) {
			names[e.Name()] = e.IsDir()
		}
	}
	for _, e := range now {
		if !strings.HasSuffix(e.Name(), ext) {
			continue
		}
		if was, there := names[e.Name()]; there && was == e.IsDir() {
			delete(names, e.Name())
		} else if !g.ignores(filepath.Join(g.root, filepath.FromSlash(parent), e.Name())) {
			return false
		}
	}
	return len(names) == 0
}

func (g *gitTree) ignores(full string) bool {
	is, ok := g.ignored[full]
	if ok {
		return is
	}
	_, err := g.git("check-ignore", "-q", "--", full)
	code, exited := errors.AsType[*exec.ExitError](err)
	is = err == nil
	if !is && !(exited && code.ExitCode() == 1) && g.err == nil {
		g.err = err
	}
	g.ignored[full] = is
	return is
}

// images adds the programs that take an image of which sources have changed.
func (g *gitTree) images(f *unitsFlags, programs []units.Program, because map[int][]units.Use) error {
	changed, err := g.changed(f.since)
	if err != nil {
		return err
	}
	root, err := filepath.EvalSymlinks(f.src.root)
	if err != nil {
		return err
	}
	for _, file := range changed {
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		f.src.changedImages(filepath.Join(f.src.root, name), programs, because)
	}
	return nil
}

// changed lists the files, by their real full path, that are not as in a revision,
// or that git does not know.
func (g *gitTree) changed(since string) ([]string, error) {
	top, err := g.git("rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	dir := strings.TrimSpace(string(top))
	tracked, err := g.git("diff", "--name-only", "-z", "--no-renames", since, "--")
	if err != nil {
		return nil, err
	}
	untracked, err := g.git("-C", dir, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	var all []string
	for name := range strings.SplitSeq(string(tracked)+string(untracked), "\x00") {
		if name != "" {
			all = append(all, filepath.Join(dir, filepath.FromSlash(name)))
		}
	}
	return all, nil
}
