package units

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/render"
)

// Program is a rendered unit in one environment.
type Program struct {
	render.Target
	Bundle *render.Bundle
}

// How says what a program has to do with a file, or why it is affected.
type How string

// The ways in which a program depends on a file. The last three are of Changes.
const (
	// Reads: the file's content.
	Reads How = "reads"
	// LooksFor: the file would be read, if it were there.
	LooksFor How = "looks for"
	// Lists: the names in the file's directory.
	Lists How = "lists"
	// Takes: an input that is given otherwise.
	Takes How = "takes"
	// Added: there was no such unit.
	Added How = "new"
	// Unlike: the rest of what the project says of the unit.
	Unlike How = "unlike"
)

// Use is one dependency of a program: how, and of what. Files are relative to
// the module root; of an input it is the name.
type Use struct {
	How  How    `json:"how"`
	What string `json:"what,omitempty"`
}

// String is the use for people: "reads lib/lib.cue".
func (u Use) String() string { return strings.TrimSpace(string(u.How) + " " + u.What) }

// Uses lists what a program depends on, without Writ's library and its inputs.
func Uses(p Program) []Use {
	all := []Use{}
	for _, r := range p.Bundle.Reads {
		if !lang.IsLibrary(r.File) {
			all = append(all, useOf(r))
		}
	}
	return tidy(all)
}

// tidy sorts uses, what says most first, and makes one of those that are equal.
func tidy(uses []Use) []Use {
	slices.SortFunc(uses, func(a, b Use) int {
		return cmp.Or(cmp.Compare(rank(a.How), rank(b.How)), strings.Compare(a.What, b.What))
	})
	return slices.Compact(uses)
}

func rank(h How) int { return slices.Index([]How{Added, Unlike, Takes, Reads, LooksFor, Lists}, h) }

// Index finds the programs that depend on a file.
type Index struct {
	// of are the programs that read or look for a file, by its name and by that
	// of what a link leads to; listings those that list a directory.
	of, listings map[string][]entry
	names        []string // of of, sorted
}

type entry struct {
	program int
	use     Use
	ext     string // of the names that a listing is of; "" means all
}

// NewIndex makes the index of what programs read. Dir is the module root, in
// which links are followed.
func NewIndex(dir string, programs []Program) *Index {
	x := &Index{of: map[string][]entry{}, listings: map[string][]entry{}}
	l := linkReader{dir: dir, seen: map[string]string{}}
	for i, p := range programs {
		for _, r := range p.Bundle.Reads {
			if lang.IsLibrary(r.File) {
				continue
			}
			use := useOf(r)
			to := x.of
			if use.How == Lists {
				to = x.listings
			}
			e := entry{program: i, use: use}
			if base := path.Base(r.File); base[0] == '*' {
				e.ext = base[1:]
			}
			to[use.What] = append(to[use.What], e)
			if real := l.real(use.What); real != use.What {
				to[real] = append(to[real], e)
			}
		}
	}
	x.names = slices.Sorted(maps.Keys(x.of))
	return x
}

// useOf is the dependency that a read is.
func useOf(r lang.Read) Use {
	parent, base := path.Split(r.File)
	switch {
	case base == "" || base[0] == '*':
		return Use{Lists, path.Clean(parent)}
	case r.SHA256 == "":
		return Use{LooksFor, r.File}
	}
	return Use{Reads, r.File}
}

// Users tells which programs depend on a file, or on any in a directory, and how
// each does, by their numbers. A listing counts too: the file may be new or gone.
func (x *Index) Users(file string) map[int][]Use {
	users := map[int][]Use{}
	note := func(entries []entry) {
		for _, e := range entries {
			users[e.program] = append(users[e.program], e.use)
		}
	}
	file = path.Clean(file)
	note(x.of[file])
	if file == "." {
		file = ""
	}
	below := strings.TrimPrefix(file+"/", "/")
	at, _ := slices.BinarySearch(x.names, below)
	for ; at < len(x.names) && strings.HasPrefix(x.names[at], below); at++ {
		note(x.of[x.names[at]])
	}
	for _, e := range x.listings[path.Dir(file)] {
		if strings.HasSuffix(file, e.ext) {
			note([]entry{e})
		}
	}
	for i, uses := range users {
		users[i] = tidy(uses)
	}
	return users
}

// linkReader tells what names lead to.
type linkReader struct {
	dir  string
	seen map[string]string // of directories
}

// real is the name of what a name leads to through links, or the name where that
// is not there or outside of the module.
func (l linkReader) real(name string) string {
	parent := path.Dir(name)
	real, ok := l.seen[parent]
	if !ok {
		real = l.follow(parent)
		l.seen[parent] = real
	}
	name = path.Join(real, path.Base(name))
	if info, err := os.Lstat(filepath.Join(l.dir, filepath.FromSlash(name))); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return l.follow(name)
	}
	return name
}

func (l linkReader) follow(name string) string {
	full, err := filepath.EvalSymlinks(filepath.Join(l.dir, filepath.FromSlash(name)))
	if err != nil {
		return name
	}
	top, err := filepath.EvalSymlinks(l.dir)
	if err != nil {
		return name
	}
	rel, err := filepath.Rel(top, full)
	if err != nil || !filepath.IsLocal(rel) {
		return name
	}
	return filepath.ToSlash(rel)
}
