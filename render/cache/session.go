package cache

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/writ-dev/writ/lang"
)

// Counts are of questions that were answered from the cache, and that were not.
type Counts struct{ Hits, Misses int }

// Session uses the cache for one run over one module. What a file is now is
// asked once a session. It is safe for concurrent use.
type Session struct {
	cache           *Cache
	dir             string
	module, library fs.FS
	started         time.Time

	packs []*pack
	at    map[key]place

	mu     sync.Mutex
	seen   map[string]seen // by name of the read
	plain  map[string]bool // by name of the directory
	used   map[key]bool
	new    *writer
	failed bool
	counts Counts
}

// seen is what is known of a read in this session.
type seen struct {
	mark lang.Mark
	// digest is of the content when the mark was taken, once it is known.
	digest string
	known  bool
}

// Session starts one. Dir is the directory of the module, which module reads;
// library is Writ's own. Close ends it.
func (c *Cache) Session(dir string, module, library fs.FS) *Session {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	s := &Session{
		cache: c, dir: dir, module: module, library: library, started: time.Now(),
		seen: map[string]seen{}, plain: map[string]bool{}, used: map[key]bool{},
	}
	s.packs, _ = c.open() // one that cannot be read is empty
	s.at = index(s.packs)
	return s
}

// Close writes what is new.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	closeAll(s.packs)
	s.packs, s.at = nil, nil
	var err error
	if s.new != nil {
		err = s.new.finish()
		s.new = nil
	}
	return errors.Join(err, s.cache.tidy(s.used))
}

// Counts tells how the questions so far went.
func (s *Session) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Recall returns the answer to a question and what it was worked out from, if
// it still counts. The answer must not be changed.
func (s *Session) Recall(question string) (answer []byte, reads []lang.Read, ok bool) {
	k := s.cache.key(question)
	e := s.find(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e == nil {
		s.counts.Misses++
		return nil, nil, false
	}
	s.counts.Hits++
	s.used[k] = true
	return e.answer, e.reads, true
}

func (s *Session) find(k key) *entry {
	p, ok := s.at[k]
	if !ok {
		return nil
	}
	b, err := p.pack.read(p.record)
	if err != nil {
		return nil
	}
	e, err := decode(b)
	if err != nil {
		return nil
	}
	holds, fresh := s.holds(e)
	if !holds {
		return nil
	}
	if fresh {
		s.write(k, e)
	}
	return e
}

// holds reports whether everything that an entry depends on is as it was, and
// whether the marks were brought up to date.
func (s *Session) holds(e *entry) (ok, fresh bool) {
	for i, r := range e.reads {
		if lang.IsLibrary(r.File) {
			continue // part of the build
		}
		now := s.look(r)
		if now.Same(e.marks[i]) {
			s.learn(r, now)
			continue
		}
		if s.digest(r) != r.SHA256 {
			return false, false
		}
		if now.Usable() {
			e.marks[i], fresh = now, true
		}
	}
	return true, fresh
}

// Remember keeps the answer to a question. Reads is everything that it was
// worked out from, in this session, but for what the question says itself.
// Nothing is kept when any of it is not there any more to be marked: a file that
// has changed must not be taken for what was read.
func (s *Session) Remember(question string, reads []lang.Read, answer []byte) {
	e := &entry{reads: reads, marks: make([]lang.Mark, len(reads)), answer: answer}
	for i, r := range reads {
		if lang.IsLibrary(r.File) {
			continue
		}
		if !s.knows(r) && !s.settled(r) && s.digest(r) != r.SHA256 {
			return
		}
		e.marks[i] = s.look(r)
	}
	s.write(s.cache.key(question), e)
}

func (s *Session) write(k key, e *entry) {
	b := e.encode()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed {
		return
	}
	var err error
	if s.new == nil {
		s.new, err = newWriter(s.cache.dir)
	}
	if err == nil {
		err = s.new.add(k, today(), b)
	}
	// Without a place for it there is no cache, and all goes slower.
	if s.failed = err != nil; s.failed && s.new != nil {
		_ = s.new.abandon()
		s.new = nil
	}
}

// look marks what a read is about, once a session.
func (s *Session) look(r lang.Read) lang.Mark {
	s.mu.Lock()
	have, ok := s.seen[r.File]
	s.mu.Unlock()
	if ok {
		return have.mark
	}
	have = seen{mark: lang.MarkOf(s.dir, r)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[r.File] = have
	return have.mark
}

// learn keeps that the content with this mark is what r says.
func (s *Session) learn(r lang.Read, m lang.Mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.seen[r.File]; have.mark == m && !have.known {
		s.seen[r.File] = seen{mark: m, digest: r.SHA256, known: true}
	}
}

// knows reports whether the content is known to be what r says.
func (s *Session) knows(r lang.Read) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.seen[r.File]
	return have.known && have.digest == r.SHA256
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
	before := lang.MarkOf(s.dir, r)
	have = seen{digest: r.Again(s.module, s.library), known: true}
	if after := lang.MarkOf(s.dir, r); after == before {
		have.mark = after
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[r.File] = have
	return have.digest
}

// settled reports whether a read has what it is about as it is now, without
// looking at the content: neither it nor a directory that it is in has changed
// since before the session, and no link is on the way.
func (s *Session) settled(r lang.Read) bool {
	m := s.look(r)
	if m.Absent {
		return r.SHA256 == ""
	}
	if !m.Usable() || !m.Before(s.started) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, base := path.Split(r.File)
	if base != "" && base[0] != '*' && !s.unlinked(r.File) {
		return false
	}
	return s.plainDir(path.Clean(dir))
}

// plainDir is settled for a directory and those above it.
func (s *Session) plainDir(dir string) bool {
	plain, ok := s.plain[dir]
	if !ok {
		m := lang.MarkOf(s.dir, lang.Read{File: dir})
		plain = m.Usable() && m.Before(s.started) && s.unlinked(dir) && (dir == "." || s.plainDir(path.Dir(dir)))
		s.plain[dir] = plain
	}
	return plain
}

func (s *Session) unlinked(name string) bool {
	info, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(name)))
	return err == nil && info.Mode()&fs.ModeSymlink == 0
}
