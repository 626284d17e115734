package nodeagent

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// sink receives the objects of one kind: all of them, then changes.
type sink interface {
	replace(items []object.Object, revision uint64)
	apply(e api.Event)
	// progress says that no change up to revision is outstanding.
	progress(revision uint64)
}

// Pauses between attempts to reach the server.
const (
	minPause = 50 * time.Millisecond
	maxPause = 5 * time.Second
)

// follow keeps s at the state of the cluster until ctx ends. When the watch
// breaks it resumes where it was; when that is too long ago it starts anew,
// and s learns what has gone.
func (a *agent) follow(ctx context.Context, k api.Kind, o api.ListOptions, s sink) error {
	var revision uint64
	pause := minPause
	for ctx.Err() == nil {
		reached, err := a.followOnce(ctx, k, o, s, revision)
		if ctx.Err() != nil {
			break
		}
		switch {
		case err == nil && reached > revision:
			pause = minPause
		case apierrors.IsGone(err) || apierrors.IsResourceExpired(err):
			reached = 0
		}
		if err != nil {
			a.log.Warn("watch again", "kind", k.Kind, "error", err.Error(), "pause", pause.String())
		}
		revision = reached
		sleep(ctx, pause)
		pause = min(2*pause, maxPause)
	}
	return ctx.Err()
}

// followOnce lists, if revision is 0, and follows one watch to its end.
func (a *agent) followOnce(ctx context.Context, k api.Kind, o api.ListOptions, s sink, revision uint64) (uint64, error) {
	if revision == 0 {
		list, err := a.o.Client.List(ctx, k, o)
		if err != nil {
			return 0, err
		}
		s.replace(list.Items, list.Revision)
		revision = list.Revision
	}
	events, err := a.o.Client.Watch(ctx, k, revision, o)
	if err != nil {
		return revision, err
	}
	for e := range events {
		revision = max(revision, e.Revision)
		if e.Type == api.Bookmark {
			s.progress(e.Revision)
		} else {
			s.apply(e)
		}
	}
	return revision, nil
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
