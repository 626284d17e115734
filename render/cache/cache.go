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
// Failures are not kept. What is kept is written whole or not at all and carries
// checksums; what is damaged is as good as not there. Several processes may use
// one cache at a time; none waits for another.
package cache

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
)

// MaxSize is how many bytes a cache may grow to before what was not used for
// longest is removed.
const MaxSize = 512 << 20

const (
	// maxPacks is from how many packs on they are put into one.
	maxPacks = 8
	// keepUsed is how old the day of last use may become before it is written
	// again, and keepUnused how old it may become at all, in days.
	keepUsed, keepUnused = 7, 60
)

// Cache is a directory of results. It is safe for concurrent use, also by
// several processes.
type Cache struct {
	dir   string
	build string
	max   int64
}

// Open opens the cache in dir, and makes the directory if there is none. Build
// tells builds of Writ apart: results of one are nothing to another.
func Open(dir, build string) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	return &Cache{dir: dir, build: build, max: MaxSize}, nil
}

// Dir is where the cache is.
func (c *Cache) Dir() string { return c.dir }

func (c *Cache) key(question string) key {
	return sha256.Sum256([]byte(fmt.Sprintf("%q %q", c.build, question)))
}

// Stats describe a cache.
type Stats struct {
	Dir     string `json:"dir"`
	Entries int    `json:"entries"`
	Bytes   int64  `json:"bytes"`
}

// Stats counts what is in the cache.
func (c *Cache) Stats() (Stats, error) {
	s := Stats{Dir: c.dir}
	packs, err := c.open()
	if err != nil {
		return s, fmt.Errorf("read cache: %w", err)
	}
	defer closeAll(packs)
	s.Entries = len(index(packs))
	for _, p := range packs {
		s.Bytes += p.size
	}
	return s, nil
}

// place is where an entry is.
type place struct {
	pack   *pack
	record record
}

// index finds the entries of packs, of which the first counts most.
func index(packs []*pack) map[key]place {
	at := map[key]place{}
	for _, p := range packs {
		for _, r := range p.records {
			if _, ok := at[r.key]; !ok {
				at[r.key] = place{p, r}
			}
		}
	}
	return at
}

func closeAll(packs []*pack) {
	for _, p := range packs {
		_ = p.file.Close()
	}
}

// tidy puts all packs into one, when there are too many of them, or too much in
// them, or what they say of their use is old: used are the entries that were of
// use today. What was not used for longest is left out.
func (c *Cache) tidy(used map[key]bool) error {
	packs, err := c.open()
	if err != nil {
		return err
	}
	defer closeAll(packs)
	size, stale := int64(0), false
	for _, p := range packs {
		size += p.size
	}
	var all []place
	for k, p := range index(packs) {
		if used[k] {
			stale = stale || today() >= p.record.used+keepUsed
			p.record.used = today()
		}
		all = append(all, p)
	}
	if len(packs) < maxPacks && size <= c.max && !stale {
		return nil
	}
	slices.SortFunc(all, func(a, b place) int {
		return cmp.Or(cmp.Compare(b.record.used, a.record.used), slices.Compare(a.record.key[:], b.record.key[:]))
	})
	w, err := newWriter(c.dir)
	if err != nil {
		return err
	}
	for _, p := range all {
		if w.at+p.record.length > c.max*4/5 || today() > p.record.used+keepUnused {
			break
		}
		b, err := p.pack.read(p.record)
		if err != nil {
			continue // damaged
		}
		if err := w.add(p.record.key, p.record.used, b); err != nil {
			return errors.Join(err, w.abandon())
		}
	}
	if err := w.finish(); err != nil {
		return err
	}
	// Whoever reads them has them open. What others have added since is in
	// packs of their own.
	for _, p := range packs {
		_ = os.Remove(p.path)
	}
	return nil
}
