package store

import "sort"

// transaction is the events of one revision that wrote something.
type transaction struct {
	revision uint64
	bytes    int
	events   []Event
}

// history is the bounded tail of all transactions, numbered from 0 without
// gaps. Its memory is a ring, so that appending costs no copying.
type history struct {
	maxEvents, maxBytes int

	ring   []transaction // length is a power of two
	first  uint64        // number of the oldest transaction kept
	count  int
	events int
	bytes  int
	// compacted is the revision of the newest transaction dropped: a watch
	// from there or later misses nothing.
	compacted uint64
}

func newHistory(o Options) history {
	return history{maxEvents: o.HistoryEvents, maxBytes: o.HistoryBytes, ring: make([]transaction, 64)}
}

func (h *history) at(number uint64) *transaction {
	return &h.ring[number&uint64(len(h.ring)-1)]
}

// end is the number that the next transaction will have.
func (h *history) end() uint64 { return h.first + uint64(h.count) }

// append adds one transaction and drops the oldest beyond the bounds. The
// newest is always kept, however large.
func (h *history) append(revision uint64, events []Event) {
	t := transaction{revision: revision, events: events}
	for _, e := range events {
		// Two states of the object, and about as much again for what is parsed.
		t.bytes += 2*len(e.Object.JSON()) + 256
	}
	if h.count == len(h.ring) {
		h.grow()
	}
	*h.at(h.end()) = t
	h.count++
	h.events += len(events)
	h.bytes += t.bytes
	for h.count > 1 && (h.events > h.maxEvents || h.bytes > h.maxBytes) {
		oldest := h.at(h.first)
		h.events -= len(oldest.events)
		h.bytes -= oldest.bytes
		h.compacted = oldest.revision
		*oldest = transaction{}
		h.first++
		h.count--
	}
}

func (h *history) grow() {
	ring := make([]transaction, 2*len(h.ring))
	for n := h.first; n < h.end(); n++ {
		ring[n&uint64(len(ring)-1)] = *h.at(n)
	}
	h.ring = ring
}

// after returns the number of the first transaction kept that is later than
// revision.
func (h *history) after(revision uint64) uint64 {
	return h.first + uint64(sort.Search(h.count, func(i int) bool {
		return h.at(h.first+uint64(i)).revision > revision
	}))
}

// from returns a copy of at most limit transactions from number on.
func (h *history) from(number uint64, limit int) []transaction {
	n := min(limit, int(h.end()-number))
	if n == 0 {
		return nil
	}
	out := make([]transaction, n)
	for i := range out {
		out[i] = *h.at(number + uint64(i))
	}
	return out
}

// reset forgets everything up to revision. Numbers go on.
func (h *history) reset(revision uint64) {
	h.first = h.end()
	h.count, h.events, h.bytes = 0, 0, 0
	h.compacted = revision
	clear(h.ring)
}
