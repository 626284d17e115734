package cli

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/units"
)

// affected tells of the programs that are asked for why they are: nil says that
// all are. Gone are programs that there were.
func (a *app) affected(ctx context.Context, f *unitsFlags, programs []units.Program) (because map[int][]units.Use, gone []render.Target, err error) {
	if f.since != "" {
		return a.affectedSince(ctx, f, programs)
	}
	if f.reads == nil && f.affected == nil {
		return nil, nil, nil
	}
	because = map[int][]units.Use{}
	x := units.NewIndex(f.src.root, programs)
	for _, name := range append(f.reads, f.affected...) {
		file, err := f.src.inModule(name)
		if err != nil {
			return nil, nil, err
		}
		for i, uses := range x.Users(file) {
			if f.reads != nil {
				uses = slices.DeleteFunc(uses, func(u units.Use) bool { return u.How != units.Reads })
			}
			because[i] = with(because[i], uses...)
		}
		if f.affected != nil {
			f.src.affectedAlso(file, programs, because)
		}
	}
	maps.DeleteFunc(because, func(_ int, uses []units.Use) bool { return len(uses) == 0 })
	return because, nil, nil
}

// affectedAlso adds what a file affects that no program reads: the project file,
// and the images' sources.
func (s *sourceFlags) affectedAlso(file string, programs []units.Program, because map[int][]units.Use) {
	full := filepath.Join(s.root, filepath.FromSlash(file))
	if below(filepath.Join(s.dir, render.ProjectFile), full) {
		for i := range programs {
			because[i] = with(because[i], units.Use{How: units.Unlike, What: render.ProjectFile})
		}
	}
	s.changedImages(full, programs, because)
}

// changedImages adds the programs that take an image that a file is a part of.
func (s *sourceFlags) changedImages(full string, programs []units.Program, because map[int][]units.Use) {
	for _, image := range s.project.Images {
		if !partOfImage(filepath.Join(s.dir, filepath.FromSlash(image.Go)), full) {
			continue
		}
		for i, p := range programs {
			if _, takes := p.Bundle.Inputs[image.Input()]; takes {
				because[i] = with(because[i], units.Use{How: units.Takes, What: image.Input()})
			}
		}
	}
}

// partOfImage reports whether a change of a file, or of a directory, may change
// the program that is built from a directory.
func partOfImage(dir, file string) bool {
	if below(file, dir) || below(dir, file) {
		return true
	}
	source := filepath.Ext(file) == ".go" || slices.Contains([]string{"go.mod", "go.sum", "go.work", "go.work.sum"}, filepath.Base(file))
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "go.mod")); err == nil {
			return below(file, d) && source
		}
		if d == filepath.Dir(d) {
			return false
		}
	}
}

// below reports whether a path is dir or in it.
func below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func with(uses []units.Use, more ...units.Use) []units.Use {
	for _, u := range more {
		if !slices.Contains(uses, u) {
			uses = append(uses, u)
		}
	}
	return uses
}

// inModule names a file, as somebody standing here does, from the module root. It
// need not be there.
func (s *sourceFlags) inModule(name string) (string, error) {
	full, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	// The root may have been reached by a link, and the file not, or the other
	// way round.
	root := s.root
	if real, err := filepath.EvalSymlinks(root); err == nil && !below(full, root) {
		root = real
	}
	if parent, err := filepath.EvalSymlinks(filepath.Dir(full)); err == nil && !below(full, root) {
		full = filepath.Join(parent, filepath.Base(full))
	}
	rel, err := filepath.Rel(root, full)
	return filepath.ToSlash(rel), err
}

// placed names the files of uses from where the user stands.
func (s *sourceFlags) placed(uses []units.Use) []units.Use {
	out := slices.Clone(uses)
	wd, err := os.Getwd()
	if err != nil {
		return out
	}
	for i, u := range out {
		if u.How != units.Reads && u.How != units.LooksFor && u.How != units.Lists {
			continue
		}
		if rel, err := filepath.Rel(wd, filepath.Join(s.root, filepath.FromSlash(u.What))); err == nil {
			out[i].What = filepath.ToSlash(rel)
		}
	}
	return out
}
