package scheduler

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// defaultPods is how many pods a node takes that does not say.
	defaultPods = 110
	// maxAddresses is how many pods a node's /24 has addresses for, those
	// included that have ended and are not removed yet.
	maxAddresses = 253
)

// refusal is why a node cannot take a pod.
type refusal string

// amounts are quantities by resource, in milli-units for cpu and whole units
// for all others, rounded up.
type amounts map[corev1.ResourceName]int64

func (a amounts) add(b amounts) {
	for name, n := range b {
		a[name] += n
	}
}

func (a amounts) atLeast(b amounts) {
	for name, n := range b {
		a[name] = max(a[name], n)
	}
}

func toAmounts(l corev1.ResourceList) amounts {
	out := make(amounts, len(l))
	for name, q := range l {
		out[name] = amount(name, q)
	}
	return out
}

func amount(name corev1.ResourceName, q resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

// requests is what a pod needs at any time: all its containers together, or
// the largest init container, and the pod's overhead.
func requests(p *corev1.Pod) amounts {
	sum := amounts{}
	for _, c := range p.Spec.Containers {
		sum.add(containerRequests(&c))
	}
	for _, c := range p.Spec.InitContainers {
		sum.atLeast(containerRequests(&c))
	}
	sum.add(toAmounts(p.Spec.Overhead))
	return sum
}

// containerRequests is a container's requests; a limit is a request where
// there is none.
func containerRequests(c *corev1.Container) amounts {
	out := toAmounts(c.Resources.Limits)
	maps.Copy(out, toAmounts(c.Resources.Requests))
	return out
}

// room is a node with what is taken of it.
type room struct {
	node        *corev1.Node
	allocatable amounts
	used        amounts
	// pods have not ended; addresses are held by all.
	pods, addresses, maxPods int
	workloads                map[string]int
}

func newRoom(n *corev1.Node) *room {
	offer := n.Status.Allocatable
	if len(offer) == 0 {
		offer = n.Status.Capacity
	}
	r := &room{node: n, allocatable: toAmounts(offer), used: amounts{}, maxPods: defaultPods, workloads: map[string]int{}}
	if q, ok := offer[corev1.ResourcePods]; ok {
		r.maxPods = int(q.Value())
	}
	return r
}

// take counts a pod that is, or will be, on the node.
func (r *room) take(p *corev1.Pod, owner string) {
	r.addresses++
	if ended(p) {
		return
	}
	r.pods++
	r.used.add(requests(p))
	if p.DeletionTimestamp == nil {
		r.workloads[owner]++
	}
}

// refuse returns why the node cannot take the pod; nothing when it can.
func (r *room) refuse(p *corev1.Pod, need amounts) []refusal {
	switch {
	case r.node.DeletionTimestamp != nil:
		return []refusal{"being deleted"}
	case !ready(r.node):
		return []refusal{"not ready"}
	case r.node.Spec.Unschedulable:
		return []refusal{"unschedulable"}
	}
	for k, v := range p.Spec.NodeSelector {
		if have, ok := r.node.Labels[k]; !ok || have != v {
			return []refusal{"without the labels of its nodeSelector"}
		}
	}
	var why []refusal
	if r.pods >= r.maxPods {
		why = append(why, "too many pods")
	} else if r.addresses >= maxAddresses {
		why = append(why, "no free address")
	}
	for _, name := range slices.Sorted(maps.Keys(need)) {
		if n := need[name]; n > 0 && n > r.allocatable[name]-r.used[name] {
			why = append(why, refusal("insufficient "+string(name)))
		}
	}
	return why
}

// score is higher the fewer pods of the same workload the node has, and, with
// less weight, the less of it is taken.
func (r *room) score(need amounts, owner string, most int) float64 {
	spread := 1.0
	if most > 0 {
		spread = 1 - float64(r.workloads[owner])/float64(most)
	}
	free, kinds := 0.0, 0.0
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if total := r.allocatable[name]; total > 0 {
			free += float64(total-r.used[name]-need[name]) / float64(total)
			kinds++
		}
	}
	// The number of pods counts as well: many ask for nothing.
	free += 1 - float64(r.pods)/float64(max(r.maxPods, 1))
	kinds++
	return (2*spread + free/kinds) / 3
}

func ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// sameOffer reports whether two states of a node are equal to the scheduler.
func sameOffer(a, b *corev1.Node) bool {
	return a.UID == b.UID && ready(a) == ready(b) && a.Spec.Unschedulable == b.Spec.Unschedulable &&
		maps.Equal(a.Labels, b.Labels) && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) &&
		equality.Semantic.DeepEqual(a.Status.Allocatable, b.Status.Allocatable) &&
		equality.Semantic.DeepEqual(a.Status.Capacity, b.Status.Capacity)
}
