package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/apply/converge"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
)

// Progress is news about one object that is waited for.
type Progress struct {
	Key    object.Key
	Status converge.Status
	// Event is set when the news is an Event about the object or something
	// below it.
	Event object.Object
}

// WaitError names what was not done when the wait ended, and why it ended.
type WaitError struct {
	Pending []Progress
	Cause   error
}

// Error names every pending object on a line of its own.
func (e *WaitError) Error() string {
	d := e.Diagnostic(fmt.Sprintf("stopped waiting: %v", e.Cause))
	lines := []string{d.Message}
	for _, n := range d.Notes {
		lines = append(lines, n.Text)
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the cause.
func (e *WaitError) Unwrap() error { return e.Cause }

// Diagnostic is the error for a person: message, and a note for every pending
// object.
func (e *WaitError) Diagnostic(message string) diag.Diagnostic {
	d := diag.Diagnostic{Code: "WAIT", Message: message}
	for _, p := range e.Pending {
		verb := "is not done"
		if p.Status.State == converge.Stuck {
			verb = "is stuck"
		}
		d.Notes = append(d.Notes, diag.Note{Text: fmt.Sprintf("%s %s: %s", p.Key, verb, p.Status.Message)})
	}
	return d
}

// Goal is what a wait ends with: objects that are done, and objects that are
// gone.
type Goal struct {
	Done, Gone []object.Key
}

// Goal returns what the cluster has to come to when p is applied.
func (p *Plan) Goal() Goal {
	var g Goal
	for _, o := range p.Objects {
		if o.Action == Delete {
			g.Gone = append(g.Gone, o.Key)
		} else {
			g.Done = append(g.Done, o.Key)
		}
	}
	return g
}

// Wait watches until the goal is reached, and calls progress, from this
// goroutine, for every change of an object's status and every event about it
// or what is below it. When ctx ends first, the error is a WaitError. An
// object that is stuck does not end the wait, since it may be helped from
// outside.
func Wait(ctx context.Context, c api.Client, goal Goal, progress func(Progress)) error {
	kinds := []api.Kind{api.ReplicaSet, api.Pod, api.EventKind}
	objects := slices.Concat(goal.Done, goal.Gone)
	for _, k := range objects {
		kind, ok := api.Lookup(k.Group, k.Kind)
		if !ok {
			return fmt.Errorf("wait: kind of %s is not served", k)
		}
		if !slices.ContainsFunc(kinds, func(x api.Kind) bool { return x.GVK() == kind.GVK() }) {
			kinds = append(kinds, kind)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := newFeed(ctx, c, kinds, onlyNamespace(objects))
	defer f.wait()
	defer cancel()

	w := &waiter{objects: objects, gone: goal.Gone, progress: progress, last: map[object.Key]converge.Status{}, seen: map[object.Key]object.Object{}}
	unread := len(kinds)
	for {
		select {
		case <-ctx.Done():
			return w.pending(ctx.Err())
		case n := <-f.news:
			if n.err != nil {
				return n.err
			}
			if n.first {
				unread--
			}
			w.take(n)
			// Look at everything that has come before judging.
			for range len(f.news) {
				n := <-f.news
				if n.err != nil {
					return n.err
				}
				if n.first {
					unread--
				}
				w.take(n)
			}
		}
		if unread == 0 && w.judge() {
			return nil
		}
	}
}

// onlyNamespace is the namespace of all objects, or "" when they are in
// several.
func onlyNamespace(objects []object.Key) string {
	namespace := ""
	for _, k := range objects {
		if k.Namespace == "" {
			continue // cluster-scoped kinds take no namespace
		}
		if namespace != "" && namespace != k.Namespace {
			return ""
		}
		namespace = k.Namespace
	}
	return namespace
}

// waiter keeps what has been seen of the cluster.
type waiter struct {
	objects  []object.Key
	gone     []object.Key // those of objects that must go
	progress func(Progress)
	last     map[object.Key]converge.Status
	seen     map[object.Key]object.Object
	// events are those not told yet.
	events []object.Object
}

// take updates what has been seen.
func (w *waiter) take(n news) {
	if n.first || n.again {
		for k := range w.seen {
			if k.Group == n.kind.Group && k.Kind == n.kind.Kind {
				delete(w.seen, k)
			}
		}
	}
	for _, e := range n.events {
		switch {
		case e.Object.IsZero():
		case e.Object.Kind() == api.EventKind.Kind && e.Object.Group() == "":
			if e.Type != api.Deleted && !n.again {
				w.events = append(w.events, e.Object)
			}
		case e.Type == api.Deleted:
			delete(w.seen, e.Object.Key())
		default:
			w.seen[e.Object.Key()] = e.Object
		}
	}
}

// judge reports what is new, and whether all is done.
func (w *waiter) judge() bool {
	view := converge.View{Objects: make([]object.Object, 0, len(w.seen))}
	for _, o := range w.seen {
		view.Objects = append(view.Objects, o)
	}
	slices.SortFunc(view.Objects, func(a, b object.Object) int { return compareKeys(a.Key(), b.Key()) })
	done := true
	for _, k := range w.objects {
		s := w.status(k, view)
		if old, told := w.last[k]; !told || old != s {
			w.last[k] = s
			w.progress(Progress{Key: k, Status: s})
		}
		done = done && s.State == converge.Done
	}
	w.tell()
	return done
}

func (w *waiter) status(k object.Key, view converge.View) converge.Status {
	o, exists := w.seen[k]
	switch goes := slices.Contains(w.gone, k); {
	case goes && exists:
		return converge.Status{State: converge.Moving, Reason: "Deleting", Message: "is being deleted"}
	case goes:
		return converge.Status{State: converge.Done, Message: "gone"}
	case exists:
		return converge.Of(o, view)
	}
	return converge.Status{State: converge.Moving, Reason: "NotFound", Message: "does not exist"}
}

// tell passes events on that are about an object waited for that is not done,
// or about something below it.
func (w *waiter) tell() {
	for _, o := range w.events {
		e, err := api.Decode[corev1.Event](o)
		if err != nil {
			continue
		}
		k, ok := w.about(e.InvolvedObject)
		if !ok || w.last[k].State == converge.Done {
			continue
		}
		w.progress(Progress{Key: k, Status: w.last[k], Event: o})
	}
	w.events = nil
}

// about finds the object waited for that a reference is to, or is below.
func (w *waiter) about(ref corev1.ObjectReference) (object.Key, bool) {
	k := object.Key{Group: ref.GroupVersionKind().Group, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
	for range 4 { // an Event's Pod, its ReplicaSet, its Deployment
		if slices.Contains(w.objects, k) {
			return k, true
		}
		o, ok := w.seen[k]
		if !ok {
			return k, false
		}
		owner := o.Controller()
		if owner == nil {
			return k, false
		}
		k = object.Key{Group: groupOf(owner.APIVersion), Kind: owner.Kind, Namespace: k.Namespace, Name: owner.Name}
	}
	return k, false
}

func (w *waiter) pending(cause error) error {
	e := &WaitError{Cause: cause}
	for _, k := range w.objects {
		s, ok := w.last[k]
		if !ok {
			s = converge.Status{State: converge.Moving, Message: "nothing is known yet"}
		}
		if s.State != converge.Done {
			e.Pending = append(e.Pending, Progress{Key: k, Status: s})
		}
	}
	return e
}
