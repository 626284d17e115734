package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/scheduler"
)

func node(name, cpu, memory string, pods int64) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
				corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI),
			},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

func pod(t testing.TB, name, owner, cpu, memory string) scheduler.Pod {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name)}}
	if owner != "" {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: types.UID("uid-" + owner), Controller: &yes}}
	}
	requests := corev1.ResourceList{}
	if cpu != "" {
		requests[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	if memory != "" {
		requests[corev1.ResourceMemory] = resource.MustParse(memory)
	}
	p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests}}}
	o, err := api.Encode(api.Pod, p)
	if err != nil {
		t.Fatal(err)
	}
	return scheduler.Pod{Object: o, Pod: p}
}

func TestPlaceSaysWhyNot(t *testing.T) {
	full := node("full", "4", "4Gi", 0)
	gone := node("gone", "4", "4Gi", 10)
	gone.Status.Conditions[0].Status = corev1.ConditionUnknown
	closed := node("closed", "4", "4Gi", 10)
	closed.Spec.Unschedulable = true
	for _, c := range []struct {
		nodes []*corev1.Node
		edit  func(*corev1.Pod)
		want  string
	}{
		{nil, nil, "0/0 nodes: no node has joined the cluster"},
		{[]*corev1.Node{node("a", "1", "4Gi", 10)}, nil, "0/1 nodes: insufficient cpu"},
		{[]*corev1.Node{node("a", "1", "1Gi", 10), node("b", "1", "4Gi", 10)}, nil, "0/2 nodes: 2 insufficient cpu, 1 insufficient memory"},
		{[]*corev1.Node{full, gone, closed}, nil, "0/3 nodes: 1 not ready, 1 too many pods, 1 unschedulable"},
		{[]*corev1.Node{node("a", "4", "4Gi", 10)}, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"name": "b"} }, "0/1 nodes: without the labels of its nodeSelector"},
		{[]*corev1.Node{node("a", "4", "4Gi", 10)}, nil, ""},
		{[]*corev1.Node{node("a", "4", "4Gi", 10), node("b", "4", "4Gi", 10)}, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"name": "b"} }, ""},
	} {
		p := pod(t, "p", "", "2", "2Gi")
		if c.edit != nil {
			c.edit(p.Pod)
		}
		d := scheduler.Place(scheduler.Snapshot{Nodes: c.nodes}, []scheduler.Pod{p})
		if len(d) != 1 || d[0].Message != c.want || (d[0].Node == "") != (c.want != "") {
			t.Errorf("got %q on %q, want %q", d[0].Message, d[0].Node, c.want)
		}
		if sel := p.Spec.NodeSelector["name"]; c.want == "" && sel != "" && d[0].Node != sel {
			t.Errorf("placed on %q, want %q", d[0].Node, sel)
		}
	}
}

// TestPlaceNeverOvercommits places random pods on random nodes, some of them
// taken: no node is given more than it has, and a pod is refused only when no
// node has room.
func TestPlaceNeverOvercommits(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var s scheduler.Snapshot
		type room struct{ cpu, memory, pods int64 }
		left := map[string]*room{}
		for i := range 1 + r.IntN(5) {
			name := fmt.Sprintf("n%d", i)
			n := &room{int64(1+r.IntN(8)) * 1000, int64(1+r.IntN(8)) << 30, int64(1 + r.IntN(12))}
			left[name] = n
			s.Nodes = append(s.Nodes, node(name, fmt.Sprintf("%dm", n.cpu), fmt.Sprint(n.memory), n.pods))
		}
		random := func(name string) (scheduler.Pod, int64, int64) {
			cpu, memory := int64(r.IntN(2500)), int64(r.IntN(3<<30))
			return pod(t, name, fmt.Sprint("owner-", r.IntN(3)), fmt.Sprintf("%dm", cpu), fmt.Sprint(memory)), cpu, memory
		}
		take := func(n string, cpu, memory int64) {
			left[n].cpu -= cpu
			left[n].memory -= memory
			left[n].pods--
		}
		for i := range r.IntN(6) {
			p, cpu, memory := random(fmt.Sprint("bound-", i))
			p.Spec.NodeName = fmt.Sprintf("n%d", r.IntN(len(s.Nodes)))
			if r.IntN(4) == 0 {
				p.Status.Phase = corev1.PodSucceeded // holds nothing but its address
			} else {
				take(p.Spec.NodeName, cpu, memory)
			}
			s.Bound = append(s.Bound, p)
		}
		var waiting []scheduler.Pod
		var needs [][2]int64
		for i := range r.IntN(30) {
			p, cpu, memory := random(fmt.Sprint("p-", i))
			waiting = append(waiting, p)
			needs = append(needs, [2]int64{cpu, memory})
		}
		fits := func(n *room, need [2]int64) bool {
			return n.pods > 0 && (need[0] == 0 || n.cpu >= need[0]) && (need[1] == 0 || n.memory >= need[1])
		}
		for i, d := range scheduler.Place(s, waiting) {
			if d.Pod.Name != waiting[i].Name {
				t.Fatalf("seed %d: decisions are not in the order of the pods", seed)
			}
			if d.Node != "" {
				if !fits(left[d.Node], needs[i]) {
					t.Fatalf("seed %d: %s does not fit on %s: %+v needs %v", seed, d.Pod.Name, d.Node, *left[d.Node], needs[i])
				}
				take(d.Node, needs[i][0], needs[i][1])
				continue
			}
			if !strings.HasPrefix(d.Message, fmt.Sprintf("0/%d nodes: ", len(s.Nodes))) {
				t.Errorf("seed %d: message %q", seed, d.Message)
			}
			for name, n := range left {
				if fits(n, needs[i]) {
					t.Fatalf("seed %d: %s was refused (%s), but fits on %s", seed, d.Pod.Name, d.Message, name)
				}
			}
		}
	}
}

func BenchmarkPlace(b *testing.B) {
	var s scheduler.Snapshot
	for i := range 100 {
		s.Nodes = append(s.Nodes, node(fmt.Sprintf("n%03d", i), "32", "64Gi", 110))
	}
	var waiting []scheduler.Pod
	for i := range 1000 {
		waiting = append(waiting, pod(b, fmt.Sprint("p", i), fmt.Sprint("o", i%20), "100m", "128Mi"))
	}
	for b.Loop() {
		scheduler.Place(s, waiting)
	}
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "pods/s")
}
