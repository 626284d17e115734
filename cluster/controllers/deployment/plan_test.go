package deployment

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/writ-dev/writ/cluster/api"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}}}
}

func web(replicas int32, image string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", Generation: 1},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Template: template(image),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}
}

// with is a ReplicaSet of an image with as many pods as asked for, of which
// some are available.
func with(name, image string, age time.Duration, replicas, available int32) set {
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(now.Add(-age)), Annotations: map[string]string{revisionAnnotation: "1"}},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Template: template(image)},
		Status:     appsv1.ReplicaSetStatus{Replicas: replicas, ReadyReplicas: available, AvailableReplicas: available},
	}
	return set{ReplicaSet: rs}
}

func decide(t *testing.T, d *appsv1.Deployment, oldPods bool, sets ...set) *decision {
	t.Helper()
	o, err := api.Encode(api.Deployment, d)
	if err != nil {
		t.Fatal(err)
	}
	return plan(input{deployment: d, object: o, sets: sets, oldPods: oldPods, now: now})
}

// scaled is what a decision makes of the sets, by name.
func scaled(p *decision) map[string]int32 {
	out := map[string]int32{}
	for _, rs := range p.update {
		out[rs.Name] = *rs.Spec.Replicas
	}
	if p.create != nil {
		out["(new)"] = *p.create.Spec.Replicas
	}
	return out
}

func TestBounds(t *testing.T) {
	for _, c := range []struct {
		replicas                   int32
		maxSurge, maxUnavailable   string
		wantSurge, wantUnavailable int
	}{
		{10, "25%", "25%", 3, 2},
		{1, "25%", "25%", 1, 0},
		{4, "0", "0", 0, 1},
		{4, "0", "10%", 0, 1},
		{3, "1", "5", 1, 3},
		{100, "0%", "1%", 0, 1},
	} {
		d := web(c.replicas, "a")
		surge, unavailable := intstr.Parse(c.maxSurge), intstr.Parse(c.maxUnavailable)
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable}
		if s, u := bounds(d); s != c.wantSurge || u != c.wantUnavailable {
			t.Errorf("%+v: surge %d, unavailable %d", c, s, u)
		}
	}
}

func TestRecreateWaits(t *testing.T) {
	d := web(3, "new")
	d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
	if got := fmt.Sprint(scaled(decide(t, d, true, with("old", "old", time.Hour, 3, 3)))); got != "map[old:0]" {
		t.Errorf("while old pods run: %s", got)
	}
	gone := with("old", "old", time.Hour, 0, 0)
	if p := decide(t, d, true, gone); p.create != nil {
		t.Error("new pods were started while old ones end")
	}
	if got := fmt.Sprint(scaled(decide(t, d, false, gone))["(new)"]); got != "3" {
		t.Errorf("when they have ended: %s pods", got)
	}
}

func TestPausedOnlyResizes(t *testing.T) {
	d := web(5, "new")
	d.Spec.Paused = true
	p := decide(t, d, false, with("old", "old", time.Hour, 3, 3))
	if got := fmt.Sprint(scaled(p)); got != "map[old:5]" || p.create != nil {
		t.Errorf("paused: %s, new set %v", got, p.create != nil)
	}
}

// TestBrokenPodsGoFirst: what is not available is replaced without touching
// what is.
func TestBrokenPodsGoFirst(t *testing.T) {
	p := decide(t, web(4, "new"), false, with("good", "good", 2*time.Hour, 3, 3), with("broken", "broken", time.Hour, 2, 0))
	got := scaled(p)
	if n, changed := got["good"]; changed && n < 3 {
		t.Errorf("available pods were taken away: %v", got)
	}
	if n, changed := got["broken"]; !changed || n > 0 {
		t.Errorf("broken pods stay: %v", got)
	}
}

func TestProgressDeadline(t *testing.T) {
	deadline := int32(60)
	d := web(2, "new")
	d.Spec.ProgressDeadlineSeconds = &deadline
	d.Status.Conditions = []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: reasonUpdated, LastUpdateTime: metav1.NewTime(now.Add(-40 * time.Second)),
	}}
	d.Status.UpdatedReplicas, d.Status.Replicas = 2, 2
	stuck := with("new", "new", 50*time.Second, 2, 0)
	p := decide(t, d, false, stuck)
	if c := condition(&p.status, appsv1.DeploymentProgressing); c.Status != corev1.ConditionTrue || p.again != 20*time.Second {
		t.Errorf("before the deadline: %+v, again in %v", c, p.again)
	}
	d.Status.Conditions[0].LastUpdateTime = metav1.NewTime(now.Add(-61 * time.Second))
	stuck.CreationTimestamp = metav1.NewTime(now.Add(-70 * time.Second))
	p = decide(t, d, false, stuck)
	if c := condition(&p.status, appsv1.DeploymentProgressing); c.Status != corev1.ConditionFalse || c.Reason != reasonDeadline {
		t.Errorf("after the deadline: %+v", c)
	}
}

// TestTemplateHash: it depends on the template and on nothing else.
func TestTemplateHash(t *testing.T) {
	a, b := template("a"), template("b")
	one, err := templateHash(&a, nil)
	if err != nil {
		t.Fatal(err)
	}
	collisions := int32(1)
	for _, c := range []struct {
		template   corev1.PodTemplateSpec
		collisions *int32
		same       bool
	}{{template("a"), nil, true}, {b, nil, false}, {a, &collisions, false}} {
		two, err := templateHash(&c.template, c.collisions)
		if err != nil || (one == two) != c.same {
			t.Errorf("%s and %s, %v", one, two, err)
		}
	}
}
