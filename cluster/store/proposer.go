package store

import (
	"context"
	"sync"
)

// Proposer is the one way to change a Store. Propose returns once the Command
// is applied to this replica's Store; a Result with Failed mutations is not an
// error. It is satisfied by consensus.Node, which makes the Command durable
// first, and by LocalProposer, which does not. The errors are those of this
// package; the suite in proposertest says what both must do.
type Proposer interface {
	Propose(ctx context.Context, c Command) (Result, error)
}

// LocalProposer applies to a Store without a log: for tests and simulations.
type LocalProposer struct {
	mu    sync.Mutex
	store *Store
}

// Local returns a Proposer that applies to s directly. It must be s's only one.
func Local(s *Store) *LocalProposer { return &LocalProposer{store: s} }

// Propose applies c at the next revision.
func (p *LocalProposer) Propose(ctx context.Context, c Command) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if err := c.Validate(); err != nil {
		return Result{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.store.Apply(p.store.View().Revision()+1, c)
}
