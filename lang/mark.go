package lang

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// racy is how long after a change a file may change again without its times
// telling: file systems keep times in steps.
const racy = 2 * time.Second

// Mark is what the system tells of a file or directory, for telling cheaply
// that it has not changed. The zero Mark says nothing. Times are in nanoseconds
// since 1970.
type Mark struct {
	// Absent says that there is nothing of that name.
	Absent bool
	Size   int64
	// Modified is when the content changed, as far as one can tell: anyone can
	// set it. Status is when anything of the file changed, which nobody can set.
	Modified, Status int64
	Inode, Device    uint64
}

// MarkOf asks the system about what a Read is about, in the module at dir. What
// is not older than a moment gets no usable mark. So does everything on systems
// that do not tell enough: there the content decides.
func MarkOf(dir string, r Read) Mark {
	name := r.File
	// A listing is about its directory.
	if parent, base := path.Split(name); base == "" || strings.HasPrefix(base, "*") {
		name = path.Clean(parent)
	}
	info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return Mark{Absent: true}
	}
	if err != nil {
		return Mark{}
	}
	return markOf(info, time.Now())
}

func markOf(info fs.FileInfo, now time.Time) Mark {
	m := Mark{Size: info.Size(), Modified: info.ModTime().UnixNano()}
	if info.IsDir() {
		m.Size = 0 // an empty file and a directory are told apart by the inode
	}
	if !m.identify(info) || !m.Before(now) {
		return Mark{}
	}
	return m
}

// Usable says that an equal mark later means an equal file.
func (m Mark) Usable() bool { return m != Mark{} }

// Same reports whether two marks, taken at different times, say that nothing has
// changed in between.
func (m Mark) Same(other Mark) bool { return m.Usable() && m == other }

// Before reports whether the last change was before t, by more than what a file
// system's clock may be wrong.
func (m Mark) Before(t time.Time) bool {
	at := t.Add(-racy).UnixNano()
	return m.Modified < at && m.Status < at
}
