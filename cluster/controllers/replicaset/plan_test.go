package replicaset

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// made is a pod that was created some time ago.
func made(name string, ago time.Duration, edit ...func(*corev1.Pod)) pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(now.Add(-ago))}}
	p.Status.Phase = corev1.PodRunning
	p.Spec.NodeName = "n"
	for _, e := range edit {
		e(p)
	}
	return pod{Pod: p}
}

func ready(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-ago))})
	}
}

func failed(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }

func going(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} }

func set(replicas, minReady int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, MinReadySeconds: minReady}}
}

func TestPlan(t *testing.T) {
	for name, c := range map[string]struct {
		replicas, minReady int32
		pods               []pod
		create             int
		remove             string
		again              time.Duration
		status             string // replicas, ready, available
	}{
		"all are missing":                       {replicas: 3, create: 3, status: "3 0 0"},
		"one is missing":                        {replicas: 2, pods: []pod{made("a", time.Hour, ready(time.Hour))}, create: 1, status: "2 1 1"},
		"one that goes counts not":              {replicas: 1, pods: []pod{made("a", time.Hour, ready(time.Hour), going)}, create: 1, status: "1 0 0"},
		"one too many":                          {replicas: 1, pods: []pod{made("old", time.Hour, ready(time.Hour)), made("new", time.Minute)}, remove: "new", status: "1 1 1"},
		"none is wanted":                        {replicas: 0, pods: []pod{made("a", time.Hour)}, remove: "a", status: "0 0 0"},
		"ready, not available":                  {replicas: 1, minReady: 30, pods: []pod{made("a", time.Hour, ready(10*time.Second))}, again: 20 * time.Second, status: "1 1 0"},
		"the first failure is replaced at once": {replicas: 1, pods: []pod{made("a", 5*time.Second, failed)}, create: 1, again: failureWindow - 5*time.Second, status: "1 0 0"},
		"the second after a while":              {replicas: 1, pods: []pod{made("a", 20*time.Second, failed), made("b", 3*time.Second, failed)}, again: 7 * time.Second, status: "0 0 0"},
		"and then it is":                        {replicas: 1, pods: []pod{made("a", 40*time.Second, failed), made("b", 11*time.Second, failed)}, create: 1, again: failureWindow - 40*time.Second, status: "1 0 0"},
		"old failures are forgotten":            {replicas: 1, pods: []pod{made("a", 11*time.Minute, failed), made("b", time.Hour, ready(time.Hour))}, remove: "a", status: "1 1 1"},
	} {
		t.Run(name, func(t *testing.T) {
			rs := set(c.replicas, c.minReady)
			d := plan(rs, c.pods, now)
			var removed []string
			for _, p := range d.delete {
				removed = append(removed, p.Name)
			}
			if d.create != c.create || strings.Join(removed, " ") != c.remove || d.again != c.again {
				t.Errorf("create %d, delete %v, again in %v; want %d, %q, %v", d.create, removed, d.again, c.create, c.remove, c.again)
			}
			s := d.status(rs, now, nil)
			if got := fmt.Sprint(s.Replicas, " ", s.ReadyReplicas, " ", s.AvailableReplicas); got != c.status {
				t.Errorf("status %s, want %s", got, c.status)
			}
		})
	}
}

// TestVictims: the pods that are missed least go first.
func TestVictims(t *testing.T) {
	on := func(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }
	cost := func(n string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.PodDeletionCost: n} }
	}
	restarted := func(n int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: n}} }
	}
	pending := func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }
	h := time.Hour
	order := []pod{
		made("no-node", h, on("")),
		made("pending", h, pending),
		made("not-ready", h),
		made("cheap", h, ready(h), cost("-1")),
		made("crowded-young", h, ready(h/2), on("crowd")),
		made("crowded-restarted", h, ready(h), on("crowd"), restarted(3)),
		made("crowded-new", h/2, ready(h), on("crowd")),
		made("crowded", h, ready(h), on("crowd"), restarted(0)),
		made("alone", h, ready(h), on("other")),
		made("dear", h, ready(h), cost("5"), on("third")),
	}
	var shuffled []pod
	for i := range order {
		shuffled = append(shuffled, order[(i*7)%len(order)])
	}
	var got, want []string
	for _, p := range victims(shuffled, len(order)) {
		got = append(got, p.Name)
	}
	for _, p := range order {
		want = append(want, p.Name)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
