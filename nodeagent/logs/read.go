package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"
)

// ReadOptions select what of a log is read.
type ReadOptions struct {
	// Previous reads the run before the latest.
	Previous bool
	// Follow waits for more until the run has ended.
	Follow bool
	// Tail, where not negative, skips all but that many last lines.
	Tail int64
	// Since, where not zero, skips older lines.
	Since time.Time
	// Timestamps puts its time before each line.
	Timestamps bool
	// Limit, where positive, ends the output after so many bytes.
	Limit int64
}

// errLimit ends a read that has reached its limit.
var errLimit = errors.New("limit reached")

// Read writes a container's log to w. With Follow it returns when the run has
// ended or ctx is done.
func (s *Store) Read(ctx context.Context, container string, o ReadOptions, w io.Writer) error {
	runs := s.runs(container)
	if o.Previous {
		if len(runs) < 2 {
			return fmt.Errorf("read previous log of %s: %w", container, ErrNotFound)
		}
		slices.Sort(runs)
		runs = runs[:len(runs)-1]
	}
	if len(runs) == 0 {
		return fmt.Errorf("read log of %s: %w", container, ErrNotFound)
	}
	r := &reader{o: o, w: w, files: paths(filepath.Join(s.dir, container), slices.Max(runs))}
	if o.Limit > 0 {
		r.left = o.Limit
	} else {
		r.left = -1
	}
	err := r.run(ctx, s)
	if errors.Is(err, errLimit) {
		return nil
	}
	return err
}

// reader reads one log once.
type reader struct {
	o     ReadOptions
	w     io.Writer
	files [2]string
	left  int64
	skip  int64
}

func (r *reader) run(ctx context.Context, s *Store) error {
	log := s.live(r.files[1])
	older, newer, turns, err := r.open(log)
	if err != nil {
		return err
	}
	defer func() { older.close(); newer.close() }()
	if err := r.setSkip(older, newer); err != nil {
		return err
	}
	if err := r.copy(older); err != nil {
		return err
	}
	for {
		// Take the state first: what is written afterwards closes changed.
		var changed <-chan struct{}
		ended, now := true, turns
		if log != nil {
			now, changed, ended = log.state()
		}
		if err := r.copy(newer); err != nil {
			return err
		}
		if now != turns {
			older.close()
			newer.close()
			missed := now - turns
			if older, newer, turns, err = r.open(log); err != nil {
				return err
			}
			if missed += turns - now; missed > 1 {
				if err := r.copy(older); err != nil {
					return err
				}
			}
			continue
		}
		if ended || !r.o.Follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// open opens both halves as they are at one moment. The older may be nil.
func (r *reader) open(log *Log) (older, newer *source, turns int, err error) {
	if log != nil {
		log.mu.Lock()
		defer log.mu.Unlock()
		turns = log.turns
	}
	if newer, err = openSource(r.files[1]); err != nil {
		return nil, nil, 0, fmt.Errorf("read log: %w", err)
	}
	older, err = openSource(r.files[0])
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		newer.close()
		return nil, nil, 0, fmt.Errorf("read log: %w", err)
	}
	return older, newer, turns, nil
}

// setSkip finds how many lines lie before the tail, and rewinds.
func (r *reader) setSkip(sources ...*source) error {
	if r.o.Tail < 0 {
		return nil
	}
	var all int64
	for _, s := range sources {
		for {
			l, ok := s.next()
			if !ok {
				break
			}
			if !l.partial {
				all++
			}
		}
		if err := s.rewind(); err != nil {
			return fmt.Errorf("read log: %w", err)
		}
	}
	r.skip = max(0, all-r.o.Tail)
	return nil
}

// copy writes the lines from s's position to its end, as seen now.
func (r *reader) copy(s *source) error {
	for {
		l, ok := s.next()
		if !ok {
			return nil
		}
		if r.skip > 0 {
			if !l.partial {
				r.skip--
			}
			continue
		}
		if !r.o.Since.IsZero() && l.at.Before(r.o.Since) {
			continue
		}
		if err := r.write(l); err != nil {
			return err
		}
	}
}

func (r *reader) write(l logLine) error {
	var out []byte
	if r.o.Timestamps {
		out = append(out, l.stamp...)
		out = append(out, ' ')
	}
	out = append(out, l.text...)
	if !l.partial {
		out = append(out, '\n')
	}
	if r.left >= 0 && int64(len(out)) > r.left {
		out = out[:r.left]
	}
	if r.left >= 0 {
		r.left -= int64(len(out))
	}
	if _, err := r.w.Write(out); err != nil {
		return err
	}
	if r.left == 0 {
		return errLimit
	}
	return nil
}
