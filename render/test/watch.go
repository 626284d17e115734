package test

import (
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
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
// in the module, until ctx ends, which is not an error. Ran is given each
// outcome.
func Watch(ctx context.Context, o Options, ran func(*Report, error)) error {
	for ctx.Err() == nil {
		before, err := fingerprint(o.Path)
		if err != nil {
			return err
		}
		report, err := Run(ctx, o)
		if ctx.Err() != nil {
			return nil
		}
		ran(report, err)
		if err := changed(ctx, o.Path, before); err != nil {
			return err
		}
	}
	return nil
}

// changed waits until the files are not as before. What the run itself wrote
// counts as well: a run that writes nothing new ends that.
func changed(ctx context.Context, path string, before uint64) error {
	wait := pollEvery
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		start := time.Now()
		now, err := fingerprint(path)
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

// fingerprint is equal as long as no file of configuration in the module of
// path was written, added or removed.
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
		if !slices.Contains([]string{".cue", ".jsonnet", ".libsonnet", ".json", ".yaml", ".yml"}, filepath.Ext(path)) {
			return nil
		}
		if info, err := d.Info(); err == nil {
			fmt.Fprintln(h, path, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return h.Sum64(), err
}
