package controller

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// maxEventMessage bounds an Event's message, in bytes, as Kubernetes does.
const maxEventMessage = 1024

// Record writes the core/v1 Event that eventType (Normal or Warning), reason
// and message happened to o. The same again raises the count of the one Event.
// Events are for people: nothing may depend on them, and a failure to write
// one is only logged. Those of cluster-scoped objects are in "default".
func (e Env) Record(ctx context.Context, component string, o object.Object, eventType, reason, message string) {
	if len(message) > maxEventMessage {
		message = message[:maxEventMessage-3] + "..."
	}
	if err := e.record(ctx, component, o, eventType, reason, message); err != nil && ctx.Err() == nil && e.Logger != nil {
		e.Logger.Debug("write event", logKey, o.Key().String(), "reason", reason, logError, err)
	}
}

func (e Env) record(ctx context.Context, component string, o object.Object, eventType, reason, message string) error {
	now := time.Now
	if e.Now != nil {
		now = e.Now
	}
	at := metav1.NewTime(now().UTC().Truncate(time.Second))
	namespace := o.Namespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00%s\x00%s", o.Meta().UID, component, eventType, reason, message)
	name := fmt.Sprintf("%.200s.%016x", o.Name(), h.Sum64())
	live, err := e.Client.Get(ctx, api.EventKind.Key(namespace, name))
	switch {
	case err == nil:
		old, err := api.Decode[corev1.Event](live)
		if err != nil {
			return err
		}
		ev := old.DeepCopy()
		ev.Count, ev.LastTimestamp = ev.Count+1, at
		next, err := api.Encode(api.EventKind, ev)
		if err != nil {
			return err
		}
		_, err = e.Client.Update(ctx, next)
		return err
	case !apierrors.IsNotFound(err):
		return err
	}
	next, err := api.Encode(api.EventKind, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: o.APIVersion(), Kind: o.Kind(), Namespace: o.Namespace(), Name: o.Name(),
			UID: types.UID(o.Meta().UID), ResourceVersion: o.Meta().ResourceVersion,
		},
		Type: eventType, Reason: reason, Message: message,
		Source: corev1.EventSource{Component: component}, ReportingController: component,
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
	})
	if err != nil {
		return err
	}
	_, err = e.Client.Create(ctx, next)
	return err
}
