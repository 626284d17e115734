package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// keptTrees is how many checked out revisions are kept for the next time.
const keptTrees = 8

// checkedOut returns where the project in dir is in a Git revision. The files
// of a commit never change: they are kept, so that what was rendered from them
// is found in the cache.
func checkedOut(ctx context.Context, revision, dir string) (string, error) {
	if strings.HasPrefix(revision, "-") {
		return "", fmt.Errorf("%s is no git revision", revision)
	}
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
		if err != nil {
			return "", fmt.Errorf("git %s: %w", args[0], gitError(err))
		}
		return strings.TrimSpace(string(out)), nil
	}
	commit, err := git("rev-parse", "--verify", "--end-of-options", revision+"^{commit}")
	if err != nil {
		return "", err
	}
	top, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return "", err
	}
	prefix, err := git("rev-parse", "--show-prefix")
	if err != nil {
		return "", err
	}
	cache, err := cacheHome()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(top))
	trees := filepath.Join(cache, "revisions")
	tree := filepath.Join(trees, hex.EncodeToString(sum[:6])+"-"+commit)
	if _, err := os.Stat(tree); err != nil {
		if err := checkOutTo(ctx, commit, dir, trees, tree); err != nil {
			return "", err
		}
	}
	now := time.Now()
	_ = os.Chtimes(tree, now, now) // it was used; see forgetTrees
	forgetTrees(trees)
	return filepath.Join(tree, filepath.FromSlash(prefix)), nil
}

// checkOutTo makes a tree, all of it or nothing.
func checkOutTo(ctx context.Context, commit, dir, trees, tree string) error {
	if err := os.MkdirAll(trees, 0o700); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(trees, ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	if _, err := checkout(ctx, commit, dir, temporary); err != nil {
		return err
	}
	if err := os.Rename(temporary, tree); err != nil {
		if _, there := os.Stat(tree); there == nil {
			return nil // another process was faster
		}
		return fmt.Errorf("keep the files of %s: %w", commit, err)
	}
	return nil
}

// forgetTrees removes all but the trees used last.
func forgetTrees(trees string) {
	entries, err := os.ReadDir(trees)
	if err != nil {
		return
	}
	type tree struct {
		name string
		used time.Time
	}
	var all []tree
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() {
			all = append(all, tree{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b tree) int { return b.used.Compare(a.used) })
	for i, t := range all {
		if i >= keptTrees && time.Since(t.used) > time.Hour {
			_ = os.RemoveAll(filepath.Join(trees, t.name)) // it can be made again
		}
	}
}

// gitError is what git said, instead of its exit code.
func gitError(err error) error {
	if e, ok := err.(*exec.ExitError); ok && len(e.Stderr) > 0 {
		return fmt.Errorf("%s", strings.TrimSpace(strings.TrimPrefix(string(e.Stderr), "fatal: ")))
	}
	return err
}
