package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// maxLine is where a longer line is cut, as container runtimes do.
	maxLine = 16 << 10
	// timeFormat has a fixed width, so that lines sort.
	timeFormat = "2006-01-02T15:04:05.000000000Z"
)

// Log is the log of one run of a container.
type Log struct {
	store *Store
	path  string

	mu      sync.Mutex
	file    *os.File
	size    int64
	streams []*stream
	closed  bool
	// turns counts rotations; a reader that missed one starts the file anew.
	turns int
	// changed is closed, and replaced, whenever there is more to read.
	changed chan struct{}
}

// stream is stdout or stderr with the beginning of a line.
type stream struct {
	log  *Log
	name string
	rest []byte
}

// Stdout returns the writer for standard output. Call it once.
func (l *Log) Stdout() io.Writer { return l.stream("stdout") }

// Stderr returns the writer for standard error. Call it once.
func (l *Log) Stderr() io.Writer { return l.stream("stderr") }

func (l *Log) stream(name string) io.Writer {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &stream{log: l, name: name}
	l.streams = append(l.streams, s)
	return s
}

// Write appends complete lines to the file and keeps the rest.
func (s *stream) Write(b []byte) (int, error) {
	l := s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, fmt.Errorf("write log: %w", os.ErrClosed)
	}
	var out bytes.Buffer
	now := l.store.now()
	for rest := b; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte{'\n'})
		rest = after
		for len(s.rest)+len(part) > maxLine {
			n := maxLine - len(s.rest)
			line(&out, now, s.name, 'P', s.rest, part[:n])
			s.rest, part = s.rest[:0], part[n:]
		}
		if ended {
			line(&out, now, s.name, 'F', s.rest, part)
			s.rest = s.rest[:0]
		} else {
			s.rest = append(s.rest, part...)
		}
	}
	if err := l.append(out.Bytes()); err != nil {
		return 0, err
	}
	return len(b), nil
}

func line(out *bytes.Buffer, now time.Time, stream string, mark byte, parts ...[]byte) {
	out.WriteString(now.UTC().Format(timeFormat))
	out.WriteByte(' ')
	out.WriteString(stream)
	out.WriteByte(' ')
	out.WriteByte(mark)
	out.WriteByte(' ')
	for _, p := range parts {
		out.Write(p)
	}
	out.WriteByte('\n')
}

// append writes whole lines and tells the readers. l.mu is held.
func (l *Log) append(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if l.size > 0 && l.size+int64(len(b)) > l.store.max {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	n, err := l.file.Write(b)
	l.size += int64(n)
	if err != nil {
		return fmt.Errorf("write log: %w", err)
	}
	close(l.changed)
	l.changed = make(chan struct{})
	return nil
}

// rotate makes the file the older half. l.mu is held.
func (l *Log) rotate() error {
	if err := os.Rename(l.path, l.path+".old"); err != nil {
		return fmt.Errorf("rotate log: %w", err)
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("rotate log: %w", err)
	}
	old := l.file
	l.file, l.size = f, 0
	l.turns++
	return old.Close()
}

// Close writes what has no line end yet and ends the log: its followers see
// the end.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	var out bytes.Buffer
	for _, s := range l.streams {
		if len(s.rest) > 0 {
			line(&out, l.store.now(), s.name, 'F', s.rest)
			s.rest = nil
		}
	}
	err := l.append(out.Bytes())
	l.closed = true
	err = errors.Join(err, l.file.Close())
	close(l.changed)
	l.mu.Unlock()
	// Never under l.mu: a reader may hold the store's lock and want ours.
	l.store.mu.Lock()
	delete(l.store.open, l.path)
	l.store.mu.Unlock()
	return err
}

// state says how far the log is: changed is closed when it goes on.
func (l *Log) state() (turns int, changed <-chan struct{}, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.turns, l.changed, l.closed
}
