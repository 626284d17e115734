package nodeagent

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/nodeagent/pod"
)

// quietStart is how long a pod may be starting before the agent says so. The
// cluster writes to the pod at that time as well, and a pod that starts well
// is running sooner.
const quietStart = 250 * time.Millisecond

// statusWriter writes one pod's status: the newest, as soon as possible, and
// again until it is written.
type statusWriter struct {
	client api.Client
	log    *slog.Logger
	begun  time.Time

	mu sync.Mutex
	// base is the newest object known, want the status it shall have.
	base *corev1.Pod
	want *corev1.PodStatus
	gone bool
	wake chan struct{}
	// settled is closed, and replaced, when want is written.
	settled chan struct{}
}

func newStatusWriter(c api.Client, p *corev1.Pod, log *slog.Logger) *statusWriter {
	return &statusWriter{
		client: c, base: p, begun: time.Now(), wake: make(chan struct{}, 1), settled: make(chan struct{}),
		log: log.With("pod", p.Namespace+"/"+p.Name),
	}
}

// set asks for a status to be written.
func (w *statusWriter) set(s corev1.PodStatus) {
	w.mu.Lock()
	w.want = &s
	w.mu.Unlock()
	w.poke()
}

func (w *statusWriter) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// rebase takes a newer version of the object.
func (w *statusWriter) rebase(p *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !older(p, w.base) {
		w.base = p
	}
}

// abandon says that there is no object to write to any more.
func (w *statusWriter) abandon() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = true
}

// run writes until ctx ends.
func (w *statusWriter) run(ctx context.Context) {
	pause := minPause
	for {
		select {
		case <-w.wake:
		case <-ctx.Done():
			return
		}
		if d := w.early(); d > 0 {
			// Look again then, or when there is something to say before.
			timer := time.AfterFunc(d, w.poke)
			defer timer.Stop()
			continue
		}
		err := w.write(ctx)
		switch {
		case err == nil:
			pause = minPause
		case ctx.Err() != nil:
			return
		case apierrors.IsConflict(err):
			w.refresh(ctx)
			w.poke()
		default:
			w.log.Warn("write pod status", "error", err.Error(), "pause", pause.String())
			sleep(ctx, pause)
			pause = min(2*pause, maxPause)
			w.poke()
		}
	}
}

// early returns how long a status that only says "starting" can wait.
func (w *statusWriter) early() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.want == nil || w.want.Phase != corev1.PodPending {
		return 0
	}
	for _, c := range append(w.want.InitContainerStatuses, w.want.ContainerStatuses...) {
		if c.State.Waiting == nil || c.RestartCount > 0 || c.State.Waiting.Message != "" {
			return 0
		}
	}
	return quietStart - time.Since(w.begun)
}

// write writes the newest status, if the object does not have it already.
func (w *statusWriter) write(ctx context.Context) error {
	w.mu.Lock()
	if w.want == nil || w.gone {
		w.done()
		w.mu.Unlock()
		return nil
	}
	base, want := w.base, pod.Merge(w.base.Status, *w.want)
	w.mu.Unlock()
	if same(base.Status, want) {
		w.finishWrite(nil, want)
		return nil
	}
	next := base.DeepCopy()
	next.Status = want
	o, err := api.Encode(api.Pod, next)
	if err != nil {
		return err
	}
	o, err = w.client.UpdateStatus(ctx, o)
	if apierrors.IsNotFound(err) {
		w.abandon()
		return w.write(ctx)
	}
	if err != nil {
		return err
	}
	written, err := api.Decode[corev1.Pod](o)
	if err != nil {
		return err
	}
	w.finishWrite(written, want)
	return nil
}

// finishWrite notes that a status is written, and looks whether there is a
// newer one.
func (w *statusWriter) finishWrite(written *corev1.Pod, want corev1.PodStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if written != nil && !older(written, w.base) {
		w.base = written
	}
	if same(pod.Merge(w.base.Status, *w.want), pod.Merge(w.base.Status, want)) {
		w.done()
		return
	}
	w.poke()
}

// same compares as the API does: times have whole seconds there.
func same(a, b corev1.PodStatus) bool {
	x, err1 := object.Marshal(a)
	y, err2 := object.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// done tells those who wait. w.mu is held.
func (w *statusWriter) done() {
	close(w.settled)
	w.settled = make(chan struct{})
}

// refresh reads the object anew after a conflict.
func (w *statusWriter) refresh(ctx context.Context) {
	w.mu.Lock()
	base := w.base
	w.mu.Unlock()
	p, err := get[corev1.Pod](ctx, w.client, api.Pod.Key(base.Namespace, base.Name))
	switch {
	case apierrors.IsNotFound(err), err == nil && p.UID != base.UID:
		w.abandon()
	case err == nil:
		w.rebase(p)
	}
}

// flush waits until the newest status is written, but no longer than limit.
func (w *statusWriter) flush(limit time.Duration) {
	w.mu.Lock()
	settled := w.settled
	w.mu.Unlock()
	w.poke()
	select {
	case <-settled:
	case <-time.After(limit):
	}
}

// finish writes the last status and then lets the object go, which the node
// does for a pod that is being deleted and has stopped.
func (w *statusWriter) finish(ctx context.Context) {
	w.mu.Lock()
	settled := w.settled
	w.mu.Unlock()
	w.poke()
	pause := minPause
	for ctx.Err() == nil {
		select {
		case <-settled:
		case <-time.After(maxPause):
			// The last status is not worth keeping the object for.
		case <-ctx.Done():
			return
		}
		w.mu.Lock()
		gone, base := w.gone, w.base
		w.mu.Unlock()
		if gone || base.DeletionTimestamp == nil {
			return
		}
		err := w.client.Delete(ctx, api.Pod.Key(base.Namespace, base.Name), string(base.UID))
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return
		}
		w.log.Warn("delete stopped pod", "error", err.Error(), "pause", pause.String())
		sleep(ctx, pause)
		pause = min(2*pause, maxPause)
	}
}
