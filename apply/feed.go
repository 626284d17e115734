package apply

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// news is what a feed has of one kind: everything (first, or again after a gap
// in the watch), or one change.
type news struct {
	kind         api.Kind
	first, again bool
	events       []api.Event
	err          error
}

// feed lists and watches several kinds until its context ends.
type feed struct {
	client    api.Client
	namespace string
	news      chan news
	group     sync.WaitGroup
}

// newFeed starts one goroutine for each kind; wait waits for them.
func newFeed(ctx context.Context, c api.Client, kinds []api.Kind, namespace string) *feed {
	f := &feed{client: c, namespace: namespace, news: make(chan news, 256)}
	for _, k := range kinds {
		f.group.Go(func() { f.run(ctx, k) })
	}
	return f
}

func (f *feed) wait() { f.group.Wait() }

// run follows one kind. A failure of the first list is reported; later ones
// are tried again, since a server may restart while one waits.
func (f *feed) run(ctx context.Context, k api.Kind) {
	o := api.ListOptions{}
	if k.Namespaced {
		o.Namespace = f.namespace
	}
	for attempt := 0; ctx.Err() == nil; attempt++ {
		list, err := f.client.List(ctx, k, o)
		switch {
		case err == nil:
			n := news{kind: k, first: attempt == 0, again: attempt > 0}
			for _, item := range list.Items {
				n.events = append(n.events, api.Event{Type: api.Added, Object: item})
			}
			f.send(ctx, n)
			f.watch(ctx, k, list.Revision, o)
		case attempt == 0:
			f.send(ctx, news{kind: k, err: fmt.Errorf("read %s: %w", k.Resource, err)})
			return
		}
		pause(ctx, min(50*time.Millisecond<<min(attempt, 6), 2*time.Second))
	}
}

// watch passes changes on until the watch ends.
func (f *feed) watch(ctx context.Context, k api.Kind, from uint64, o api.ListOptions) {
	// A watch has a context of its own, so that it ends with this function.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := f.client.Watch(ctx, k, from, o)
	if err != nil {
		return
	}
	for e := range events {
		if e.Type != api.Bookmark {
			f.send(ctx, news{kind: k, events: []api.Event{e}})
		}
	}
}

func (f *feed) send(ctx context.Context, n news) {
	select {
	case f.news <- n:
	case <-ctx.Done():
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// groupOf is the group of an apiVersion.
func groupOf(apiVersion string) string {
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return group
}

func compareKeys(a, b object.Key) int {
	return cmp.Or(
		strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind),
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name),
	)
}
