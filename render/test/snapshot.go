package test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// golden is the file that holds a test's snapshot.
func (c *testCase) golden() string {
	return filepath.Join(c.suite.file+lang.SnapshotsSuffix, c.spec.snapshot+".yaml")
}

// snapshot compares a bundle with the test's golden file, or writes that.
func (r *runner) snapshot(c *testCase, b *render.Bundle) diag.List {
	file := c.golden()
	got := b.YAML()
	want, err := os.ReadFile(file)
	missing := errors.Is(err, fs.ErrNotExist)
	pos := r.place(c.spec.fields["snapshot"].Pos, c.suite.project.module.dir)
	switch {
	case err != nil && !missing:
		return c.problem("TEST005", pos, "", "%s", err)
	case !missing && bytes.Equal(got, want):
		return nil
	case r.Update:
		if err := writeFile(file, got); err != nil {
			return c.problem("TEST005", pos, "", "write the snapshot: %s", err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.updated = append(r.updated, r.show(file))
		return nil
	case missing:
		return c.problem("TEST005", pos, "write it with 'writ test --update', and read it before you commit it", "there is no snapshot %s", r.show(file))
	}
	p := c.problem("TEST005", pos, "where the change is meant, accept it with 'writ test --update'", "the documents are not those of %s", r.show(file))
	note(&p[0], lines("snapshot", string(want), "now", string(got)))
	return p
}

func writeFile(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o666)
}

// tidySnapshots reports, or removes, the snapshots that no test has. Where it
// is not known which tests there are, none is taken for obsolete.
func (r *runner) tidySnapshots(report *Report, suites []*suite, dirs []string) error {
	slices.Sort(r.updated)
	report.Updated = r.updated
	if r.Run != nil {
		return nil
	}
	inUse, unknown := map[string]bool{}, map[string]bool{}
	for _, s := range suites {
		unknown[s.file] = len(s.problems) > 0
		for _, c := range s.cases {
			if c.spec.snapshot != "" {
				inUse[c.golden()] = true
			} else if c.Status == Failed && c.spec.rendering() {
				unknown[s.file] = true // it may have one, if it could be read
			}
		}
		if own := s.file + lang.SnapshotsSuffix; !slices.Contains(dirs, own) {
			dirs = append(dirs, own)
		}
	}
	for _, dir := range dirs {
		if unknown[strings.TrimSuffix(dir, lang.SnapshotsSuffix)] {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			file := filepath.Join(dir, e.Name())
			if inUse[file] || e.IsDir() || filepath.Ext(file) != ".yaml" {
				continue
			}
			if !r.Update {
				report.Obsolete = append(report.Obsolete, r.show(file))
				continue
			}
			report.Removed = append(report.Removed, r.show(file))
			if err := os.Remove(file); err != nil {
				return fmt.Errorf("remove an obsolete snapshot: %w", err)
			}
			_ = os.Remove(dir) // when that was the last one
		}
	}
	return nil
}
