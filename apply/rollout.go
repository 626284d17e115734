package apply

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
)

// Rollout is a workload of which pods start, stop or are replaced.
type Rollout struct {
	Key object.Key `json:"key"`
	// Starts and Stops are how many pods there will be more, and fewer; a pod
	// that is replaced is one of each.
	Starts int64 `json:"starts,omitempty"`
	Stops  int64 `json:"stops,omitempty"`
	// Path and Pos are of the change that replaces running pods.
	Path string        `json:"path,omitempty"`
	Pos  diag.Position `json:"pos,omitzero"`
}

// Capacity is what all pods of the plan's workloads ask for, before and after.
// Quantities are in the form of Kubernetes.
type Capacity struct {
	Resource string `json:"resource"`
	Before   string `json:"before"`
	After    string `json:"after"`
}

// pods returns what the pods of a workload are to be, and how many of them
// there are; nil for an object that has none.
func pods(o object.Object) (*corev1.PodSpec, int64) {
	if o.IsZero() {
		return nil, 0
	}
	switch (object.Key{Group: o.Group(), Kind: o.Kind()}) {
	case object.Key{Group: "apps", Kind: api.Deployment.Kind}:
		if d, err := api.Decode[appsv1.Deployment](o); err == nil {
			return &d.Spec.Template.Spec, count(d.Spec.Replicas)
		}
	case object.Key{Group: "apps", Kind: api.ReplicaSet.Kind}:
		if r, err := api.Decode[appsv1.ReplicaSet](o); err == nil {
			return &r.Spec.Template.Spec, count(r.Spec.Replicas)
		}
	case object.Key{Group: "batch", Kind: api.Job.Kind}:
		if j, err := api.Decode[batchv1.Job](o); err == nil {
			return &j.Spec.Template.Spec, count(j.Spec.Parallelism)
		}
	case object.Key{Kind: api.Pod.Kind}:
		if p, err := api.Decode[corev1.Pod](o); err == nil {
			return &p.Spec, 1
		}
	}
	return nil, 0
}

func count(n *int32) int64 {
	if n == nil {
		return 1
	}
	return int64(*n)
}

// rollouts finds out which pods come and go, and what capacity that takes.
func (p *planner) rollouts() (out []Rollout, capacity []Capacity) {
	before, after := map[corev1.ResourceName]*resource.Quantity{}, map[corev1.ResourceName]*resource.Quantity{}
	for _, it := range p.items {
		was, had := pods(it.live)
		is, has := pods(it.result)
		if it.Action == Orphan || it.Action == Keep || was == nil && is == nil {
			continue
		}
		addRequests(before, was, had)
		addRequests(after, is, has)
		r := Rollout{Key: it.Key, Starts: max(0, has-had), Stops: max(0, had-has)}
		if it.Action == Replace {
			r.Starts, r.Stops, r.Path, r.Pos = has, had, strings.TrimSuffix(it.Why, inPlace), it.Pos
		}
		for _, c := range it.Changes {
			if it.Action == Update && it.kind.GVK() == api.Deployment.GVK() && strings.HasPrefix(c.Path, ".spec.template") {
				r.Starts, r.Stops, r.Path, r.Pos = has, had, c.Path, c.Pos
				break
			}
		}
		if it.Action != Unchanged && r.Starts+r.Stops > 0 {
			out = append(out, r)
		}
	}
	for name, b := range before {
		if after[name] == nil {
			after[name] = resource.NewQuantity(0, b.Format)
		}
	}
	for name, a := range after {
		b := before[name]
		if b == nil {
			b = resource.NewQuantity(0, a.Format)
		}
		if a.Cmp(*b) != 0 {
			capacity = append(capacity, Capacity{string(name), b.String(), a.String()})
		}
	}
	slices.SortFunc(capacity, func(a, b Capacity) int { return cmp.Compare(a.Resource, b.Resource) })
	return out, capacity
}

// addRequests adds what n pods ask for.
func addRequests(sum map[corev1.ResourceName]*resource.Quantity, spec *corev1.PodSpec, n int64) {
	if spec == nil {
		return
	}
	for _, c := range spec.Containers {
		for name, q := range c.Resources.Requests {
			if sum[name] == nil {
				sum[name] = resource.NewQuantity(0, q.Format)
			}
			q = q.DeepCopy()
			q.Mul(n)
			sum[name].Add(q)
		}
	}
}

// readers warns of pods that go on with values which the plan changes: what is
// read as environment is read once, when a container starts.
func (p *planner) readers() {
	rolled := map[object.Key]bool{}
	for _, it := range p.items {
		for _, c := range it.Changes {
			rolled[it.Key] = rolled[it.Key] || strings.HasPrefix(c.Path, ".spec.template")
		}
	}
	for _, source := range p.items {
		if source.Action != Update || source.Key.Group != "" || source.Key.Kind != api.ConfigMap.Kind && source.Key.Kind != api.Secret.Kind {
			continue
		}
		var names []string
		for _, it := range p.items {
			spec, n := pods(it.result)
			if spec != nil && n > 0 && it.Action != Create && !rolled[it.Key] && it.Key.Namespace == source.Key.Namespace && readsEnvironment(spec, source.Key) {
				names = append(names, it.Key.String())
			}
		}
		if len(names) > 0 {
			p.warnings = append(p.warnings, fmt.Sprintf("%s is read as environment by %s: running pods keep the old values until they restart", source.Key, some(names)))
		}
	}
}

func readsEnvironment(spec *corev1.PodSpec, k object.Key) bool {
	return slices.ContainsFunc(slices.Concat(spec.InitContainers, spec.Containers), func(c corev1.Container) bool {
		for _, f := range c.EnvFrom {
			if k.Kind == api.ConfigMap.Kind && f.ConfigMapRef != nil && f.ConfigMapRef.Name == k.Name ||
				k.Kind == api.Secret.Kind && f.SecretRef != nil && f.SecretRef.Name == k.Name {
				return true
			}
		}
		for _, e := range c.Env {
			v := e.ValueFrom
			if v != nil && (k.Kind == api.ConfigMap.Kind && v.ConfigMapKeyRef != nil && v.ConfigMapKeyRef.Name == k.Name ||
				k.Kind == api.Secret.Kind && v.SecretKeyRef != nil && v.SecretKeyRef.Name == k.Name) {
				return true
			}
		}
		return false
	})
}

// lost tells what is gone for good when an object is replaced.
func lost(it *item) []string {
	out := []string{"its UID", "its status"}
	switch it.kind.GVK() {
	case api.Deployment.GVK():
		out = append(out, "its rollout history")
	case api.Job.GVK():
		out = append(out, "what it has completed")
	case api.Service.GVK():
		if s, err := api.Decode[corev1.Service](it.live); err == nil && s.Spec.ClusterIP != "" && s.Spec.ClusterIP != corev1.ClusterIPNone {
			out = append(out, "its address "+s.Spec.ClusterIP)
		}
	}
	return out
}
