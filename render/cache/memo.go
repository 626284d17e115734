package cache

import "github.com/writ-dev/writ/lang"

// A memo is the answer to a question that was worked out from many
// evaluations: it counts while everything that all of them read is as it was.

// Recall returns the answer to a question, if it still counts.
func (s *Session) Recall(question string) ([]byte, bool) {
	key := s.cache.key("memo", lang.Program{Entry: question})
	e := s.cache.read(key)
	if e == nil {
		return nil, false
	}
	ok, fresh := s.holds(e)
	if ok && fresh {
		s.cache.write(key, e)
	}
	return e.value, ok
}

// Remember keeps the answer to a question. Reads is everything that it was
// worked out from, but for what the question says itself.
func (s *Session) Remember(question string, reads []lang.Read, answer []byte) {
	s.store(s.cache.key("memo", lang.Program{Entry: question}), &entry{Result: lang.Result{Reads: reads}, value: answer})
}
