package client

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// Watch sends the changes of one kind after revision from; see api.Client.
// To resume after the channel closed, watch again from the last Revision seen;
// when that is answered with Gone, list anew.
func (c *Client) Watch(ctx context.Context, k api.Kind, from uint64, o api.ListOptions) (<-chan api.Event, error) {
	q := selectors(o)
	q.Set("watch", "true")
	q.Set("allowWatchBookmarks", "true")
	q.Set("writBookmarks", "prompt") // every step, not one now and then
	if from == 0 {
		q.Set("sendInitialEvents", "true")
		q.Set("resourceVersionMatch", "NotOlderThan")
	} else {
		q.Set("resourceVersion", strconv.FormatUint(from, 10))
	}
	resp, err := c.send(ctx, request{method: http.MethodGet, path: collection(k, o.Namespace), query: q})
	if err != nil {
		return nil, err
	}
	out := make(chan api.Event, 64)
	go func() {
		defer close(out)
		defer resp.Body.Close()
		_ = readEvents(ctx, resp.Body, out)
	}()
	return out, nil
}

// readEvents copies events from a watch's body until it ends, an ERROR event
// comes, or ctx is done; the error says which.
func readEvents(ctx context.Context, body io.Reader, out chan<- api.Event) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 64<<10), maxObject)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		e, err := parseEvent(lines.Bytes())
		if err != nil {
			return err
		}
		select {
		case out <- e:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return lines.Err()
}

func parseEvent(line []byte) (api.Event, error) {
	var w struct {
		Type   api.EventType   `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(line, &w); err != nil {
		return api.Event{}, err
	}
	switch w.Type {
	case api.Added, api.Modified, api.Deleted, api.Bookmark:
	default: // ERROR, or a type of a later version: the watch is over.
		return api.Event{}, apierrors.NewResourceExpired("watch ended: " + string(w.Object))
	}
	o, err := object.Parse(w.Object)
	if err != nil {
		return api.Event{}, err
	}
	e := api.Event{Type: w.Type, Object: o}
	e.Revision, err = strconv.ParseUint(o.Meta().ResourceVersion, 10, 64)
	if err != nil {
		return api.Event{}, err
	}
	if e.Type == api.Bookmark {
		e.Object = object.Object{}
	}
	return e, nil
}
