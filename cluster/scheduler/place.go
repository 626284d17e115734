package scheduler

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/object"
)

// Pod is a pod and the object it was decoded from.
type Pod struct {
	Object object.Object
	*corev1.Pod
}

// Snapshot is the world that a round decides about.
type Snapshot struct {
	Nodes []*corev1.Node
	// Bound are all pods that name a node, those that have ended too: they
	// still hold their address.
	Bound []Pod
}

// Decision says where a pod goes, or why nowhere.
type Decision struct {
	Pod Pod
	// Node is empty when no node can take the pod.
	Node string
	// Message explains a refusal: "0/2 nodes: 1 insufficient cpu, 1 not ready".
	Message string
	// Score is the chosen node's, from 0 to 1; for people who wonder.
	Score float64
}

// Place decides for each waiting pod, in their order. It changes nothing it is
// given.
func Place(s Snapshot, waiting []Pod) []Decision {
	nodes := make([]*room, 0, len(s.Nodes))
	byName := make(map[string]*room, len(s.Nodes))
	for _, n := range s.Nodes {
		r := newRoom(n)
		nodes = append(nodes, r)
		byName[n.Name] = r
	}
	slices.SortFunc(nodes, func(a, b *room) int { return strings.Compare(a.node.Name, b.node.Name) })
	for _, p := range s.Bound {
		if r := byName[p.Spec.NodeName]; r != nil {
			r.take(p.Pod, workload(p.Object))
		}
	}
	out := make([]Decision, 0, len(waiting))
	for _, p := range waiting {
		out = append(out, place(nodes, p))
	}
	return out
}

func place(nodes []*room, p Pod) Decision {
	d := Decision{Pod: p}
	owner := workload(p.Object)
	need := requests(p.Pod)
	var refusals []refusal
	var fit []*room
	most := 0
	for _, r := range nodes {
		if why := r.refuse(p.Pod, need); len(why) > 0 {
			refusals = append(refusals, why...)
			continue
		}
		fit = append(fit, r)
		most = max(most, r.workloads[owner])
	}
	var best *room
	for _, r := range fit {
		// Nodes are sorted, so equal scores go to the first by name.
		if s := r.score(need, owner, most); best == nil || s > d.Score {
			best, d.Score = r, s
		}
	}
	if best == nil {
		d.Message = explain(len(nodes), refusals)
		return d
	}
	d.Node = best.node.Name
	best.take(p.Pod, owner)
	return d
}

// workload is what pods are spread by: their controller.
func workload(o object.Object) string {
	if c := o.Controller(); c != nil {
		return c.UID
	}
	return o.Meta().UID
}

// explain counts the refusals.
func explain(nodes int, refusals []refusal) string {
	if nodes == 0 {
		return "0/0 nodes: no node has joined the cluster"
	}
	counts := map[refusal]int{}
	var order []refusal
	for _, r := range refusals {
		if counts[r]++; counts[r] == 1 {
			order = append(order, r)
		}
	}
	slices.SortFunc(order, func(a, b refusal) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(string(a), string(b))
	})
	parts := make([]string, len(order))
	for i, r := range order {
		if parts[i] = string(r); nodes > 1 {
			parts[i] = fmt.Sprintf("%d %s", counts[r], r)
		}
	}
	return fmt.Sprintf("0/%d nodes: %s", nodes, strings.Join(parts, ", "))
}
