// Package logs keeps what containers write. Each run of a container has a log
// of its own; a line is a line of text with its time, stream and a mark that
// says whether it was cut:
//
//	2026-12-01T07:00:00.000000001Z stdout F the text
//
// as the Kubernetes container runtimes write it. A log is bounded: when a file
// is full it becomes the older half, and the former older half goes. A line
// reaches the file before Write returns; what a container wrote without a line
// end is written when its log is closed.
//
// The package knows no pods: a container is a directory name that the caller
// chooses.
package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// ErrNotFound: the container has no such log.
var ErrNotFound = errors.New("no log")

// Options configure a Store.
type Options struct {
	// MaxBytes bounds one file; a log has two. 8 MiB when 0.
	MaxBytes int64
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Store holds the logs below one directory. It is safe for concurrent use,
// and the only writer there.
type Store struct {
	dir string
	max int64
	now func() time.Time

	mu   sync.Mutex
	open map[string]*Log
}

// maxBytes is the bound of a file when Options do not say.
const maxBytes = 8 << 20

// Open makes a store in dir.
func Open(dir string, o Options) (*Store, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = maxBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open log store: %w", err)
	}
	return &Store{dir: dir, max: o.MaxBytes, now: o.Now, open: map[string]*Log{}}, nil
}

// Create begins the log of a container's run; runs count from 0. The logs of
// runs before the previous one go.
func (s *Store) Create(container string, run int) (*Log, error) {
	dir := filepath.Join(s.dir, container)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	for _, old := range s.runs(container) {
		if old < run-1 {
			for _, path := range paths(dir, old) {
				if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return nil, fmt.Errorf("remove old log: %w", err)
				}
			}
		}
	}
	path := paths(dir, run)[1]
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	l := &Log{store: s, path: path, file: f, changed: make(chan struct{})}
	s.mu.Lock()
	s.open[path] = l
	s.mu.Unlock()
	return l, nil
}

// Remove deletes every log of a container, or of all whose name begins with
// container and a slash.
func (s *Store) Remove(container string) error {
	return os.RemoveAll(filepath.Join(s.dir, container))
}

// paths are the older and the newer file of a run.
func paths(dir string, run int) [2]string {
	name := filepath.Join(dir, strconv.Itoa(run)+".log")
	return [2]string{name + ".old", name}
}

// runs lists the runs that have a log, in no order.
func (s *Store) runs(container string) []int {
	entries, err := os.ReadDir(filepath.Join(s.dir, container))
	if err != nil {
		return nil
	}
	var runs []int
	for _, e := range entries {
		name := e.Name()
		if filepath.Ext(name) != ".log" {
			continue
		}
		if n, err := strconv.Atoi(name[:len(name)-len(".log")]); err == nil {
			runs = append(runs, n)
		}
	}
	return runs
}

// live returns the open log at path, nil if it is closed.
func (s *Store) live(path string) *Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[path]
}
