package nodeagent

import (
	"context"
	"sync"
)

// programmer brings the kernel and the DNS views to what pods and grants say.
// It always programs the whole, of which the network sends the difference.
type programmer struct {
	a *agent

	mu sync.Mutex
	// asked counts changes, done is the count that the last program includes.
	asked, done uint64
	wake        chan struct{}
	// advanced is closed, and replaced, when done grows.
	advanced chan struct{}
}

func newProgrammer(a *agent) *programmer {
	return &programmer{a: a, wake: make(chan struct{}, 1), advanced: make(chan struct{})}
}

// poke says that something has changed.
func (p *programmer) poke() {
	p.mu.Lock()
	p.asked++
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// settle waits until everything that has changed so far is programmed.
func (p *programmer) settle(ctx context.Context) error {
	p.mu.Lock()
	want := p.asked
	p.mu.Unlock()
	for {
		p.mu.Lock()
		done, advanced := p.done, p.advanced
		p.mu.Unlock()
		if done >= want {
			return nil
		}
		select {
		case <-advanced:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// run programs whenever something has changed, until ctx ends. After an error
// it tries again, from the whole.
func (p *programmer) run(ctx context.Context) error {
	pause := minPause
	for {
		select {
		case <-p.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := p.once(); err != nil {
			p.a.log.Error("program network", "error", err.Error(), "pause", pause.String())
			sleep(ctx, pause)
			pause = min(2*pause, maxPause)
			p.poke()
			continue
		}
		pause = minPause
	}
}

func (p *programmer) once() error {
	p.mu.Lock()
	count := p.asked
	p.mu.Unlock()
	state, views := rulesOf(p.a.grants.all(), p.a.pods.tenants())
	// The network first: a name must not lead to what is refused, and what is
	// revoked must not be reached by an address that is known already.
	if err := p.a.fabric.Program(state); err != nil {
		return err
	}
	p.a.names.SetViews(views)
	p.mu.Lock()
	p.done = count
	close(p.advanced)
	p.advanced = make(chan struct{})
	p.mu.Unlock()
	return nil
}
