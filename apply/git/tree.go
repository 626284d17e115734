package git

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Checkout is what became of the tree.
type Checkout struct {
	// Written and Removed count the files that differ from the tree before.
	Written, Removed int
	// Skipped are the paths of submodules, which are not fetched.
	Skipped []string
}

// entry is a file of a commit: its mode and id in git.
type entry struct {
	Mode string `json:"mode"`
	ID   string `json:"id"`
	size int64
}

const (
	modeLink      = "120000"
	modeSubmodule = "160000"
)

// listing is what is known to be in the tree.
type listing struct {
	Commit string           `json:"commit"`
	Files  map[string]entry `json:"files"`
}

func (m *Mirror) listingFile() string { return filepath.Join(m.o.Dir, "tree.json") }

// CheckedOut returns the commit whose files are in the tree, empty when it has
// none or was left half written.
func (m *Mirror) CheckedOut() string { return m.listed().Commit }

func (m *Mirror) listed() (l listing) {
	b, err := os.ReadFile(m.listingFile())
	if err != nil || json.Unmarshal(b, &l) != nil {
		return listing{}
	}
	return l
}

// Checkout makes the tree that of a commit that was fetched. Only files that
// differ are written. While it is at it, and after a failure, the tree is
// nobody's, and the next Checkout writes it anew.
func (m *Mirror) Checkout(ctx context.Context, commit string) (*Checkout, error) {
	before := m.listed()
	if before.Commit == commit {
		return &Checkout{}, nil
	}
	w, err := m.workshop("", Credentials{})
	if err != nil {
		return nil, err
	}
	defer w.close()
	out, err := w.run(ctx, "ls-tree", "-r", "-l", "-z", "--full-tree", "--end-of-options", commit)
	if err != nil {
		return nil, err
	}
	files, result, err := m.files(out)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(m.listingFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fail(Failed, "change the tree: %w", err)
	}
	if before.Commit == "" {
		if err := os.RemoveAll(m.Tree()); err != nil {
			return nil, fail(Failed, "clear the tree: %w", err)
		}
	}
	if err := os.MkdirAll(m.Tree(), 0o700); err != nil {
		return nil, fail(Failed, "make the tree: %w", err)
	}
	root, err := os.OpenRoot(m.Tree())
	if err != nil {
		return nil, fail(Failed, "open the tree: %w", err)
	}
	defer root.Close()
	if err := removeOld(root, before.Files, files, result); err != nil {
		return nil, err
	}
	if err := w.writeNew(ctx, root, before.Files, files, result); err != nil {
		return nil, err
	}
	if err := checkLinks(root, files); err != nil {
		return nil, err
	}
	b, err := json.Marshal(listing{commit, files})
	if err != nil {
		return nil, err
	}
	temporary := m.listingFile() + ".new"
	if err := os.WriteFile(temporary, b, 0o600); err != nil {
		return nil, fail(Failed, "list the tree: %w", err)
	}
	if err := os.Rename(temporary, m.listingFile()); err != nil {
		return nil, fail(Failed, "list the tree: %w", err)
	}
	return result, nil
}

// files reads git's listing of a commit, and refuses what must not be written.
func (m *Mirror) files(out []byte) (map[string]entry, *Checkout, error) {
	files, result := map[string]entry{}, &Checkout{}
	var total int64
	for line := range bytes.SplitSeq(out, []byte{0}) {
		if len(line) == 0 {
			continue
		}
		head, name, ok := strings.Cut(string(line), "\t")
		f := strings.Fields(head)
		if !ok || len(f) != 4 {
			return nil, nil, fail(Failed, "read git's listing: %q", line)
		}
		e := entry{Mode: f[0], ID: f[2]}
		if err := checkPath(name); err != nil {
			return nil, nil, err
		}
		if e.Mode == modeSubmodule {
			result.Skipped = append(result.Skipped, name)
			continue
		}
		e.size, _ = strconv.ParseInt(f[3], 10, 64)
		total += e.size
		files[name] = e
		if len(files) > m.o.MaxFiles {
			return nil, nil, fail(TooLarge, "the commit has more than %d files", m.o.MaxFiles)
		}
		if total > m.o.MaxTree {
			return nil, nil, fail(TooLarge, "the files of the commit have more than %d bytes", m.o.MaxTree)
		}
	}
	return files, result, nil
}

func checkPath(name string) error {
	bad := !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name
	for part := range strings.SplitSeq(name, "/") {
		bad = bad || strings.EqualFold(part, ".git")
	}
	if bad {
		return fail(Refused, "the commit has a file with the path %q, which is not allowed", name)
	}
	return nil
}

// removeOld removes what the new commit does not have, or has otherwise, and
// directories that are empty then.
func removeOld(root *os.Root, old, files map[string]entry, result *Checkout) error {
	for name, e := range old {
		now, stays := files[name]
		if stays && now.Mode == e.Mode && now.ID == e.ID {
			continue
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail(Failed, "remove from the tree: %w", err)
		}
		if stays {
			continue
		}
		result.Removed++
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if root.Remove(dir) != nil {
				break // it is not empty
			}
		}
	}
	return nil
}

// writeNew writes what the tree before did not have, in git's own order.
func (w *workshop) writeNew(ctx context.Context, root *os.Root, old, files map[string]entry, result *Checkout) error {
	var names []string
	var ask bytes.Buffer
	for name, e := range files {
		if was, ok := old[name]; !ok || was.Mode != e.Mode || was.ID != e.ID {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	for _, name := range names {
		ask.WriteString(files[name].ID + "\n")
	}
	from, to := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := w.stream(ctx, &ask, to, "cat-file", "--batch", "--buffer")
		_ = to.CloseWithError(err)
		done <- err
	}()
	err := writeBlobs(root, names, files, bufio.NewReaderSize(from, 64<<10))
	_ = from.CloseWithError(err)
	if gitErr := <-done; err == nil || ctx.Err() != nil {
		err = gitErr
	}
	result.Written = len(names)
	return err
}

func writeBlobs(root *os.Root, names []string, files map[string]entry, r *bufio.Reader) error {
	for _, name := range names {
		head, err := r.ReadString('\n')
		if err != nil {
			return fail(Failed, "read %s from git: %w", name, err)
		}
		e := files[name]
		if head != fmt.Sprintf("%s blob %d\n", e.ID, e.size) {
			return fail(Failed, "read %s from git: %s", name, strings.TrimSpace(head))
		}
		if dir := path.Dir(name); dir != "." {
			if err := root.MkdirAll(dir, 0o700); err != nil {
				return fail(Refused, "write the tree: %w", err)
			}
		}
		if err := writeBlob(root, name, e, io.LimitReader(r, e.size)); err != nil {
			return err
		}
		if _, err := r.Discard(1); err != nil {
			return fail(Failed, "read %s from git: %w", name, err)
		}
	}
	return nil
}

// writeBlob makes one file or link. A file that is in the way is not written
// through: it could be a link.
func writeBlob(root *os.Root, name string, e entry, r io.Reader) error {
	if e.Mode == modeLink {
		to, err := io.ReadAll(io.LimitReader(r, 4096))
		if err != nil {
			return fail(Failed, "read %s from git: %w", name, err)
		}
		if path.IsAbs(string(to)) || filepath.IsAbs(string(to)) || e.size > 4095 || !filepath.IsLocal(path.Join(path.Dir(name), string(to))) {
			return fail(Refused, "%s is a link that leads out of the repository", name)
		}
		if err := root.Symlink(string(to), name); err != nil {
			return fail(Refused, "write the tree: %w", err)
		}
		return nil
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fail(Refused, "write the tree: %w", err)
	}
	_, err = io.Copy(f, r)
	if err := errors.Join(err, f.Close()); err != nil {
		return fail(Failed, "write the tree: %w", err)
	}
	return nil
}

// checkLinks follows every link: one that is harmless by itself may lead out
// through another.
func checkLinks(root *os.Root, files map[string]entry) error {
	for name, e := range files {
		if e.Mode != modeLink {
			continue
		}
		if _, err := root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail(Refused, "%s is a link that cannot be followed inside of the repository: %w", name, err)
		}
	}
	return nil
}
