package nodeagent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/writ-dev/writ/cluster/api"
)

const (
	// maxEvents bounds the events remembered; beyond, new ones are dropped
	// until old ones are forgotten, which is eventMemory after the last time.
	maxEvents   = 2048
	eventMemory = time.Hour
	// eventPause is the least time between two writes of one event.
	eventPause = time.Second
)

// event is something to tell the users of an object.
type event struct {
	// kind is Normal or Warning.
	kind, reason, message string
	// key tells events of one object and reason apart; the message when empty.
	// Events with one key are one Event, with a count and the last message.
	key string
	// count is how often it happened; 1 when 0.
	count       int32
	annotations map[string]string
}

// eventKey identifies an Event.
type eventKey struct {
	object      types.UID
	reason, key string
}

// recorder writes Events, each updated in place. It never blocks who records.
type recorder struct {
	client api.Client
	node   string
	log    *slog.Logger
	wake   chan struct{}

	mu      sync.Mutex
	entries map[eventKey]*eventEntry
}

// eventEntry is an Event. Its fields are guarded by recorder.mu.
type eventEntry struct {
	event   corev1.Event
	dirty   bool
	written time.Time
	exists  bool
}

func newRecorder(c api.Client, node string, log *slog.Logger) *recorder {
	return &recorder{client: c, node: node, log: log, wake: make(chan struct{}, 1), entries: map[eventKey]*eventEntry{}}
}

// pod records an event about a pod.
func (r *recorder) pod(p *corev1.Pod, e event) {
	r.record(corev1.ObjectReference{
		APIVersion: "v1", Kind: api.Pod.Kind, Namespace: p.Namespace, Name: p.Name, UID: p.UID,
	}, e)
}

// service records an event about a Service.
func (r *recorder) service(s *corev1.Service, e event) {
	r.record(corev1.ObjectReference{
		APIVersion: "v1", Kind: api.Service.Kind, Namespace: s.Namespace, Name: s.Name, UID: s.UID,
	}, e)
}

func (r *recorder) record(about corev1.ObjectReference, e event) {
	k := eventKey{about.UID, e.reason, cmp.Or(e.key, e.message)}
	now := metav1.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	entry := r.entries[k]
	if entry == nil {
		if len(r.entries) >= maxEvents {
			return
		}
		sum := sha256.Sum256([]byte(string(k.object) + "\x00" + k.reason + "\x00" + k.key))
		entry = &eventEntry{event: corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: about.Namespace, Name: about.Name + "." + hex.EncodeToString(sum[:8])},
			InvolvedObject: about, Reason: e.reason, Type: e.kind, FirstTimestamp: now,
			Source:              corev1.EventSource{Component: "writ-agent", Host: r.node},
			ReportingController: "writ.dev/agent", ReportingInstance: r.node,
		}}
		r.entries[k] = entry
	}
	entry.event.Message, entry.event.Annotations = e.message, e.annotations
	entry.event.Count += max(1, e.count)
	entry.event.LastTimestamp, entry.dirty = now, true
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run writes events until ctx ends.
func (r *recorder) run(ctx context.Context) error {
	for {
		select {
		case <-r.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
		if later := r.writeAll(ctx); later > 0 {
			timer := time.AfterFunc(later, func() {
				select {
				case r.wake <- struct{}{}:
				default:
				}
			})
			defer timer.Stop()
		}
	}
}

// writeAll writes what may be written now, and returns when more may be.
func (r *recorder) writeAll(ctx context.Context) (later time.Duration) {
	now := time.Now()
	r.mu.Lock()
	var due []*eventEntry
	for k, e := range r.entries {
		switch wait := eventPause - now.Sub(e.written); {
		case !e.dirty && now.Sub(e.event.LastTimestamp.Time) > eventMemory:
			delete(r.entries, k)
		case !e.dirty:
		case wait > 0:
			if later == 0 || wait < later {
				later = wait
			}
		default:
			e.written, e.dirty = now, false
			due = append(due, e)
		}
	}
	r.mu.Unlock()
	for _, e := range due {
		err := r.write(ctx, e)
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			continue // the pods are going too; nobody will look
		}
		if err != nil && ctx.Err() == nil {
			r.log.Warn("write event", "error", err.Error())
			if !permanent(err) {
				r.mu.Lock()
				e.dirty = true
				r.mu.Unlock()
				later = max(later, eventPause)
			}
		}
	}
	return later
}

// permanent says that trying again would not help.
func permanent(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err)
}

func (r *recorder) write(ctx context.Context, e *eventEntry) error {
	r.mu.Lock()
	ev, exists := *e.event.DeepCopy(), e.exists
	r.mu.Unlock()
	o, err := api.Encode(api.EventKind, &ev)
	if err != nil {
		return err
	}
	if exists {
		_, err = r.client.Update(ctx, o)
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	_, err = r.client.Create(ctx, o)
	if apierrors.IsAlreadyExists(err) {
		return r.adopt(ctx, e, ev)
	}
	if err == nil {
		r.mu.Lock()
		e.exists = true
		r.mu.Unlock()
	}
	return err
}

// adopt goes on counting an Event that an earlier agent wrote.
func (r *recorder) adopt(ctx context.Context, e *eventEntry, ev corev1.Event) error {
	old, err := get[corev1.Event](ctx, r.client, api.EventKind.Key(ev.Namespace, ev.Name))
	if err != nil {
		return err
	}
	if old.InvolvedObject.UID != ev.InvolvedObject.UID {
		return errors.New("an event of this name is about another object")
	}
	r.mu.Lock()
	e.event.Count += old.Count
	e.event.FirstTimestamp, e.exists = old.FirstTimestamp, true
	ev = *e.event.DeepCopy()
	r.mu.Unlock()
	o, err := api.Encode(api.EventKind, &ev)
	if err != nil {
		return err
	}
	_, err = r.client.Update(ctx, o)
	return err
}
