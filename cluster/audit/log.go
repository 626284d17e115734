// Package audit writes who asked the API for what, and what came of it, as
// lines of JSON in the shape of audit.k8s.io/v1.
//
// A request never waits long for the log: events go through a bounded queue to
// one writer. When the disk is slower than the requests for longer than that,
// or full, events are lost; they are counted, and the count is logged.
package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	// queueSize is how many events may wait for the writer.
	queueSize = 4096
	// putTime bounds what a request waits for a place among them.
	putTime = 50 * time.Millisecond
	// complainEvery paces what is logged about lost events.
	complainEvery = 10 * time.Second
	// writeSize is how much is written at once, in bytes.
	writeSize = 64 << 10
)

// Options configure a Log. Path is required.
type Options struct {
	// Path is the file, made if absent and readable by its owner only. Full
	// ones become Path.1 (the newest), Path.2, and so on.
	Path string
	// MaxSize bounds a file, in bytes; 100 MiB when 0.
	MaxSize int64
	// MaxBackups bounds the number of full files that are kept; 10 when 0.
	MaxBackups int
	// Logger may be nil.
	Logger *slog.Logger
}

// Log is an open audit log. It is safe for concurrent use.
type Log struct {
	o      Options
	events chan []byte
	done   chan struct{} // closed when nothing is written any more
	lost   atomic.Uint64

	// The rest belongs to Run.
	file       *os.File
	size       int64
	complained time.Time
	told       uint64 // of lost
}

// Open opens the file, so that a path that cannot be written is an error
// before anything is served. Run writes.
func Open(o Options) (*Log, error) {
	if o.Path == "" {
		return nil, errors.New("audit: Path is required")
	}
	if o.MaxSize == 0 {
		o.MaxSize = 100 << 20
	}
	if o.MaxBackups == 0 {
		o.MaxBackups = 10
	}
	if o.MaxSize < 1 || o.MaxBackups < 1 {
		return nil, errors.New("audit: MaxSize and MaxBackups must be positive")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Log{o: o, events: make(chan []byte, queueSize), done: make(chan struct{})}
	return l, l.open()
}

// Put hands an event to the writer, or loses it when there is no place in the
// queue for a while.
func (l *Log) Put(e *Event) {
	e.Kind, e.APIVersion, e.Level = "Event", "audit.k8s.io/v1", "Metadata"
	line, err := json.Marshal(e)
	if err != nil {
		l.lost.Add(1)
		return
	}
	line = append(line, '\n')
	select {
	case l.events <- line:
		return
	default:
	}
	timer := time.NewTimer(putTime)
	defer timer.Stop()
	select {
	case l.events <- line:
	case <-l.done:
		l.lost.Add(1)
	case <-timer.C:
		l.lost.Add(1)
	}
}

// Lost returns how many events could not be written.
func (l *Log) Lost() uint64 { return l.lost.Load() }

// Run writes until ctx ends and what was put before is written; then it closes
// the file and returns nil. Run it once.
func (l *Log) Run(ctx context.Context) error {
	defer close(l.done)
	var b bytes.Buffer
	for {
		select {
		case line := <-l.events:
			l.write(&b, line)
		case <-ctx.Done():
			for {
				select {
				case line := <-l.events:
					l.write(&b, line)
					continue
				default:
				}
				break
			}
			if l.file != nil {
				return l.file.Close()
			}
			return nil
		}
	}
}

// write writes line and what else is waiting.
func (l *Log) write(b *bytes.Buffer, line []byte) {
	b.Reset()
	count := uint64(0)
	for line != nil {
		if l.size+int64(b.Len()+len(line)) > l.o.MaxSize && l.size+int64(b.Len()) > 0 {
			l.flush(b, count)
			count = 0
			l.rotate()
		}
		b.Write(line)
		count++
		line = nil
		if b.Len() < writeSize {
			select {
			case line = <-l.events:
			default:
			}
		}
	}
	l.flush(b, count)
	l.complain()
}

func (l *Log) flush(b *bytes.Buffer, count uint64) {
	if b.Len() == 0 {
		return
	}
	if l.file == nil && l.open() != nil {
		l.lost.Add(count)
		b.Reset()
		return
	}
	n, err := l.file.Write(b.Bytes())
	l.size += int64(n)
	b.Reset()
	if err == nil {
		return
	}
	l.lost.Add(count)
	// A line that was cut would make the next one unreadable too.
	if n > 0 && l.file.Truncate(l.size-int64(n)) == nil {
		l.size -= int64(n)
	}
	l.warn("write audit log", err)
}

func (l *Log) open() error {
	f, err := os.OpenFile(l.o.Path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		err = fmt.Errorf("open audit log: %w", err)
		l.warn("open audit log", err)
		return err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return fmt.Errorf("open audit log: %w", err)
	}
	l.file, l.size = f, info.Size()
	return nil
}

// rotate makes the file the newest of the full ones. When that fails the file
// grows, rather than that anything is lost.
func (l *Log) rotate() {
	backup := func(n int) string { return l.o.Path + "." + strconv.Itoa(n) }
	for n := l.o.MaxBackups; n > 0; n-- {
		from := l.o.Path
		if n > 1 {
			from = backup(n - 1)
		}
		if err := os.Rename(from, backup(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.warn("rotate audit log", err)
			return
		}
	}
	if l.file != nil {
		_ = l.file.Close()
	}
	l.file = nil
	_ = l.open() // tried again with the next event
}

// complain logs how many events were lost since it was logged last.
func (l *Log) complain() {
	if lost := l.lost.Load(); lost > l.told && time.Since(l.complained) > complainEvery {
		l.o.Logger.Error("audit events were lost: the disk is full, or slower than the requests", "lost", lost-l.told, "path", l.o.Path)
		l.told, l.complained = lost, time.Now()
	}
}

func (l *Log) warn(what string, err error) { l.o.Logger.Error(what, "path", l.o.Path, "error", err) }
