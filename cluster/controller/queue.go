package controller

import (
	"container/heap"
	"sync"
	"time"

	"github.com/writ-dev/writ/cluster/object"
)

// queue hands out keys in the order added, each at most once at a time. Its
// size is bounded by the number of distinct keys.
type queue struct {
	min, max time.Duration

	mu     sync.Mutex // guards all below
	cond   *sync.Cond
	closed bool
	ready  []object.Key
	// state holds every key that is queued, being worked on, waiting, or that
	// has failed; a key at rest has no entry.
	state map[object.Key]*entry
	// delayed orders entries by due; timer fires at the first.
	delayed delayed
	timer   *time.Timer
}

type entry struct {
	key            object.Key
	queued, active bool
	// again: added while active.
	again    bool
	failures int
	due      time.Time
	// index in delayed, or -1.
	index int
}

func newQueue(minBackoff, maxBackoff time.Duration) *queue {
	q := &queue{min: minBackoff, max: maxBackoff, state: map[object.Key]*entry{}}
	q.cond = sync.NewCond(&q.mu)
	return q
}

// add makes k ready, at once.
func (q *queue) add(k object.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.push(q.entry(k))
}

// get blocks for the next ready key; false means the queue is closed. The
// caller must end its work on the key with done, succeed or fail.
func (q *queue) get() (object.Key, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.ready) == 0 && !q.closed {
		q.cond.Wait()
	}
	if q.closed {
		return object.Key{}, false
	}
	k := q.ready[0]
	q.ready[0] = object.Key{}
	q.ready = q.ready[1:]
	e := q.state[k]
	e.queued, e.active = false, true
	return k, true
}

// succeed ends the work on k, forgets its failures, and looks at it again
// after d, if positive.
func (q *queue) succeed(k object.Key, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.state[k].failures = 0
	q.finish(k, d)
}

// fail ends the work on k and looks at it again after its back-off. With
// soon, the first of a row of failures is followed up at once: somebody else
// was faster, and there is newer state to look at.
func (q *queue) fail(k object.Key, soon bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.state[k]
	if soon && e.failures == 0 {
		e.failures, e.again = 1, true
	}
	d := q.max
	if e.failures < 30 {
		d = min(q.max, q.min<<e.failures)
		e.failures++
	}
	q.finish(k, d)
}

// done ends the work on k.
func (q *queue) done(k object.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.finish(k, 0)
}

// close wakes everyone who waits; keys still queued are dropped.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	if q.timer != nil {
		q.timer.Stop()
	}
	q.cond.Broadcast()
}

func (q *queue) entry(k object.Key) *entry {
	e := q.state[k]
	if e == nil {
		e = &entry{key: k, index: -1}
		q.state[k] = e
	}
	return e
}

func (q *queue) push(e *entry) {
	if e.index >= 0 {
		heap.Remove(&q.delayed, e.index)
	}
	switch {
	case e.active:
		e.again = true
	case !e.queued:
		e.queued = true
		q.ready = append(q.ready, e.key)
		q.cond.Signal()
	}
}

func (q *queue) finish(k object.Key, d time.Duration) {
	e := q.state[k]
	e.active = false
	switch {
	case q.closed:
		delete(q.state, k)
	case e.again:
		e.again = false
		q.push(e)
	case d > 0:
		e.due = time.Now().Add(d)
		heap.Push(&q.delayed, e)
		if e.index == 0 {
			q.arm()
		}
	case e.failures == 0:
		delete(q.state, k)
	}
}

// arm sets the timer to the first delayed entry.
func (q *queue) arm() {
	if q.timer == nil {
		q.timer = time.AfterFunc(time.Until(q.delayed[0].due), q.fire)
		return
	}
	q.timer.Reset(time.Until(q.delayed[0].due))
}

// fire makes ready what is due.
func (q *queue) fire() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for len(q.delayed) > 0 && !q.closed {
		if q.delayed[0].due.After(now) {
			q.arm()
			return
		}
		q.push(q.delayed[0])
	}
}

// delayed is a heap of entries by due.
type delayed []*entry

func (d delayed) Len() int           { return len(d) }
func (d delayed) Less(i, j int) bool { return d[i].due.Before(d[j].due) }
func (d delayed) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].index, d[j].index = i, j
}

func (d *delayed) Push(x any) {
	e := x.(*entry)
	e.index = len(*d)
	*d = append(*d, e)
}

func (d *delayed) Pop() any {
	old := *d
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*d = old[:len(old)-1]
	e.index = -1
	return e
}
