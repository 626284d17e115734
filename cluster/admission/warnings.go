package admission

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// Warnings lists what is accepted but not enforced, or probably a mistake. o
// should have its defaults.
func Warnings(k api.Kind, o object.Object) []string {
	w := &warnings{}
	switch k.Kind {
	case api.Pod.Kind:
		if pod, err := api.Decode[corev1.Pod](o); err == nil {
			w.podSpec(".spec", &pod.Spec)
		}
	case api.Deployment.Kind:
		if d, err := api.Decode[appsv1.Deployment](o); err == nil {
			w.podSpec(".spec.template.spec", &d.Spec.Template.Spec)
		}
	case api.ReplicaSet.Kind:
		if r, err := api.Decode[appsv1.ReplicaSet](o); err == nil {
			w.podSpec(".spec.template.spec", &r.Spec.Template.Spec)
		}
	case api.Job.Kind:
		if j, err := api.Decode[batchv1.Job](o); err == nil {
			w.podSpec(".spec.template.spec", &j.Spec.Template.Spec)
		}
	case api.Service.Kind:
		if s, err := api.Decode[corev1.Service](o); err == nil && len(s.Spec.Selector) == 0 {
			w.add(".spec.selector", "a Service without a selector has no endpoints in Writ")
		}
	}
	return w.list
}

type warnings struct {
	list []string
}

func (w *warnings) add(at, format string, args ...any) {
	w.list = append(w.list, at+": "+fmt.Sprintf(format, args...))
}

func (w *warnings) podSpec(at string, s *corev1.PodSpec) {
	mounted := map[string]bool{}
	w.containers(at+".initContainers", s.InitContainers, s.SecurityContext, mounted)
	w.containers(at+".containers", s.Containers, s.SecurityContext, mounted)
	for i, v := range s.Volumes {
		if v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil {
			w.add(api.IndexPath(at+".volumes", i)+".emptyDir.sizeLimit", "not enforced by the sandbox runtime yet")
		}
		if !mounted[v.Name] {
			w.add(api.IndexPath(at+".volumes", i), "no container mounts %q", v.Name)
		}
	}
	if a := s.AutomountServiceAccountToken; a != nil && *a {
		w.add(at+".automountServiceAccountToken", "no token is mounted yet")
	}
}

// containers adds the volumes that list mounts to mounted.
func (w *warnings) containers(at string, list []corev1.Container, pod *corev1.PodSecurityContext, mounted map[string]bool) {
	for i, c := range list {
		nonRoot := pod != nil && notRoot(pod.RunAsUser, pod.RunAsNonRoot)
		if s := c.SecurityContext; s != nil {
			nonRoot = nonRoot && s.RunAsUser == nil && s.RunAsNonRoot == nil || notRoot(s.RunAsUser, s.RunAsNonRoot)
		}
		if len(c.Resources.Limits) > 0 {
			w.add(api.IndexPath(at, i)+".resources.limits", "not enforced by the sandbox runtime yet")
		}
		if sc := c.SecurityContext; sc != nil && sc.Capabilities != nil && len(sc.Capabilities.Drop) > 0 && !nonRoot {
			w.add(api.IndexPath(at, i)+".securityContext.capabilities.drop", "not enforced for root by the sandbox runtime yet; run as another user")
		}
		for _, m := range c.VolumeMounts {
			mounted[m.Name] = true
		}
	}
}

func notRoot(user *int64, nonRoot *bool) bool {
	return user != nil && *user != 0 || nonRoot != nil && *nonRoot
}
