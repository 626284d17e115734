package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// bookmarkEvery is how often other programs' watches are told how far they
// have come; Writ's own ask for every step.
const bookmarkEvery = 30 * time.Second

// watching is one open watch.
type watching struct {
	s    *Server
	k    api.Kind
	form form
	// include is for tables, see metav1.TableOptions.
	include metav1.IncludeObjectPolicy
	// bookmarks says whether the client wants them, prompt whether all.
	bookmarks, prompt bool
	// initialEnd says that the first bookmark ends the initial events.
	initialEnd bool
	last       time.Time // of the last bookmark
	headed     bool      // whether a table's columns were sent
}

// watch streams changes, one JSON object a line.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, c *call, k api.Kind) error {
	if c.info.sub != "" {
		return noSuchMethod(c.info)
	}
	q := c.info.query
	t := &watching{s: s, k: k, form: negotiate(r), include: include(r)}
	t.bookmarks = isTrue(q.Get("allowWatchBookmarks"))
	t.prompt = q.Get("writBookmarks") == "prompt"
	from, err := s.watchFrom(q.Get("resourceVersion"), q.Get("resourceVersionMatch"), q.Get("sendInitialEvents"), t)
	if err != nil {
		return err
	}
	life, err := watchLife(q.Get("timeoutSeconds"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), life)
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	events, err := s.client(c).Watch(ctx, k, from, listOptions(c.info))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	t.copy(ctx, w, events)
	return nil
}

func isTrue(v string) bool { return v == "true" || v == "1" }

// watchFrom finds the revision to watch from; 0 sends the present objects
// first.
func (s *Server) watchFrom(version, match, initial string, t *watching) (uint64, error) {
	var at uint64
	if version != "" {
		n, err := strconv.ParseUint(version, 10, 64)
		if err != nil {
			return 0, apierrors.NewBadRequest(fmt.Sprintf("resourceVersion: Invalid value: %q: must be a decimal number", version))
		}
		at = n
	}
	if initial == "" {
		if match != "" {
			return 0, apierrors.NewBadRequest("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
		}
		return at, nil
	}
	if match != string(metav1.ResourceVersionMatchNotOlderThan) {
		return 0, apierrors.NewBadRequest("sendInitialEvents requires resourceVersionMatch NotOlderThan")
	}
	have := s.o.Registry.Revision()
	if isTrue(initial) {
		t.initialEnd = true
		if at > have {
			e := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", at, have), 1)
			e.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
			return 0, e
		}
		return 0, nil
	}
	if at == 0 {
		return have, nil
	}
	return at, nil
}

// watchLife is how long a watch may last: what the client wants, or about as
// long as Kubernetes' do.
func watchLife(seconds string) (time.Duration, error) {
	const least = 30 * time.Minute
	if seconds == "" || seconds == "0" {
		return least + rand.N(least), nil
	}
	n, err := strconv.ParseInt(seconds, 10, 32)
	if err != nil || n < 0 {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("timeoutSeconds %q is not a number of seconds", seconds))
	}
	return time.Duration(n) * time.Second, nil
}

// copy writes events until they end. What is waiting is written together.
func (t *watching) copy(ctx context.Context, w http.ResponseWriter, events <-chan api.Event) {
	ctl := http.NewResponseController(w)
	if ctl.Flush() != nil {
		return
	}
	var buf []byte
	for {
		var ok bool
		select {
		case <-ctx.Done():
			return
		case e, open := <-events:
			if !open {
				return
			}
			if buf, ok = t.append(buf[:0], e); !ok {
				return
			}
		}
		for more := true; more && len(buf) < 64<<10; {
			select {
			case e, open := <-events:
				if !open {
					more = false
				} else if buf, ok = t.append(buf, e); !ok {
					return
				}
			default:
				more = false
			}
		}
		if len(buf) == 0 {
			continue
		}
		_ = ctl.SetWriteDeadline(time.Now().Add(writeTime))
		if _, err := w.Write(buf); err != nil || ctl.Flush() != nil {
			return
		}
		if cap(buf) > 1<<20 {
			buf = nil
		}
	}
}

// append adds one event as a line, or nothing when the client does not want it.
func (t *watching) append(buf []byte, e api.Event) ([]byte, bool) {
	var doc []byte
	if e.Type == api.Bookmark {
		if doc = t.bookmark(e); doc == nil {
			return buf, true
		}
	} else {
		doc = t.document(e.Object)
	}
	buf = append(buf, `{"type":"`...)
	buf = append(buf, e.Type...)
	buf = append(buf, `","object":`...)
	buf = append(buf, doc...)
	return append(buf, "}\n"...), true
}

func (t *watching) document(o object.Object) []byte {
	switch t.form.as {
	case "Table":
		table := t.s.table(t.k, []object.Object{o}, t.include, !t.headed)
		table.ResourceVersion = o.Meta().ResourceVersion
		t.headed = true
		b, err := object.Marshal(table)
		if err != nil {
			return o.JSON()
		}
		return b
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return partial(o)
	}
	return o.JSON()
}

// bookmark returns nil when the client does not want this one.
func (t *watching) bookmark(e api.Event) []byte {
	first := t.initialEnd
	t.initialEnd = false
	now := time.Now()
	if !first && (!t.bookmarks || !t.prompt && now.Sub(t.last) < bookmarkEvery) {
		return nil
	}
	t.last = now
	meta := map[string]any{"resourceVersion": strconv.FormatUint(e.Revision, 10), "creationTimestamp": nil}
	if first {
		meta["annotations"] = map[string]any{metav1.InitialEventsAnnotationKey: "true"}
	}
	doc := map[string]any{"apiVersion": t.k.APIVersion(), "kind": t.k.Kind, "metadata": meta}
	switch {
	case t.form.as == "Table":
		doc = map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "Table", "metadata": meta, "columnDefinitions": []any{}, "rows": []any{}}
	case slices.Contains([]string{"PartialObjectMetadata", "PartialObjectMetadataList"}, t.form.as):
		doc["apiVersion"], doc["kind"] = "meta.k8s.io/v1", "PartialObjectMetadata"
	}
	b, err := json.Marshal(doc)
	if err != nil {
		return nil
	}
	return b
}
