package test

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// Coverage is what the tests, and rendering every environment, used of the
// programs. The packages lang/cue and lang/jsonnet say what is counted.
type Coverage struct {
	Hit   int                          `json:"hit"`
	Total int                          `json:"total"`
	Kinds map[lang.PointKind]KindCount `json:"kinds"`
	Files []CoveredFile                `json:"files"`
	// Unread are the files that no evaluation read: nothing in them is used, and
	// nothing in them is counted.
	Unread []string `json:"unread,omitempty"`
	// Skipped is why programs could not be rendered in some environment.
	Skipped diag.List `json:"skipped,omitempty"`
}

// KindCount counts the points of one kind.
type KindCount struct {
	Hit   int `json:"hit"`
	Total int `json:"total"`
}

// CoveredFile is the coverage of one file.
type CoveredFile struct {
	lang.FileCoverage
	Hit   int `json:"hit"`
	Total int `json:"total"`

	source []byte
}

// Percent is the share of points used; of nothing, all was used.
func (c *Coverage) Percent() float64 { return percent(c.Hit, c.Total) }

// Percent is the share of the file's points used.
func (f *CoveredFile) Percent() float64 { return percent(f.Hit, f.Total) }

func percent(hit, total int) float64 {
	if total == 0 {
		return 100
	}
	return 100 * float64(hit) / float64(total)
}

// tally adds up coverage: by file, each point and whether it was used.
type tally map[string]map[lang.Point]bool

func (t tally) add(c lang.Coverage) {
	for _, f := range c {
		points := t[f.File]
		if points == nil {
			points = map[lang.Point]bool{}
			t[f.File] = points
		}
		for _, p := range f.Points {
			hit := p.Hit
			p.Hit = false
			points[p] = points[p] || hit
		}
	}
}

func (t tally) coverage() lang.Coverage {
	var all lang.Coverage
	for file, points := range t {
		f := lang.FileCoverage{File: file}
		for p, hit := range points {
			p.Hit = hit
			f.Points = append(f.Points, p)
		}
		all = append(all, f)
	}
	return lang.Coverage(nil).Merge(all) // sorts
}

// cover renders the environments too, and adds up what was used of the programs
// and others.
func (r *runner) cover(ctx context.Context, report *Report, programs []string) error {
	c := &Coverage{Kinds: map[lang.PointKind]KindCount{}, Files: []CoveredFile{}}
	targets := r.environments(c)
	skipped := make([]diag.List, len(targets))
	err := r.each(ctx, len(targets), func(i int) error {
		if _, err := r.renderTarget(ctx, targets[i].project, targets[i].Target); err != nil {
			skipped[i] = r.relocate(diag.From(err), targets[i].module.dir)
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.Skipped = bounded(append(c.Skipped, slices.Concat(skipped...)...))
	read := map[string]bool{}
	for root, counted := range r.coverage {
		for _, f := range counted.coverage() {
			read[filepath.Join(root, filepath.FromSlash(f.File))] = true
			if err := c.add(r, root, f); err != nil {
				return err
			}
		}
	}
	for _, file := range programs {
		if !read[file] {
			c.Unread = append(c.Unread, r.show(file))
		}
	}
	slices.SortFunc(c.Files, func(a, b CoveredFile) int { return cmp.Compare(a.File, b.File) })
	report.Coverage = c
	report.Evaluations = int(r.evaluations.Load())
	return nil
}

// projectTarget is a program of a project.
type projectTarget struct {
	*project
	render.Target
}

// environments are all programs of the projects that have tests, in all of
// their environments.
func (r *runner) environments(c *Coverage) []projectTarget {
	var all []projectTarget
	for _, p := range r.projects.all() {
		if !p.file {
			continue
		}
		dir, err := fs.Sub(p.module.fs, p.below)
		if err != nil {
			c.Skipped = append(c.Skipped, diag.From(err)...)
			continue
		}
		targets, err := p.Targets(dir, render.Select{Environments: []string{"all"}})
		if err != nil {
			c.Skipped = append(c.Skipped, r.relocate(diag.From(err), p.dir)...)
			continue
		}
		p.offerImages(targets)
		for _, t := range targets {
			all = append(all, projectTarget{p, t})
		}
	}
	return all
}

// add takes in the coverage of a file.
func (c *Coverage) add(r *runner, root string, f lang.FileCoverage) error {
	file := filepath.Join(root, filepath.FromSlash(f.File))
	source, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the source to show its coverage: %w", err)
	}
	hit, total := f.Count()
	c.Hit, c.Total = c.Hit+hit, c.Total+total
	for _, p := range f.Points {
		k := c.Kinds[p.Kind]
		k.Total++
		if p.Hit {
			k.Hit++
		}
		c.Kinds[p.Kind] = k
	}
	f.File = r.show(file)
	c.Files = append(c.Files, CoveredFile{FileCoverage: f, Hit: hit, Total: total, source: source})
	return nil
}
