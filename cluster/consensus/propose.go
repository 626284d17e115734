package consensus

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/writ-dev/writ/cluster/store"
)

// Propose makes c durable and applies it. When ctx ends while c is under way,
// the error is store.ErrOutcomeUnknown (and ctx's): c may still be applied.
// All other errors are those of package store.
func (n *Node) Propose(ctx context.Context, c store.Command) (store.Result, error) {
	if err := ctx.Err(); err != nil {
		return store.Result{}, err
	}
	if err := c.Validate(); err != nil {
		return store.Result{}, err
	}
	if err := n.dir.checkFree(n.options.MinFree); err != nil {
		return store.Result{}, err
	}
	var f raft.ApplyFuture
	err := n.submit(ctx, func() raft.Future {
		f = n.raft.Apply(c.Encode(), 0)
		return f
	})
	if err != nil {
		return store.Result{}, err
	}
	result, ok := f.Response().(store.Result)
	if !ok {
		// The entry is in the log, but this server stopped before it.
		return store.Result{}, fmt.Errorf("%w: %w", store.ErrOutcomeUnknown, n.Err())
	}
	return result, nil
}

// Barrier returns when all that was committed before the call is applied here.
func (n *Node) Barrier(ctx context.Context) error {
	return n.submit(ctx, func() raft.Future { return n.raft.Barrier(0) })
}

// submit hands one entry to Raft and waits for it, ctx or the end. begin's
// results may be used only if there is no error.
func (n *Node) submit(ctx context.Context, begin func() raft.Future) error {
	select {
	case n.slots <- struct{}{}:
	case <-n.ended:
		return n.Err()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", store.ErrBusy, ctx.Err())
	}
	free := func() { <-n.slots }
	if n.Err() == nil && !n.leading.Load() {
		free()
		return store.ErrNotLeader
	}
	return n.await(ctx, begin, free)
}

// await runs begin unless the Node has ended, and waits for its future, ctx or
// the end of Raft. It calls after once the future is answered, which may be
// later.
func (n *Node) await(ctx context.Context, begin func() raft.Future, after func()) error {
	n.mu.RLock()
	if n.err != nil {
		defer n.mu.RUnlock()
		after()
		return n.err
	}
	n.futures.Add(1)
	n.mu.RUnlock()

	done := make(chan error, 1)
	go func() {
		defer n.futures.Done()
		defer after()
		done <- begin().Error()
	}()
	select {
	case err := <-done:
		return n.explain(err)
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", store.ErrOutcomeUnknown, ctx.Err())
	case <-n.stopped:
		return fmt.Errorf("%w: %w", store.ErrOutcomeUnknown, n.Err())
	}
}

// explain turns a future's error into one of package store's.
func (n *Node) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return store.ErrNotLeader
	}
	// Leadership lost, shut down or a failed write: the entry may be on disk,
	// here or at another member.
	if stopped := n.Err(); stopped != nil {
		err = stopped
	}
	return fmt.Errorf("%w: %w", store.ErrOutcomeUnknown, err)
}
