// Package dependency turns Dependencies into Grants, which node agents
// enforce, and says when a pod's containers may start.
//
// The unit of work is a consumer namespace: its policy is resolved as a whole
// by cluster/access and compared with the Grants that exist. What differs is
// written in one transaction: new and changed Grants, the condition
// api.ConditionGranted of the pods they name, stale Grants removed, and the
// status of the Dependencies. So an edge that stays valid is never missing for
// a moment, and no pod is told to start before its grants are committed.
//
// Grants have no owner references, for they are cluster-scoped and what they
// stand for is not: they belong to the Dependency whose UID is in their name,
// and this controller removes them when that is gone.
//
// The controller must run as the system identity. It never polls.
package dependency

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/access"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/object"
)

// New makes the controller.
func New(env controller.Env) (*controller.Controller, error) {
	env = env.WithDefaults()
	targets := newTargets()
	own := func(_ context.Context, c controller.Change) []object.Key {
		return keys(c.Object().Namespace())
	}
	// What serves others concerns the consumers of its namespace as well.
	served := func(_ context.Context, c controller.Change) []object.Key {
		ns := c.Object().Namespace()
		return append(keys(ns), targets.consumers(ns)...)
	}
	identity := when(func(o object.Object) any {
		r := o.Controller()
		if r == nil {
			return o.Meta().UID
		}
		return [2]string{o.Meta().UID, r.UID}
	}, own)
	return controller.New(controller.Options{
		Name: "dependency",
		Env:  env,
		Watches: []controller.Watch{
			{Kind: api.DependencyKind, Map: func(ctx context.Context, c controller.Change) []object.Key {
				targets.follow(c)
				return own(ctx, c)
			}},
			{Kind: api.Pod, Map: when(podFacts, served)},
			{Kind: api.EndpointSlice, Map: served},
			{Kind: api.Service, Map: served},
			{Kind: api.Deployment, Map: identity},
			{Kind: api.ReplicaSet, Map: identity},
			{Kind: api.Job, Map: identity},
			{Kind: api.GrantKind, Map: grantNamespace},
		},
		Reconciler: &reconciler{client: env.Client, now: env.Now},
		Workers:    2,
	})
}

// keys names the work on a consumer namespace.
func keys(namespace string) []object.Key { return []object.Key{api.Namespace.Key("", namespace)} }

type mapper = func(context.Context, controller.Change) []object.Key

// when passes on only changes in which facts differs; facts must be comparable.
func when(facts func(object.Object) any, next mapper) mapper {
	return func(ctx context.Context, c controller.Change) []object.Key {
		if !c.Old.IsZero() && !c.New.IsZero() && facts(c.Old) == facts(c.New) {
			return nil
		}
		return next(ctx, c)
	}
}

// podFacts is what of a pod decides about access: who it is and whether it
// holds an address. Readiness arrives through the EndpointSlices.
func podFacts(o object.Object) any {
	type facts struct {
		uid, controller, ip string
		live, granted       bool
	}
	f := facts{uid: o.Meta().UID}
	if r := o.Controller(); r != nil {
		f.controller = r.UID
	}
	if pod, err := api.Decode[corev1.Pod](o); err == nil {
		f.ip, f.live, f.granted = pod.Status.PodIP, access.Live(pod), granted(pod)
	}
	return f
}

// grantNamespace makes sure that Grants are looked at once, after a restart,
// and again when one vanishes.
func grantNamespace(_ context.Context, c controller.Change) []object.Key {
	if !c.Old.IsZero() && !c.New.IsZero() {
		return nil
	}
	g, err := api.Decode[api.Grant](c.Object())
	if err != nil || g.Spec.ConsumerNamespace == "" {
		return nil
	}
	return keys(g.Spec.ConsumerNamespace)
}

func granted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == api.ConditionGranted && c.Status == corev1.ConditionTrue
	})
}
