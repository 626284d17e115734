package cache

import (
	"context"

	"github.com/writ-dev/writ/lang"
)

// Evaluator returns an evaluator of a language that answers from the cache and
// asks inner only for what is not there.
func (s *Session) Evaluator(language string, inner lang.Evaluator) lang.Evaluator {
	return evaluator{s, language, inner}
}

type evaluator struct {
	session  *Session
	language string
	inner    lang.Evaluator
}

// Eval satisfies lang.Evaluator.
func (e evaluator) Eval(ctx context.Context, p lang.Program) (*lang.Result, error) {
	if len(p.Overlay) > 0 || len(p.Explain) > 0 {
		// Computed files are made anew each time, and explanations are asked
		// for by people; their results would only fill the cache.
		return e.inner.Eval(ctx, p)
	}
	s := e.session
	key := s.cache.key(e.language, p)
	if r := s.find(key); r != nil {
		return r, nil
	}
	r, err := e.inner.Eval(ctx, p)
	if err == nil {
		s.keep(key, r)
	}
	return r, err
}

// find returns a result that still counts, nil if there is none.
func (s *Session) find(key string) *lang.Result {
	e := s.cache.read(key)
	hit, fresh := false, false
	if e != nil {
		hit, fresh = s.holds(e)
	}
	var value lang.Value
	if hit {
		var err error
		if value, err = lang.ParseBinary(e.value); err != nil {
			hit = false
		}
	}
	s.mu.Lock()
	if hit {
		s.counts.Hits++
	} else {
		s.counts.Misses++
	}
	s.mu.Unlock()
	if !hit {
		return nil
	}
	if fresh {
		s.cache.write(key, e)
	}
	r := e.Result
	r.Value = value
	return &r
}

// holds reports whether everything that an entry depends on is as it was, and
// whether the marks were brought up to date.
func (s *Session) holds(e *entry) (ok, fresh bool) {
	for i, r := range e.Result.Reads {
		if lang.IsLibrary(r.File) {
			continue // part of the build
		}
		now := s.look(r)
		if now.mark.same(e.Marks[i]) {
			continue
		}
		if s.digest(r) != r.SHA256 {
			return false, false
		}
		if now.mark.usable() {
			e.Marks[i], fresh = now.mark, true
		}
	}
	return true, fresh
}

// keep stores a result, if what it was made of is still there to be marked: a
// file that changed during the evaluation must not be taken for what was read.
func (s *Session) keep(key string, r *lang.Result) {
	e := &entry{Result: *r, value: r.Value.AppendBinary(nil)}
	e.Result.Value = lang.Value{}
	s.store(key, e)
}

// store marks what an entry depends on and writes it.
func (s *Session) store(key string, e *entry) {
	e.Marks = make([]mark, len(e.Result.Reads))
	for i, read := range e.Result.Reads {
		if lang.IsLibrary(read.File) {
			continue
		}
		if s.digest(read) != read.SHA256 {
			return
		}
		e.Marks[i] = s.look(read).mark
	}
	s.cache.write(key, e)
	s.mu.Lock()
	s.written = true
	s.mu.Unlock()
}
