// Package fair shares a bounded number of seats among flows, so that none can
// keep the others out: a flow is whatever should get an equal share, such as
// the requests of one user.
//
// A flow takes as many seats as there are while no other wants any, but for a
// reserve. When seats are short, flows wait in queues of their own, and a seat
// that is given back goes to the flow that has the fewest. When too many wait,
// the longest queue loses its newest, not whoever comes last.
package fair

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// ErrBusy says that a flow has too many waiting, or has waited too long.
var ErrBusy = errors.New("too many requests")

// Options configure a Limiter. All are required.
type Options struct {
	// Seats is how many run at once, PerFlow how many of them one flow may have.
	Seats, PerFlow int
	// Queue is how many may wait, of all flows together.
	Queue int
	// Wait is how long one may wait.
	Wait time.Duration
}

// Limiter gives out seats. It is safe for concurrent use.
type Limiter struct {
	o Options

	mu      sync.Mutex // guards all below
	running int
	waiting int
	turn    uint64
	flows   map[string]*flow // those that run or wait
}

type flow struct {
	name    string
	running int
	queue   list.List // of *waiter, oldest first
	turn    uint64    // when it came, or last got a seat
}

type waiter struct {
	flow  *flow
	place *list.Element
	// decided is sent to once: true for a seat, false for ErrBusy.
	decided chan bool
}

// New makes a limiter.
func New(o Options) *Limiter {
	return &Limiter{o: o, flows: map[string]*flow{}}
}

// Acquire waits for a seat for a flow; release gives it back and must be
// called once. The error is ErrBusy or that of ctx.
func (l *Limiter) Acquire(ctx context.Context, name string) (release func(), err error) {
	f, w := l.enter(name)
	if w != nil {
		if err := l.wait(ctx, w); err != nil {
			return nil, err
		}
	}
	return func() { l.leave(f) }, nil
}

// enter takes a seat, or a place in the flow's queue.
func (l *Limiter) enter(name string) (*flow, *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.flows[name]
	if f == nil {
		l.turn++
		f = &flow{name: name, turn: l.turn}
		l.flows[name] = f
	}
	// Those who wait already come first.
	if l.running < l.o.Seats && f.running < l.o.PerFlow && f.queue.Len() == 0 {
		l.seat(f)
		return f, nil
	}
	w := &waiter{flow: f, decided: make(chan bool, 1)}
	w.place = f.queue.PushBack(w)
	if l.waiting++; l.waiting > l.o.Queue {
		longest := f
		for _, other := range l.flows {
			if other.queue.Len() > longest.queue.Len() {
				longest = other
			}
		}
		loser := longest.queue.Back().Value.(*waiter)
		l.unqueue(loser)
		loser.decided <- false
	}
	return f, w
}

func (l *Limiter) wait(ctx context.Context, w *waiter) error {
	timer := time.NewTimer(l.o.Wait)
	defer timer.Stop()
	err := ErrBusy
	select {
	case ok := <-w.decided:
		if ok {
			return nil
		}
		return ErrBusy
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case ok := <-w.decided: // meanwhile
		if ok {
			return nil
		}
	default:
		l.unqueue(w)
	}
	return err
}

// leave gives a seat back and to whom it is due.
func (l *Limiter) leave(f *flow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	f.running--
	l.forget(f)
	for l.running < l.o.Seats {
		next := l.next()
		if next == nil {
			return
		}
		w := next.queue.Front().Value.(*waiter)
		l.seat(next) // before unqueue, which forgets flows without either
		l.unqueue(w)
		w.decided <- true
	}
}

// next is the waiting flow with the fewest seats; of equals the one that came,
// or got one, the longest ago.
func (l *Limiter) next() *flow {
	var best *flow
	for _, f := range l.flows {
		if f.queue.Len() == 0 || f.running >= l.o.PerFlow {
			continue
		}
		if best == nil || f.running < best.running || f.running == best.running && f.turn < best.turn {
			best = f
		}
	}
	return best
}

func (l *Limiter) seat(f *flow) {
	l.turn++
	l.running++
	f.running++
	f.turn = l.turn
}

func (l *Limiter) unqueue(w *waiter) {
	w.flow.queue.Remove(w.place)
	l.waiting--
	l.forget(w.flow)
}

func (l *Limiter) forget(f *flow) {
	if f.running == 0 && f.queue.Len() == 0 {
		delete(l.flows, f.name)
	}
}

// Counter bounds how many of something are held at once, all together and by
// each flow. Nobody waits. It is safe for concurrent use.
type Counter struct {
	total, perFlow int

	mu    sync.Mutex // guards all below
	held  int
	flows map[string]int
}

// NewCounter makes a counter.
func NewCounter(total, perFlow int) *Counter {
	return &Counter{total: total, perFlow: perFlow, flows: map[string]int{}}
}

// Acquire takes one for a flow, or returns ErrBusy; release gives it back and
// must be called once.
func (c *Counter) Acquire(name string) (release func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held >= c.total || c.flows[name] >= c.perFlow {
		return nil, ErrBusy
	}
	c.held++
	c.flows[name]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.held--
		if c.flows[name]--; c.flows[name] == 0 {
			delete(c.flows, name)
		}
	}, nil
}
