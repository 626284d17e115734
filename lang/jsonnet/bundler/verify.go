// Package bundler checks the packages that jsonnet-bundler (jb) has put into the
// directory vendor of a module: that all that jsonnetfile.json asks for is there,
// and that its content is what jsonnetfile.lock.json says. It changes and
// downloads nothing.
package bundler

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// The files of jsonnet-bundler, and where it puts packages.
const (
	FileName  = "jsonnetfile.json"
	LockName  = "jsonnetfile.lock.json"
	VendorDir = "vendor"
)

// Verified is what a check found. Reads is all that it depends on.
type Verified struct {
	Reads []lang.Read
	// Warnings are of what jb decides silently: which of several versions that
	// packages ask for is there, and which of several packages has a short name.
	Warnings diag.List
}

// Verify checks the module at the root of module. A module without a
// jsonnetfile.json, or without any package, has nothing to check. Errors are a
// diag.List.
func Verify(module fs.FS) (Verified, error) {
	v := verifier{fs: module, reader: lang.NewReader(lang.Program{FS: module}), read: map[string]lang.Read{}}
	v.verify()
	for _, r := range v.reader.Reads() {
		v.read[r.File] = r
	}
	out := Verified{Warnings: v.warnings}
	for _, r := range v.read {
		out.Reads = append(out.Reads, r)
	}
	slices.SortFunc(out.Reads, func(a, b lang.Read) int { return strings.Compare(a.File, b.File) })
	_ = out.Warnings.Err() // sorts
	return out, v.problems.Err()
}

type verifier struct {
	fs     fs.FS
	reader *lang.Reader
	read   map[string]lang.Read
	files  int
	bytes  int64

	problems, warnings diag.List
}

const install = "run jb install"

func (v *verifier) fail(pos diag.Position, code, hint, format string, args ...any) {
	v.problems = append(v.problems, diag.Diagnostic{Code: code, Pos: pos, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// file reads a jsonnetfile, and tells whether there is one.
func (v *verifier) file(name string) (File, bool) {
	data, err := v.reader.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, false
	}
	if err != nil {
		v.problems = append(v.problems, lang.Failure(diag.Position{}, name, err)...)
		return File{}, false
	}
	f, err := Parse(name, data)
	v.problems = append(v.problems, diag.From(err)...)
	return f, err == nil
}

func (v *verifier) verify() {
	wanted, ok := v.file(FileName)
	if !ok || len(wanted.Dependencies) == 0 || !v.installed() {
		return
	}
	lock, ok := v.file(LockName)
	if len(v.problems) > 0 {
		return
	}
	if !ok {
		v.fail(diag.Position{File: FileName}, "VENDOR003", install+" and keep the file that it writes", "there is no %s, so it is not known what the packages in %s are to be", LockName, VendorDir)
		return
	}
	locked := map[string]Dependency{}
	for _, d := range lock.Dependencies {
		locked[d.Name] = d
	}
	// A package that is there and as locked says itself what it needs.
	requests := map[string][]Dependency{}
	v.require(wanted, "", locked)
	for _, d := range lock.Dependencies {
		if !v.vendored(d) || d.Single || d.Name == "" {
			continue
		}
		name := path.Join(VendorDir, d.Name, FileName)
		if f, ok := v.file(name); ok {
			v.require(f, d.Name, locked)
			for _, need := range f.Dependencies {
				requests[need.Name] = append(requests[need.Name], need)
			}
		}
	}
	v.versions(wanted, requests)
	v.names(wanted, lock)
}

// installed tells whether there are packages at all. Where there are none, as in a
// library that was only checked out, a program that needs one does not find it.
func (v *verifier) installed() bool {
	info, err := fs.Stat(v.fs, VendorDir)
	v.list(VendorDir)
	return err == nil && info.IsDir()
}

// require checks that all that a package asks for is locked; by is "" for the
// module itself.
func (v *verifier) require(f File, by string, locked map[string]Dependency) {
	for _, d := range f.Dependencies {
		if _, ok := locked[d.Name]; ok || d.Name == "" {
			continue
		}
		message := fmt.Sprintf("package %s is not in %s", d.Name, LockName)
		if by != "" {
			message += fmt.Sprintf("; %s needs it", by)
		}
		v.fail(d.Pos, "VENDOR003", install, "%s", message)
	}
}

// vendored checks that a locked package is there, and what the lock says.
func (v *verifier) vendored(d Dependency) bool {
	if d.Name == "" {
		return true
	}
	dir := path.Join(VendorDir, d.Name)
	info, err := fs.Stat(v.fs, dir)
	v.list(path.Dir(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		v.fail(d.Pos, "VENDOR001", install, "package %s is not in %s", d.Name, VendorDir)
	case err != nil:
		v.problems = append(v.problems, lang.Failure(d.Pos, dir, err)...)
	case !info.IsDir():
		v.fail(d.Pos, "VENDOR001", install, "package %s is not a directory in %s", d.Name, VendorDir)
	case d.Local:
		return true
	case d.Sum == "":
		v.fail(d.Pos, "VENDOR004", install+", which adds it", "package %s has no sum in %s, so nobody can tell whether it is what it was", d.Name, LockName)
	default:
		return v.same(d, dir)
	}
	return false
}

func (v *verifier) same(d Dependency, dir string) bool {
	sum, err := v.sum(dir)
	if err != nil {
		v.fail(d.Pos, "VENDOR005", "remove what is not part of the package", "read package %s: %v", d.Name, err)
		return false
	}
	if sum == d.Sum {
		return true
	}
	v.fail(d.Pos, "VENDOR002", "restore it with jb install, or lock what is newer with jb update; keep changes of your own in a package of your own",
		"package %s in %s has changed: its sum is %s, and the lock says %s", d.Name, VendorDir, sum, d.Sum)
	return false
}

// versions tells of packages that several packages ask for in different
// versions, without the module saying which it is to be.
func (v *verifier) versions(wanted File, requests map[string][]Dependency) {
	decided := map[string]bool{"": true}
	for _, d := range wanted.Dependencies {
		decided[d.Name] = true
	}
	for name, all := range requests {
		other := slices.IndexFunc(all, func(d Dependency) bool { return d.Version != all[0].Version })
		if decided[name] || other < 0 {
			continue
		}
		v.warnings = append(v.warnings, diag.Diagnostic{
			Code: "VENDOR006", Pos: all[0].Pos,
			Message: fmt.Sprintf("package %s is asked for in the versions %s and %s, of which only one can be in %s", name, all[0].Version, all[other].Version, VendorDir),
			Notes:   []diag.Note{{Pos: all[other].Pos, Text: "the other one"}},
			Hint:    "say which one in " + FileName,
		})
	}
}

// names tells of packages that share the short name which one of them has.
func (v *verifier) names(wanted, lock File) {
	if !wanted.LegacyImports {
		return
	}
	first := map[string]Dependency{}
	for _, d := range lock.Dependencies {
		other, taken := first[d.Short]
		if !taken {
			first[d.Short] = d
			continue
		}
		if _, err := fs.Lstat(v.fs, path.Join(VendorDir, d.Short)); d.Short == "" || err != nil {
			continue
		}
		v.warnings = append(v.warnings, diag.Diagnostic{
			Code: "VENDOR007", Pos: d.Pos,
			Message: fmt.Sprintf("packages %s and %s share the short name %s, which only one of them has", other.Name, d.Name, d.Short),
			Notes:   []diag.Note{{Pos: other.Pos, Text: "the other one"}},
			Hint:    "import them by their whole names",
		})
	}
}
