package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// watcher follows one kind for one controller. seen holds the last state of
// each object, shared with the store, so that a change tells what was before
// and a relist finds what has gone.
type watcher struct {
	c    *Controller
	w    Watch
	seen map[object.Key]object.Object
}

func newWatcher(c *Controller, w Watch) *watcher {
	return &watcher{c: c, w: w, seen: map[object.Key]object.Object{}}
}

// run follows the kind until ctx ends.
func (w *watcher) run(ctx context.Context) {
	var rev uint64
	failures := 0
	for ctx.Err() == nil {
		reached, err := w.follow(ctx, rev)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && reached > rev:
			failures = 0
		case err == nil:
			failures++ // A watch that closes at once must not spin.
		case gone(err):
			reached = 0
			failures++
		default:
			failures++
			w.c.o.Logger.Warn("watch again", logKind, w.w.Kind.Kind, logError, err)
		}
		rev = reached
		if failures > 0 {
			pause(ctx, min(w.c.o.MaxBackoff, w.c.o.MinBackoff<<min(failures-1, 20)))
		}
	}
}

// follow delivers changes after rev until the watch ends, and returns the
// revision reached. rev 0 lists first.
func (w *watcher) follow(ctx context.Context, rev uint64) (uint64, error) {
	if rev == 0 {
		list, err := w.c.o.Client.List(ctx, w.w.Kind, w.w.ListOptions)
		if err != nil {
			return 0, err
		}
		w.replace(ctx, list.Items)
		rev = list.Revision
	}
	events, err := w.c.o.Client.Watch(ctx, w.w.Kind, rev, w.w.ListOptions)
	if err != nil {
		return rev, err
	}
	for e := range events {
		rev = max(rev, e.Revision)
		if e.Type == api.Bookmark {
			continue
		}
		key := e.Object.Key()
		change := Change{Old: w.seen[key]}
		if e.Type == api.Deleted {
			// The last state may carry more than what was last seen.
			change.Old = e.Object
			delete(w.seen, key)
		} else {
			change.New = e.Object
			w.seen[key] = e.Object
		}
		w.deliver(ctx, change)
	}
	return rev, nil
}

// replace makes items the present state and delivers the differences.
func (w *watcher) replace(ctx context.Context, items []object.Object) {
	now := make(map[object.Key]object.Object, len(items))
	for _, o := range items {
		key := o.Key()
		now[key] = o
		old := w.seen[key]
		if !old.IsZero() && old.Meta().ResourceVersion == o.Meta().ResourceVersion {
			continue
		}
		w.deliver(ctx, Change{Old: old, New: o})
	}
	for key, old := range w.seen {
		if _, ok := now[key]; !ok {
			w.deliver(ctx, Change{Old: old})
		}
	}
	w.seen = now
}

func (w *watcher) deliver(ctx context.Context, c Change) {
	if w.w.Map == nil {
		w.c.q.add(c.Object().Key())
		return
	}
	for _, k := range w.w.Map(ctx, c) {
		w.c.q.add(k)
	}
}

func gone(err error) bool { return apierrors.IsGone(err) || apierrors.IsResourceExpired(err) }

// pause waits d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
