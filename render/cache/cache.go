// Package cache keeps the results of evaluations, so that a program of which
// nothing has changed is not evaluated again.
//
// A result is found by what was asked (the program, its inputs, the build of
// Writ) and counts only while everything that its evaluation read is as it was:
// every file, every listing of a directory, and every file that was looked for
// and was not there. Whether a file is as it was is known from what the system
// tells of it (size, times, inode); where that could hide a change, because the
// file was new when it was read, or where it has changed, the content decides.
//
// Failures are not kept. Entries are written whole or not at all and carry a
// checksum; one that is damaged is as good as none. Several processes may use
// one cache at a time; none waits for another.
package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/writ-dev/writ/lang"
)

// MaxSize is how many bytes a cache may grow to before what was not used for
// longest is removed.
const MaxSize = 512 << 20

// keepUsed is how old an entry's time of use may become before it is written
// again.
const keepUsed = 24 * time.Hour

// Cache is a directory of results.
type Cache struct {
	dir   string
	build string
	max   int64
}

// Open makes the directory if it is not there. Build names what evaluates:
// results of other builds do not count.
func Open(dir, build string) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	return &Cache{dir: dir, build: build, max: MaxSize}, nil
}

// Dir is where the cache is.
func (c *Cache) Dir() string { return c.dir }

// key names what is asked.
func (c *Cache) key(language string, p lang.Program) string {
	var b strings.Builder
	for _, part := range []string{c.build, language, p.Entry, strconv.FormatBool(p.Tests), strconv.FormatBool(p.Cover)} {
		b.WriteString(strconv.Quote(part) + "\n")
	}
	for _, inputs := range []map[string]string{p.Inputs, p.Offers} {
		for _, name := range slices.Sorted(maps.Keys(inputs)) {
			b.WriteString(strconv.Quote(name) + "=" + strconv.Quote(inputs[name]) + "\n")
		}
		b.WriteByte('\n')
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:])
}

func (c *Cache) path(key string) string { return filepath.Join(c.dir, key[:2], key[2:]) }

// read returns an entry, nil if there is none that can be read.
func (c *Cache) read(key string) *entry {
	b, err := os.ReadFile(c.path(key))
	if err != nil {
		return nil
	}
	e, err := decode(b)
	if err != nil {
		_ = os.Remove(c.path(key))
		return nil
	}
	if info, err := os.Stat(c.path(key)); err == nil && time.Since(info.ModTime()) > keepUsed {
		now := time.Now()
		_ = os.Chtimes(c.path(key), now, now)
	}
	return e
}

// write keeps an entry. A cache that cannot be written is a slow one, not an
// error.
func (c *Cache) write(key string, e *entry) {
	b, err := e.encode()
	if err != nil {
		return
	}
	path := c.path(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
}

// Stats describe a cache.
type Stats struct {
	Dir     string `json:"dir"`
	Entries int    `json:"entries"`
	Bytes   int64  `json:"bytes"`
}

type file struct {
	path string
	size int64
	used time.Time
}

func (c *Cache) files() ([]file, error) {
	var all []file
	err := filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // removed meanwhile
			}
			return err
		}
		if info, err := d.Info(); err == nil {
			all = append(all, file{path, info.Size(), info.ModTime()})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read cache: %w", err)
	}
	return all, nil
}

// Stats counts what is there.
func (c *Cache) Stats() (Stats, error) {
	s := Stats{Dir: c.dir}
	all, err := c.files()
	for _, f := range all {
		s.Entries++
		s.Bytes += f.size
	}
	return s, err
}

// Clean removes everything.
func (c *Cache) Clean() error {
	all, err := c.files()
	for _, f := range all {
		err = errors.Join(err, os.Remove(f.path))
	}
	return err
}

// trim removes what was not used for longest when there is too much.
func (c *Cache) trim() error {
	all, err := c.files()
	if err != nil {
		return err
	}
	total := int64(0)
	for _, f := range all {
		total += f.size
	}
	if total <= c.max {
		return nil
	}
	slices.SortFunc(all, func(a, b file) int { return a.used.Compare(b.used) })
	for _, f := range all {
		if total <= c.max*4/5 {
			break
		}
		if os.Remove(f.path) == nil {
			total -= f.size
		}
	}
	return nil
}

// Counts is what a Session did.
type Counts struct{ Hits, Misses int }

// Session is one run over one module root: within it, a file is looked at once.
type Session struct {
	cache           *Cache
	module, library fs.FS
	started         time.Time

	mu      sync.Mutex
	seen    map[string]seen // by name of the read
	counts  Counts
	written bool
}

// Session begins a run. Module is the root as lang.Program.FS is.
func (c *Cache) Session(module, library fs.FS) *Session {
	return &Session{cache: c, module: module, library: library, started: time.Now(), seen: map[string]seen{}}
}

// Close makes room if what was written needs some.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.written {
		return nil
	}
	return s.cache.trim()
}

// Counts tells how many evaluations were found and how many were made.
func (s *Session) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}
