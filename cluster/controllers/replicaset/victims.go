package replicaset

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// victims picks the n pods that are missed least, in the order of Kubernetes:
// not on a node before on one, pending before running, not ready before ready,
// cheap before dear (controller.kubernetes.io/pod-deletion-cost), on a node
// with more of the same before fewer, ready for a short time before long, often
// restarted before seldom, new before old.
func victims(pods []pod, n int) []pod {
	together := map[string]int{}
	for _, p := range pods {
		together[p.Spec.NodeName]++
	}
	sorted := slices.Clone(pods)
	slices.SortFunc(sorted, func(a, b pod) int {
		aReady, aIs := readySince(a.Pod)
		bReady, bIs := readySince(b.Pod)
		return cmp.Or(
			cmp.Compare(truth(a.Spec.NodeName != ""), truth(b.Spec.NodeName != "")),
			cmp.Compare(phaseRank(a.Pod), phaseRank(b.Pod)),
			cmp.Compare(truth(aIs), truth(bIs)),
			cmp.Compare(deletionCost(a.Pod), deletionCost(b.Pod)),
			cmp.Compare(together[b.Spec.NodeName], together[a.Spec.NodeName]),
			bReady.Compare(aReady),
			cmp.Compare(restarts(b.Pod), restarts(a.Pod)),
			b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
			strings.Compare(a.Name, b.Name),
		)
	})
	return sorted[:n]
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func phaseRank(p *corev1.Pod) int {
	switch p.Status.Phase {
	case corev1.PodRunning:
		return 2
	case corev1.PodUnknown:
		return 1
	}
	return 0
}

func deletionCost(p *corev1.Pod) int {
	n, err := strconv.ParseInt(p.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return int(n)
}

func restarts(p *corev1.Pod) int32 {
	var n int32
	for _, c := range p.Status.ContainerStatuses {
		n += c.RestartCount
	}
	return n
}
