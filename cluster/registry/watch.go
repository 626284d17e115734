package registry

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/store"
)

// Watch follows one kind; see api.Client. After the present objects (from 0)
// comes a Bookmark, and one whenever the state has moved on without a change
// for this watch.
func (c *Client) Watch(ctx context.Context, k api.Kind, from uint64, o api.ListOptions) (<-chan api.Event, error) {
	sel, err := c.r.parseSelector(k, o)
	if err != nil {
		return nil, err
	}
	in, err := c.r.o.Store.Watch(ctx, k.Group, k.Kind, o.Namespace, from)
	have := c.r.Revision()
	switch {
	case errors.Is(err, store.ErrCompacted):
		return nil, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", from, have))
	case errors.Is(err, store.ErrFuture):
		return nil, tooLarge(from, have)
	case err != nil:
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("watch %s: %v", k.Resource, err))
	}
	out := make(chan api.Event, 64)
	// The goroutine ends with ctx, as the store's own does: in is closed then.
	go func() {
		defer close(out)
		for e := range in {
			ev, ok := sel.event(e)
			if !ok {
				continue
			}
			select {
			case out <- ev:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

// event is e as seen through the selector: an object that begins to match is
// Added, one that ceases to is Deleted.
func (s *selector) event(e store.Event) (api.Event, bool) {
	out := api.Event{Type: api.EventType(e.Type), Object: e.Object, Revision: e.Revision}
	if s.all || e.Type == store.Bookmark {
		return out, true
	}
	is := s.matches(e.Object)
	was := is
	if !e.Previous.IsZero() {
		was = s.matches(e.Previous)
	}
	switch e.Type {
	case store.Added:
		return out, is
	case store.Deleted:
		return out, was
	}
	switch {
	case is && !was:
		out.Type = api.Added
	case was && !is:
		out.Type = api.Deleted
	case !is:
		return out, false
	}
	return out, true
}
