package access

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// Workload is who a pod acts for. UID is that of the live object.
type Workload struct {
	Kind, Name, UID string
}

// String returns "Deployment/web".
func (w Workload) String() string { return w.Kind + "/" + w.Name }

// WorkloadOf follows the pod's chain of controllers: Pod to ReplicaSet to
// Deployment, Pod to Job to CronJob, or the pod itself. Each step must name a live object
// in the pod's namespace by its UID; else the pod acts for nobody, and false is
// returned. Labels do not count.
func WorkloadOf(s State, pod object.Object) (Workload, bool) {
	r := pod.Controller()
	if r == nil {
		return Workload{Kind: api.Pod.Kind, Name: pod.Name(), UID: pod.Meta().UID}, true
	}
	switch {
	case refersTo(r, api.ReplicaSet):
		rs, ok := owner(s, api.ReplicaSet, pod.Namespace(), r)
		if !ok {
			return Workload{}, false
		}
		up := rs.Controller()
		if up == nil {
			return Workload{Kind: api.ReplicaSet.Kind, Name: rs.Name(), UID: rs.Meta().UID}, true
		}
		if !refersTo(up, api.Deployment) {
			return Workload{}, false
		}
		if d, ok := owner(s, api.Deployment, pod.Namespace(), up); ok {
			return Workload{Kind: api.Deployment.Kind, Name: d.Name(), UID: d.Meta().UID}, true
		}
	case refersTo(r, api.Job):
		j, ok := owner(s, api.Job, pod.Namespace(), r)
		if !ok {
			return Workload{}, false
		}
		up := j.Controller()
		if up == nil {
			return Workload{Kind: api.Job.Kind, Name: j.Name(), UID: j.Meta().UID}, true
		}
		if !refersTo(up, api.CronJob) {
			return Workload{}, false
		}
		if c, ok := owner(s, api.CronJob, pod.Namespace(), up); ok {
			return Workload{Kind: api.CronJob.Kind, Name: c.Name(), UID: c.Meta().UID}, true
		}
	}
	return Workload{}, false
}

func refersTo(r *object.OwnerReference, k api.Kind) bool {
	return r.Kind == k.Kind && r.APIVersion == k.APIVersion()
}

func owner(s State, k api.Kind, namespace string, r *object.OwnerReference) (object.Object, bool) {
	o, ok := s.Get(k.Key(namespace, r.Name))
	if !ok || r.UID == "" || o.Meta().UID != r.UID {
		return object.Object{}, false
	}
	return o, true
}

// Live reports whether the pod holds its address: bound to a node, given an
// IP, and not ended.
func Live(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.PodIP != "" &&
		pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}
