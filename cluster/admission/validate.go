package admission

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// Validate reports what is wrong with an object that passed Strict and
// Default. old is the stored object on update and zero on create.
func Validate(k api.Kind, new, old object.Object) []Problem {
	p := &problems{}
	p.meta(k, new)
	if k.Custom {
		return p.list // its schema says the rest
	}
	p.list = append(p.list, unhonoured(k, new.Tree())...)
	p.kind(k, new)
	if !old.IsZero() {
		p.immutable(k, new, old)
	}
	return p.list
}

func (p *problems) kind(k api.Kind, o object.Object) {
	switch k.Kind {
	case api.Pod.Kind:
		decode(p, o, p.pod)
	case api.Deployment.Kind:
		decode(p, o, p.deployment)
	case api.ReplicaSet.Kind:
		decode(p, o, p.replicaSet)
	case api.Job.Kind:
		decode(p, o, p.job)
	case api.Service.Kind:
		decode(p, o, p.service)
	case api.ConfigMap.Kind:
		decode(p, o, p.configMap)
	case api.Secret.Kind:
		decode(p, o, p.secret)
	case api.EndpointSlice.Kind:
		decode(p, o, p.endpointSlice)
	case api.Node.Kind:
		decode(p, o, p.node)
	case api.Lease.Kind:
		decode(p, o, p.lease)
	case api.EventKind.Kind:
		decode(p, o, p.event)
	case api.Role.Kind:
		decode(p, o, p.role)
	case api.ClusterRole.Kind:
		decode(p, o, p.clusterRole)
	case api.RoleBinding.Kind:
		decode(p, o, func(b *rbacv1.RoleBinding) { p.binding(b.RoleRef, b.Subjects, true) })
	case api.ClusterRoleBinding.Kind:
		decode(p, o, func(b *rbacv1.ClusterRoleBinding) { p.binding(b.RoleRef, b.Subjects, false) })
	case api.DependencyKind.Kind:
		decode(p, o, p.dependency)
	case api.SourceKind.Kind:
		decode(p, o, p.gitSource)
	case api.ReleaseKind.Kind:
		decode(p, o, p.release)
	case api.RevisionKind.Kind:
		decode(p, o, p.releaseRevision)
	}
}

// decode hands the typed form of o to check, or reports why there is none.
func decode[T any](p *problems, o object.Object, check func(*T)) {
	v, err := api.Decode[T](o)
	if err != nil {
		p.invalid("", "%v", err)
		return
	}
	check(v)
}

// ValidateStatus reports what is wrong with a status update; only the status
// of new counts.
func ValidateStatus(k api.Kind, new, old object.Object) []Problem {
	p := &problems{}
	if k.Kind != api.Pod.Kind || k.Custom {
		return nil
	}
	decode(p, new, func(pod *corev1.Pod) {
		seen := map[corev1.PodConditionType]bool{}
		for i, c := range pod.Status.Conditions {
			at := api.IndexPath(".status.conditions", i)
			if c.Type == "" {
				p.required(at+".type", "")
			}
			if seen[c.Type] {
				p.duplicate(at+".type", c.Type)
			}
			seen[c.Type] = true
		}
		if old.IsZero() {
			return
		}
		decode(p, old, func(was *corev1.Pod) {
			if terminal(was.Status.Phase) && pod.Status.Phase != was.Status.Phase {
				p.add(api.CodeImmutable, ".status.phase", "", "a pod that has %s stays so", was.Status.Phase)
			}
			if ip := was.Status.PodIP; ip != "" && pod.Status.PodIP != "" && pod.Status.PodIP != ip {
				p.add(api.CodeImmutable, ".status.podIP", "", "a pod keeps its address %s", ip)
			}
		})
	})
	return p.list
}

func terminal(p corev1.PodPhase) bool { return p == corev1.PodSucceeded || p == corev1.PodFailed }
