package deployment

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func desired(d *appsv1.Deployment) int {
	if d.Spec.Replicas == nil {
		return 1
	}
	return int(*d.Spec.Replicas)
}

func replicas(s set) int {
	if s.Spec.Replicas == nil {
		return 1
	}
	return int(*s.Spec.Replicas)
}

// pods is how many pods a ReplicaSet may have: those it asks for, or those it
// has not deleted yet.
func pods(s set) int { return max(replicas(s), int(s.Status.Replicas)) }

// available is how many of a ReplicaSet's pods are available and not on their
// way out.
func available(s set) int { return min(replicas(s), int(s.Status.AvailableReplicas)) }

// bounds returns how many pods there may be above the desired number, and how
// many may be missing. Percentages round up and down, as in Kubernetes, and
// both are never 0, else nothing could move.
func bounds(d *appsv1.Deployment) (surge, unavailable int) {
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return 0, desired(d)
	}
	quarter := intstr.FromString("25%")
	s, u := &quarter, &quarter
	if r := d.Spec.Strategy.RollingUpdate; r != nil {
		if r.MaxSurge != nil {
			s = r.MaxSurge
		}
		if r.MaxUnavailable != nil {
			u = r.MaxUnavailable
		}
	}
	n := desired(d)
	surge, err := intstr.GetScaledValueFromIntOrPercent(s, n, true)
	if err != nil || surge < 0 {
		surge = 0
	}
	unavailable, err = intstr.GetScaledValueFromIntOrPercent(u, n, false)
	if err != nil || unavailable < 0 {
		unavailable = 0
	}
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, min(unavailable, n)
}

// scales is how many pods each ReplicaSet shall ask for; present is also for
// the one that is about to be created.
type scales struct {
	present int
	old     []int
}

// step decides the scales from what the sets ask for and have.
func step(in input, present *set, old []set) scales {
	out := scales{old: make([]int, len(old))}
	for i, s := range old {
		out.old[i] = replicas(s)
	}
	if present != nil {
		out.present = replicas(*present)
	}
	switch {
	case in.deployment.Spec.Paused:
		out.resize(desired(in.deployment), present != nil)
	case in.deployment.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		clear(out.old)
		if !waiting(in, old) {
			out.present = desired(in.deployment)
		}
	default:
		out.roll(in.deployment, present, old)
	}
	return out
}

// resize follows a changed number of replicas while the rollout is paused:
// what is missing goes to the newest set in use, what is too much comes from
// the oldest.
func (sc *scales) resize(want int, hasPresent bool) {
	total := sc.present
	newest := -1
	for i, n := range sc.old {
		total += n
		if n > 0 {
			newest = i
		}
	}
	for i := 0; i < len(sc.old) && total > want; i++ {
		n := min(sc.old[i], total-want)
		sc.old[i] -= n
		total -= n
	}
	switch {
	case total > want:
		sc.present -= total - want
	case total == want:
	case hasPresent && (sc.present > 0 || newest < 0):
		sc.present += want - total
	case newest >= 0:
		sc.old[newest] += want - total
	case len(sc.old) > 0:
		sc.old[len(sc.old)-1] += want - total
	}
}

// roll takes one step of a rolling update.
func (sc *scales) roll(d *appsv1.Deployment, present *set, old []set) {
	want := desired(d)
	surge, unavailable := bounds(d)
	total, readyNew := 0, 0
	if present != nil {
		total, readyNew = pods(*present), available(*present)
	}
	for _, s := range old {
		total += pods(s)
	}
	// The present set grows as far as the surge allows, and at once loses what
	// it has too much.
	if sc.present > want {
		sc.present = want
	} else {
		sc.present += max(0, min(want+surge-total, want-sc.present))
	}
	readyNew = min(readyNew, sc.present)
	sc.shrink(old, readyNew, want-unavailable)
}

// shrink takes away old pods so that atLeast of all stay available: first
// those that are not available, but only as many as are not needed in case the
// new ones never come up, then available ones.
func (sc *scales) shrink(old []set, readyNew, atLeast int) {
	all, ready := readyNew, readyNew
	for _, s := range old {
		all += replicas(s)
		ready += available(s)
	}
	spare := all - atLeast
	if spare <= 0 {
		return
	}
	for i, s := range old {
		n := min(spare, replicas(s)-available(s))
		sc.old[i] -= n
		spare -= n
	}
	spare = ready - atLeast
	for i, s := range old {
		n := max(0, min(spare, sc.old[i], available(s)))
		sc.old[i] -= n
		spare -= n
	}
}
