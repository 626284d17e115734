package test

import (
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/render"
)

// pollEvery is how often Watch looks for changes, at most.
const pollEvery = 300 * time.Millisecond

// Watch runs the tests, and again after each change to a file of configuration
// in the module, or to another file that they read, until ctx ends, which is not an error. Ran is given each
// outcome.
func Watch(ctx context.Context, o Options, ran func(*Report, error)) error {
	others := map[string]bool{}
	for ctx.Err() == nil {
		before, err := look(o.Path, others)
		if err != nil {
			return err
		}
		report, err := Run(ctx, o)
		if ctx.Err() != nil {
			return nil
		}
		ran(report, err)
		if report.noteOthers(others) {
			before.others = statAll(others) // that they count is known only now
		}
		if err := changed(ctx, o.Path, others, before); err != nil {
			return err
		}
	}
	return nil
}

// changed waits until the files are not as before. What the run itself wrote
// counts as well: a run that writes nothing new ends that.
func changed(ctx context.Context, path string, others map[string]bool, before state) error {
	wait := pollEvery
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		start := time.Now()
		now, err := look(path, others)
		if err != nil {
			return err
		}
		if now != before {
			return nil
		}
		// Looking must not be what keeps the machine busy.
		wait = max(pollEvery, 20*time.Since(start))
	}
}

// extensions are those of files that are always looked at.
var extensions = []string{".cue", ".jsonnet", ".libsonnet", ".json", ".yaml", ".yml"}

// noteOthers adds the files that were read and have no such name, like those that
// a program takes as text, and reports whether there are any new ones.
func (r *Report) noteOthers(read map[string]bool) (fresh bool) {
	if r == nil {
		return false
	}
	for name := range r.reads {
		if !read[name] && !slices.Contains(extensions, filepath.Ext(name)) {
			read[name], fresh = true, true
		}
	}
	return fresh
}

// state is equal as long as no file was written, added or removed: of those of
// configuration, and of others that were read.
type state struct{ configuration, others uint64 }

func look(path string, others map[string]bool) (state, error) {
	configuration, err := fingerprint(path)
	return state{configuration, statAll(others)}, err
}

// statAll is a fingerprint of files.
func statAll(files map[string]bool) uint64 {
	h := fnv.New64a()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintln(h, path, info.Size(), info.ModTime().UnixNano())
		}
	}
	return h.Sum64()
}

// fingerprint is one of the files of configuration in the module of path.
func fingerprint(path string) (uint64, error) {
	top, err := filepath.Abs(strings.TrimSuffix(path, "/..."))
	if err != nil {
		return 0, err
	}
	if lang.IsTest(top) {
		top = filepath.Dir(top)
	}
	top, _ = projectHome(top)
	if root, ok := render.ModuleRoot(top); ok {
		top = root
	}
	h := fnv.New64a()
	seen := 0
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it went away, or cannot be read; both will show
		}
		if seen++; seen > maxWalk {
			return fs.SkipAll
		}
		if d.IsDir() {
			if path != top && (d.Name()[0] == '.' || d.Name() == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.Contains(extensions, filepath.Ext(path)) {
			return nil
		}
		if info, err := d.Info(); err == nil {
			fmt.Fprintln(h, path, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return h.Sum64(), err
}
