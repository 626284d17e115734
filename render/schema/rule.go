package schema

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/structural"
)

// kind applies the rules of one kind.
func (r *rules) kind(k Kind, o object.Object) {
	switch k.APIVersion + " " + k.Kind {
	case "v1 Pod":
		decode(r, o, func(p *corev1.Pod) { r.podSpec(".spec", &p.Spec, nil) })
	case "v1 PodTemplate":
		decode(r, o, func(t *corev1.PodTemplate) { r.template(".template", &t.Template, nil) })
	case "v1 ReplicationController":
		decode(r, o, r.replicationController)
	case "apps/v1 Deployment":
		decode(r, o, r.deployment)
	case "apps/v1 ReplicaSet":
		decode(r, o, r.replicaSet)
	case "apps/v1 StatefulSet":
		decode(r, o, r.statefulSet)
	case "apps/v1 DaemonSet":
		decode(r, o, r.daemonSet)
	case "batch/v1 Job":
		decode(r, o, func(j *batchv1.Job) { r.job(".spec", &j.Spec) })
	case "batch/v1 CronJob":
		decode(r, o, r.cronJob)
	default:
		r.other(k, o)
	}
}

// other applies the rules of the kinds that make no pods.
func (r *rules) other(k Kind, o object.Object) {
	switch k.APIVersion + " " + k.Kind {
	case "v1 Service":
		decode(r, o, func(s *corev1.Service) { r.service(&s.Spec) })
	case "v1 ConfigMap":
		decode(r, o, r.configMap)
	case "v1 Secret":
		decode(r, o, r.secret)
	case "v1 PersistentVolumeClaim":
		decode(r, o, func(c *corev1.PersistentVolumeClaim) { r.claim(".spec", &c.Spec) })
	case "v1 PersistentVolume":
		decode(r, o, r.persistentVolume)
	case "v1 LimitRange":
		decode(r, o, r.limitRange)
	case "v1 ResourceQuota":
		decode(r, o, r.resourceQuota)
	case "discovery.k8s.io/v1 EndpointSlice":
		decode(r, o, func(s *discoveryv1.EndpointSlice) { r.endpointSlice(s) })
	case "networking.k8s.io/v1 Ingress":
		decode(r, o, func(i *networkingv1.Ingress) { r.ingress(&i.Spec) })
	case "networking.k8s.io/v1 NetworkPolicy":
		decode(r, o, func(n *networkingv1.NetworkPolicy) { r.networkPolicy(&n.Spec) })
	case "policy/v1 PodDisruptionBudget":
		decode(r, o, func(b *policyv1.PodDisruptionBudget) { r.disruptionBudget(&b.Spec) })
	case "autoscaling/v2 HorizontalPodAutoscaler":
		decode(r, o, func(h *autoscalingv2.HorizontalPodAutoscaler) { r.autoscaler(&h.Spec) })
	case "scheduling.k8s.io/v1 PriorityClass":
		decode(r, o, func(p *schedulingv1.PriorityClass) { r.priorityClass(p) })
	case "storage.k8s.io/v1 StorageClass":
		decode(r, o, func(s *storagev1.StorageClass) { r.name(".provisioner", s.Provisioner, nothing) })
	case "apiextensions.k8s.io/v1 CustomResourceDefinition":
		_, problems := structural.ParseDefinition(o.Tree())
		r.problems = append(r.problems, problems...)
	default:
		r.access(k, o)
	}
}

// access applies the rules of the kinds that decide about requests.
func (r *rules) access(k Kind, o object.Object) {
	switch k.APIVersion + " " + k.Kind {
	case "rbac.authorization.k8s.io/v1 Role":
		decode(r, o, func(x *rbacv1.Role) { r.policyRules(x.Rules, false) })
	case "rbac.authorization.k8s.io/v1 ClusterRole":
		decode(r, o, func(x *rbacv1.ClusterRole) { r.policyRules(x.Rules, true) })
	case "rbac.authorization.k8s.io/v1 RoleBinding":
		decode(r, o, func(b *rbacv1.RoleBinding) { r.binding(b.RoleRef, b.Subjects, true) })
	case "rbac.authorization.k8s.io/v1 ClusterRoleBinding":
		decode(r, o, func(b *rbacv1.ClusterRoleBinding) { r.binding(b.RoleRef, b.Subjects, false) })
	case "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration":
		decode(r, o, r.validatingWebhooks)
	case "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration":
		decode(r, o, r.mutatingWebhooks)
	case "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy":
		decode(r, o, func(p *admissionregistrationv1.ValidatingAdmissionPolicy) { r.admissionPolicy(&p.Spec) })
	}
}

func nothing(string) []string { return nil }
