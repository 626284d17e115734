package access

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// node is a workload in the graph of who waits for whom.
type node struct {
	namespace string
	ref       api.WorkloadReference
}

// checkStart refuses a Dependency with start: ready that can never be ready,
// because all that could serve it waits for the consumer in turn.
func checkStart(s State, namespace string, dep *api.Dependency) []api.Problem {
	if dep.Spec.Start != "ready" {
		return nil
	}
	consumer := node{namespace, dep.Spec.Consumer}
	g := waiting{s: s, consumer: consumer, seen: map[object.Key]bool{}}
	chain := g.blocked(targetKey(namespace, dep))
	switch {
	case chain == nil:
		return nil
	case len(chain) == 2:
		return []api.Problem{{
			Code: api.CodeSelf, Path: ".spec.start",
			Message: fmt.Sprintf("%s/%s would wait for itself: %s selects its own pods", consumer.ref.Kind, consumer.ref.Name, chain[0]),
			Hint:    "use start: none, or remove the Dependency: a workload may always use its own Services",
		}}
	}
	chain = append([]string{consumer.ref.Kind + "/" + consumer.ref.Name}, chain...)
	return []api.Problem{{
		Code: api.CodeCycle, Path: ".spec.start",
		Message: "nothing in this circle could ever start: " + strings.Join(chain, " → "),
		Hint:    "use start: none in one of the Dependencies",
	}}
}

func targetKey(namespace string, dep *api.Dependency) object.Key {
	t := dep.Spec.Target.Service
	if t.Namespace != "" {
		namespace = t.Namespace
	}
	return api.Service.Key(namespace, t.Name)
}

// waiting walks from a Service to what waits for consumer.
type waiting struct {
	s        State
	consumer node
	seen     map[object.Key]bool
}

// blocked returns how the Service waits for the consumer, or nil: it does when
// each workload behind it is the consumer or has a Dependency with start:
// ready on a Service that is blocked.
func (g *waiting) blocked(service object.Key) []string {
	if g.seen[service] {
		return nil
	}
	g.seen[service] = true
	behind := g.behind(service)
	if len(behind) == 0 {
		return nil
	}
	var chain []string
	for _, w := range behind {
		name := w.ref.Kind + "/" + w.ref.Name
		if w == g.consumer {
			chain = []string{"Service " + service.Namespace + "/" + service.Name, name}
			continue
		}
		rest := g.waits(w)
		if rest == nil {
			return nil
		}
		chain = append([]string{"Service " + service.Namespace + "/" + service.Name, name}, rest...)
	}
	return chain
}

func (g *waiting) waits(w node) []string {
	for o := range g.s.List(api.Group, api.DependencyKind.Kind, w.namespace) {
		d, err := api.Decode[api.Dependency](o)
		if err != nil || d.Spec.Consumer != w.ref || d.Spec.Start != "ready" || d.Spec.Target.Service == nil {
			continue
		}
		if chain := g.blocked(targetKey(w.namespace, d)); chain != nil {
			return chain
		}
	}
	return nil
}

// behind returns the workloads whose pods the Service selects, but those that
// another workload made.
func (g *waiting) behind(service object.Key) []node {
	o, ok := g.s.Get(service)
	if !ok {
		return nil
	}
	svc, err := api.Decode[corev1.Service](o)
	if err != nil || len(svc.Spec.Selector) == 0 {
		return nil
	}
	selector := labels.SelectorFromSet(svc.Spec.Selector)
	var out []node
	for _, k := range workloadKinds {
		for w := range g.s.List(k.Group, k.Kind, service.Namespace) {
			n := node{service.Namespace, api.WorkloadReference{Kind: k.Kind, Name: w.Name()}}
			if w.Controller() == nil && selector.Matches(labels.Set(podLabels(w))) && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}
