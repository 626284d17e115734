package cache

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/writ-dev/writ/lang"
)

// racy is how long after a change a file may change again without its times
// telling: file systems keep times in steps.
const racy = 2 * time.Second

// mark is what the system tells of a file or directory. The zero mark says
// nothing.
type mark struct {
	// Absent says that there is nothing of that name.
	Absent bool `json:"a,omitempty"`
	// Size is in bytes, times are in nanoseconds since 1970.
	Size    int64  `json:"s,omitempty"`
	Changed int64  `json:"m,omitempty"`
	Status  int64  `json:"c,omitempty"`
	Inode   uint64 `json:"i,omitempty"`
	Device  uint64 `json:"d,omitempty"`
}

// usable says that an equal mark later means an equal file.
func (m mark) usable() bool { return m != mark{} }

func (m mark) same(other mark) bool { return m.usable() && m == other }

// seen is what is known of a read in this session.
type seen struct {
	mark mark
	// digest is of the content when the mark was taken, once it is known.
	digest string
	known  bool
}

// look marks what a read is about, once a session.
func (s *Session) look(r lang.Read) seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have, ok := s.seen[r.File]; ok {
		return have
	}
	have := seen{mark: s.mark(r.File)}
	s.seen[r.File] = have
	return have
}

// digest reads what a read is about again, once a session.
func (s *Session) digest(r lang.Read) string {
	s.mu.Lock()
	have, ok := s.seen[r.File]
	s.mu.Unlock()
	if ok && have.known {
		return have.digest
	}
	// The mark before and after: a change in between leaves no usable mark.
	before := s.mark(r.File)
	have = seen{digest: r.Again(s.module, s.library), known: true}
	if after := s.mark(r.File); after == before {
		have.mark = after
	}
	s.mu.Lock()
	s.seen[r.File] = have
	s.mu.Unlock()
	return have.digest
}

// mark asks the system. What is not older than a moment gets no usable mark.
func (s *Session) mark(name string) mark {
	// A listing is about its directory.
	dir, base := path.Split(name)
	if base == "" || strings.HasPrefix(base, "*") {
		name = path.Clean(dir)
	}
	info, err := fs.Stat(s.module, name)
	if errors.Is(err, fs.ErrNotExist) {
		return mark{Absent: true}
	}
	if err != nil {
		return mark{}
	}
	m := mark{Size: info.Size(), Changed: info.ModTime().UnixNano()}
	if info.IsDir() {
		m.Size = 0 // an empty file and a directory are told apart by the inode
	}
	status, ok := identify(info, &m)
	if !ok {
		return mark{}
	}
	now := time.Now()
	for _, t := range []time.Time{info.ModTime(), status} {
		if now.Sub(t) < racy {
			return mark{}
		}
	}
	return m
}
