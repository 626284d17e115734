package lang

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Listings remember what directories hold, for evaluating many programs of one
// module: a thousand that lie beside each other have the directory above them in
// common, which would be read a thousand times. It is not safe for concurrent
// use.
type Listings struct{ known map[string]markedNames }

type markedNames struct {
	mark  Mark
	names []string
}

// read is readNames, or what is known when the mark of the directory says that
// it still holds. Callers do not change the names.
func (l *Listings) read(fsys fs.FS, dir, ext string) ([]string, error) {
	if l == nil {
		return readNames(fsys, dir, ext)
	}
	now := time.Now() // before it is looked at: what changes later gets another mark
	var mark Mark
	if info, err := fs.Stat(fsys, dir); err == nil {
		mark = markOf(info, now)
	}
	key := path.Join(dir, "*"+ext)
	if have, ok := l.known[key]; ok && have.mark.Same(mark) {
		return have.names, nil
	}
	found, err := readNames(fsys, dir, ext)
	if err == nil && mark.Usable() {
		if l.known == nil {
			l.known = map[string]markedNames{}
		}
		l.known[key] = markedNames{mark, found}
	}
	return found, err
}

// maxNames bounds a directory.
const maxNames = 1_000_000

// readNames asks for names only: to ask what each of them is would cost a call
// of the system for every one.
func readNames(fsys fs.FS, dir, ext string) ([]string, error) {
	d, err := fsys.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var all []string
	if f, ok := d.(interface {
		Readdirnames(n int) ([]string, error)
	}); ok {
		if all, err = f.Readdirnames(maxNames); errors.Is(err, io.EOF) {
			err = nil
		}
	} else {
		var entries []fs.DirEntry
		entries, err = fs.ReadDir(fsys, dir)
		for _, e := range entries {
			all = append(all, e.Name())
		}
	}
	if err != nil {
		return nil, err
	}
	found := []string{}
	for _, name := range all {
		if !strings.HasSuffix(name, ext) {
			continue
		}
		// A link counts as a file wherever it leads: what a directory lists
		// depends on nothing outside of it.
		if info, err := fs.Lstat(fsys, path.Join(dir, name)); err == nil && info.IsDir() {
			continue
		}
		found = append(found, name)
	}
	slices.Sort(found)
	return found, nil
}
