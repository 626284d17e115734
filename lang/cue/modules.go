package cue

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

const libraryModule = "writ.dev"

// module is a module that packages are of.
type module struct {
	root string // directory; "." without a module
	path string // import path without major version; "" without a module
	real bool
}

// dependency is a module that the main one depends on.
type dependency struct {
	path, major, version string
	// preferred says that its major version is meant by imports that name none.
	preferred bool
}

// findModule finds the module that a directory belongs to.
func (l *loader) findModule(dir string) error {
	for d := dir; ; d = path.Dir(d) {
		name := path.Join(d, "cue.mod", "module.cue")
		if _, err := l.reader.ReadFile(name); err == nil {
			f, err := l.parse(name)
			if err != nil {
				return err
			}
			l.module = module{root: d, path: modulePath(f), real: true}
			l.dependencies = dependencies(f)
			return nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return lang.Failure(diag.Position{}, name, err)
		}
		if d == "." {
			l.module = module{root: dir}
			return nil
		}
	}
}

// fieldValue is the value of a field among decls, or nil.
func fieldValue(decls []ast.Decl, name string) ast.Expr {
	if f := declared(decls, name); f != nil {
		return f.Value
	}
	return nil
}

func text(e ast.Expr) string {
	if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		if s, err := strconv.Unquote(lit.Value); err == nil {
			return s
		}
	}
	return ""
}

// modulePath reads the literal `module: "example.com/app@v0"`.
func modulePath(f *ast.File) string {
	s, _, _ := strings.Cut(text(fieldValue(f.Decls, "module")), "@")
	return s
}

// dependencies reads `deps: "example.com/lib@v1": {v: "v1.2.0", default: true}`.
// After `cue mod tidy` these are all modules that are needed, in the versions
// that are to be used.
func dependencies(f *ast.File) []dependency {
	var all []dependency
	deps, _ := fieldValue(f.Decls, "deps").(*ast.StructLit)
	if deps == nil {
		return nil
	}
	for _, d := range deps.Elts {
		field, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		name, _, err := ast.LabelName(field.Label)
		of, isStruct := field.Value.(*ast.StructLit)
		if err != nil || !isStruct {
			continue
		}
		x := dependency{version: text(fieldValue(of.Elts, "v"))}
		x.path, x.major, _ = strings.Cut(name, "@")
		if lit, ok := fieldValue(of.Elts, "default").(*ast.BasicLit); ok {
			x.preferred = lit.Kind == token.TRUE
		}
		if fs.ValidPath(x.path) && x.version != "" && !strings.ContainsAny(x.version, `/\`) {
			all = append(all, x)
		}
	}
	return all
}

// root is where a module cache has a dependency. A cache writes "!x" for "X".
func (d dependency) root(cache string) string {
	var b strings.Builder
	for _, r := range d.path + "@" + d.version {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte('!')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return path.Join(cache, "mod", "extract", b.String())
}

// depended lists the modules that may hold a package, the one with the longest
// path first.
func (l *loader) depended(p ast.ImportPath) []dependency {
	var all []dependency
	for _, d := range l.dependencies {
		if _, ok := below(p.Path, d.path); ok && (p.Version == "" || p.Version == d.major) {
			all = append(all, d)
		}
	}
	slices.SortStableFunc(all, func(a, b dependency) int {
		preferred := 0
		if a.preferred != b.preferred && b.preferred {
			preferred = 1
		} else if a.preferred != b.preferred {
			preferred = -1
		}
		return cmp.Or(cmp.Compare(len(b.path), len(a.path)), preferred, cmp.Compare(b.major, a.major))
	})
	return all
}

// packageDirs are the directories that may hold an imported package.
func (l *loader) packageDirs(p ast.ImportPath) ([]string, module) {
	if rest, ok := below(p.Path, libraryModule); ok {
		return []string{lang.LibraryPrefix + "cue/" + rest}, module{path: libraryModule}
	}
	if rest, ok := below(p.Path, l.module.path); ok && l.module.path != "" {
		return []string{path.Join(l.module.root, rest)}, l.module
	}
	if cache := l.program.Settings.Modules; cache != "" {
		for _, d := range l.depended(p) {
			rest, _ := below(p.Path, d.path)
			m := module{root: d.root(cache), path: d.path, real: true}
			dir := path.Join(m.root, rest)
			if names, err := l.reader.ReadNames(dir, ".cue"); err == nil && len(names) > 0 {
				return []string{dir}, m
			}
		}
	}
	var dirs []string
	for _, kind := range []string{"pkg", "usr", "gen"} {
		dirs = append(dirs, path.Join(l.module.root, "cue.mod", kind, p.Path))
	}
	return dirs, module{path: p.Path}
}

// below cuts a module's path off an import path.
func below(importPath, modulePath string) (string, bool) {
	if importPath == modulePath {
		return ".", true
	}
	return strings.CutPrefix(importPath, modulePath+"/")
}

func (l *loader) importHint(p ast.ImportPath) string {
	if _, ok := below(p.Path, libraryModule); ok {
		var names []string
		entries, _ := l.reader.ReadDir(lang.LibraryPrefix + "cue")
		for _, e := range entries {
			if e.IsDir() {
				names = append(names, libraryModule+"/"+e.Name())
			}
		}
		return "import one of the library's packages: " + strings.Join(names, ", ")
	}
	if of := l.depended(p); len(of) > 0 {
		name := of[0].path + " " + of[0].version
		if cache := l.program.Settings.Modules; cache != "" {
			return "put module " + name + " into the module cache: CUE_CACHE_DIR=" + cache + " cue mod tidy"
		}
		return "have module " + name + " in a module cache inside of the module, CUE_CACHE_DIR=DIR cue mod tidy, and name it: --modcache DIR, or modcache: in writ.yaml"
	}
	if !l.module.real {
		return "add a cue.mod/module.cue, or copy the package to " + path.Join("cue.mod/pkg", p.Path)
	}
	return "copy the package to " + path.Join(l.module.root, "cue.mod/pkg", p.Path) + "; nothing is downloaded while rendering"
}
