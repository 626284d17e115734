// Package docs makes pages of what sources say of themselves: the definitions
// and inputs of CUE packages, the functions of Jsonnet libraries, and the
// comments about them. It evaluates nothing.
package docs

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/cue"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/lang/jsonnet"
)

// libraryModule is what programs in CUE import Writ's library from.
const libraryModule = "writ.dev"

var extensions = []string{".cue", ".jsonnet", ".libsonnet"}

// Pages tells about the sources below a directory of fsys, a module root, or of
// one file: a page for each package of CUE, and for each file of Jsonnet. Tests
// have none, and neither has what says nothing. Positions are relative to fsys.
func Pages(fsys fs.FS, name string) ([]lang.Page, error) {
	return pages(fsys, name, func(dir string) string { return importPath(fsys, dir) })
}

// Library tells about Writ's library: what programs can import from it.
func Library(library fs.FS) ([]lang.Page, error) {
	inCUE, err := pages(library, "cue", func(dir string) string { return path.Join(libraryModule, strings.TrimPrefix(dir, "cue")) })
	if err != nil {
		return nil, err
	}
	inJsonnet, err := pages(library, "jsonnet", nil)
	if err != nil {
		return nil, err
	}
	all := inCUE
	for _, p := range inJsonnet {
		if path.Dir(p.Name) == "jsonnet" { // what is deeper is for these
			p.Name, p.Import = path.Base(p.Name), path.Base(p.Name)
			all = append(all, p)
		}
	}
	return all, nil
}

func pages(fsys fs.FS, name string, imported func(dir string) string) ([]lang.Page, error) {
	names, err := lang.Sources(fsys, name, extensions)
	if err != nil {
		return nil, err
	}
	var all []lang.Page
	var problems diag.List
	add := func(p lang.Page, err error) {
		problems = append(problems, diag.From(err)...)
		if !p.IsEmpty() {
			all = append(all, p)
		}
	}
	packages := map[[2]string]map[string][]byte{}
	for _, n := range names {
		base := strings.TrimSuffix(path.Base(n), path.Ext(n))
		if strings.HasSuffix(base, "_test") || strings.HasSuffix(base, "_tool") {
			continue
		}
		data, err := lang.ReadSource(fsys, n)
		if err != nil {
			problems = append(problems, diag.From(lang.Failure(diag.Position{}, n, err))...)
			continue
		}
		if path.Ext(n) != ".cue" {
			p, err := jsonnet.Document(n, data)
			if path.Ext(n) == ".libsonnet" {
				p.Import = n
			}
			add(p, err)
			continue
		}
		pkg, err := cue.PackageName(n, data)
		if err != nil {
			problems = append(problems, diag.From(err)...)
			continue
		}
		key := [2]string{path.Dir(n), pkg}
		if pkg == "" {
			key[0] = n // a file without a package is by itself
		}
		if packages[key] == nil {
			packages[key] = map[string][]byte{}
		}
		packages[key][n] = data
	}
	for key, files := range packages {
		p, err := cue.Document(files)
		p.Name = key[0]
		if key[1] != "" {
			p.Import = imported(key[0])
			if base := path.Base(p.Import); p.Import != "" && base != key[1] {
				p.Import += ":" + key[1]
			}
			if key[0] == "." {
				p.Name = key[1]
			}
		}
		if len(p.Symbols) == 0 {
			p.Import = "" // there is nothing to import
		}
		add(p, err)
	}
	slices.SortFunc(all, func(a, b lang.Page) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Language, b.Language), strings.Compare(a.Import, b.Import))
	})
	return all, problems.Err()
}

// importPath is how others import the package in dir, or "" when it is in no
// module with a name.
func importPath(fsys fs.FS, dir string) string {
	for d := dir; ; d = path.Dir(d) {
		if data, err := lang.ReadSource(fsys, path.Join(d, "cue.mod", "module.cue")); err == nil {
			module := cue.ModulePath(data)
			if module == "" {
				return ""
			}
			if d == "." {
				return path.Join(module, dir)
			}
			return path.Join(module, strings.TrimPrefix(dir, d))
		}
		if d == "." {
			return ""
		}
	}
}
