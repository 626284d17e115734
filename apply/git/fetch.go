package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// here is the mirror's own name for what was last fetched.
const here = "refs/writ/fetched"

// manyPacks is how many fetches leave their packs lying around.
const manyPacks = 20

// Fetch makes a remote's commit the mirror's. Nothing is transferred when it is
// already. The tree stays as it was until Checkout.
func (m *Mirror) Fetch(ctx context.Context, r Remote) (Commit, error) {
	scheme, err := CheckURL(r.URL)
	if err != nil {
		return Commit{}, err
	}
	if scheme == "file" && !m.o.AllowFile {
		return Commit{}, fail(InvalidRemote, "file URLs are not allowed here")
	}
	if err := CheckRef(r.Ref); err != nil {
		return Commit{}, err
	}
	w, err := m.workshop(scheme, r.Credentials)
	if err != nil {
		return Commit{}, err
	}
	defer w.close()
	if err := w.prepare(ctx); err != nil {
		return Commit{}, err
	}
	target, err := w.resolve(ctx, r)
	if err != nil {
		return Commit{}, err
	}
	if id, err := w.commit(ctx); err == nil && (id == target.ID || id == target.peeled) {
		return Commit{ID: id, Ref: target.Ref}, nil
	}
	err = w.fetch(ctx, r.URL, target)
	if (ReasonOf(err) == Failed || ReasonOf(err) == Unreachable) && err != nil && ctx.Err() == nil {
		// It may be the mirror that is broken: a machine may lose what was
		// written last. There is nothing in it that is not in the remote.
		if err := os.RemoveAll(m.objects()); err != nil {
			return Commit{}, fail(Failed, "remove a broken mirror: %w", err)
		}
		if err := w.prepare(ctx); err != nil {
			return Commit{}, err
		}
		err = w.fetch(ctx, r.URL, target)
	}
	if err != nil {
		return Commit{}, err
	}
	id, err := w.commit(ctx)
	if err != nil {
		return Commit{}, fail(Refused, "%s of %s is no commit", orHead(r.Ref), r.URL)
	}
	w.tidy(ctx)
	return Commit{ID: id, Ref: target.Ref}, nil
}

// target is what is to be fetched.
type target struct {
	Commit
	// peeled is the commit that a tag names.
	peeled string
}

// prepare makes the bare repository, and clears away what a fetch that was cut
// off has left.
func (w *workshop) prepare(ctx context.Context) error {
	left, _ := filepath.Glob(filepath.Join(w.m.objects(), "objects", "pack", "tmp_*"))
	locks, _ := filepath.Glob(filepath.Join(w.m.objects(), "*.lock"))
	refs, _ := filepath.Glob(filepath.Join(w.m.objects(), filepath.FromSlash(here)+".lock"))
	for _, name := range append(append(left, locks...), refs...) {
		_ = os.Remove(name) // the mirror is this process's alone
	}
	runs, _ := filepath.Glob(filepath.Join(w.m.o.Dir, "run-*"))
	for _, name := range runs {
		if name != w.dir {
			_ = os.RemoveAll(name)
		}
	}
	if _, err := os.Stat(filepath.Join(w.m.objects(), "HEAD")); err == nil {
		return nil
	}
	_, err := w.run(ctx, "init", "--quiet", "--bare", "--template=")
	return err
}

// resolve asks the remote what a ref is.
func (w *workshop) resolve(ctx context.Context, r Remote) (target, error) {
	if objectID.MatchString(r.Ref) {
		return target{Commit: Commit{ID: r.Ref}, peeled: r.Ref}, nil
	}
	names := []string{"refs/heads/" + r.Ref, "refs/tags/" + r.Ref, "refs/tags/" + r.Ref + "^{}"}
	switch {
	case r.Ref == "" || r.Ref == "HEAD":
		names = []string{"HEAD"}
	case strings.HasPrefix(r.Ref, "refs/"):
		names = []string{r.Ref, r.Ref + "^{}"}
	}
	out, err := w.run(ctx, append([]string{"ls-remote", "--quiet", "--symref", "--", r.URL}, names...)...)
	if err != nil {
		return target{}, unreachable(r.URL, err)
	}
	ids := map[string]string{}
	head := ""
	for line := range strings.Lines(string(out)) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if branch, ok := strings.CutPrefix(id, "ref: "); ok && name == "HEAD" {
			head = branch
		} else if objectID.MatchString(id) {
			ids[name] = id
		}
	}
	var found []target
	for _, name := range names {
		if id := ids[name]; id != "" && !strings.HasSuffix(name, "^{}") {
			found = append(found, target{Commit{ID: id, Ref: name}, ids[name+"^{}"]})
		}
	}
	switch len(found) {
	case 0:
		return target{}, fail(RefNotFound, "%s has no branch or tag %q", r.URL, orHead(r.Ref))
	case 1:
	default:
		return target{}, fail(RefNotFound, "%s has both a branch and a tag %q; write refs/heads/%s or refs/tags/%s", r.URL, r.Ref, r.Ref, r.Ref)
	}
	if found[0].Ref == "HEAD" && CheckRef(head) == nil && strings.HasPrefix(head, "refs/heads/") {
		found[0].Ref = head
	}
	return found[0], nil
}

func orHead(ref string) string {
	if ref == "" {
		return "HEAD"
	}
	return ref
}

// unreachable says of a failure that it is about the remote.
func unreachable(url string, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Reason != Failed {
		return err
	}
	return fail(Unreachable, "read %s: %w", url, err)
}

// fetch transfers a commit without its history.
func (w *workshop) fetch(ctx context.Context, url string, t target) error {
	from := t.Ref
	if from == "" {
		from = t.ID
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	before, done := size(w.m.objects()), make(chan struct{})
	watched := make(chan struct{})
	over := fail(TooLarge, "%s: more than the %d bytes that a fetch may bring", url, w.m.o.MaxFetch)
	go func() {
		defer close(watched)
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
				if size(w.m.objects())-before > w.m.o.MaxFetch {
					cancel(over)
				}
			}
		}
	}()
	_, err := w.run(ctx, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--force", "--depth=1",
		"--", url, "+"+from+":"+here)
	close(done)
	<-watched
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err == nil && size(w.m.objects())-before > w.m.o.MaxFetch {
		err = over
	}
	if ReasonOf(err) == TooLarge {
		_ = os.RemoveAll(w.m.objects()) // else it would stay as large
	}
	if err != nil && t.Ref == "" && ReasonOf(err) == Failed {
		return fail(RefNotFound, "%s does not give commit %s; it may be gone from there: %w", url, t.ID, err)
	}
	return unreachable(url, err)
}

// commit is what was fetched last.
func (w *workshop) commit(ctx context.Context) (string, error) {
	out, err := w.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", here+"^{commit}")
	return strings.TrimSpace(string(out)), err
}

// tidy makes one pack of many; what goes wrong with that matters to nobody.
func (w *workshop) tidy(ctx context.Context) {
	packs, _ := filepath.Glob(filepath.Join(w.m.objects(), "objects", "pack", "*.pack"))
	if len(packs) > manyPacks {
		_, _ = w.run(ctx, "gc", "--quiet", "--prune=now")
	}
}

// size is how many bytes the files below a directory have.
func size(dir string) int64 {
	var total int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				total += info.Size()
			}
		}
		return nil
	})
	return total
}
