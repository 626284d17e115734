package admission

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
)

func (p *problems) pod(pod *corev1.Pod) {
	p.podSpec(".spec", &pod.Spec)
}

// template checks a workload's pod template, whose labels must match the
// workload's selector; allowed are the restart policies that make sense.
func (p *problems) template(t *corev1.PodTemplateSpec, allowed ...corev1.RestartPolicy) {
	const at = ".spec.template"
	p.labels(at+".metadata.labels", t.Labels)
	p.annotations(at+".metadata.annotations", t.Annotations)
	p.podSpec(at+".spec", &t.Spec)
	if r := t.Spec.RestartPolicy; !slices.Contains(allowed, r) {
		hint := "use " + string(allowed[0])
		for _, a := range allowed[1:] {
			hint += " or " + string(a)
		}
		p.add(api.CodeUnsupported, at+".spec.restartPolicy", hint, "%q is not allowed here", r)
	}
	if t.Spec.NodeName != "" {
		p.add(api.CodeUnsupported, at+".spec.nodeName", "use nodeSelector", "not supported by Writ: a template bound to a node")
	}
}

func (p *problems) podSpec(at string, s *corev1.PodSpec) {
	volumes := p.volumes(at+".volumes", s.Volumes)
	if len(s.Containers) == 0 {
		p.required(at+".containers", "add one container")
	}
	names := map[string]bool{}
	for i := range s.InitContainers {
		c, path := &s.InitContainers[i], api.IndexPath(at+".initContainers", i)
		p.container(path, c, names, volumes)
		if c.LivenessProbe != nil || c.ReadinessProbe != nil || c.StartupProbe != nil {
			p.add(api.CodeUnsupported, path, "remove it", "an init container has no probes")
		}
	}
	for i := range s.Containers {
		p.container(api.IndexPath(at+".containers", i), &s.Containers[i], names, volumes)
	}
	if g := s.TerminationGracePeriodSeconds; g != nil {
		p.atLeast(at+".terminationGracePeriodSeconds", *g, 0)
	}
	for _, key := range sortedKeys(s.NodeSelector) {
		p.check(api.FieldPath(at+".nodeSelector", key), key, validation.IsQualifiedName(key))
		p.check(api.FieldPath(at+".nodeSelector", key), s.NodeSelector[key], validation.IsValidLabelValue(s.NodeSelector[key]))
	}
	if s.Hostname != "" {
		p.check(at+".hostname", s.Hostname, validation.IsDNS1123Label(s.Hostname))
	}
	if s.ServiceAccountName != "" {
		p.check(at+".serviceAccountName", s.ServiceAccountName, validation.IsDNS1123Subdomain(s.ServiceAccountName))
	}
	if s.DeprecatedServiceAccount != "" && s.DeprecatedServiceAccount != s.ServiceAccountName {
		p.invalid(at+".serviceAccount", "must be the same as serviceAccountName %q", s.ServiceAccountName)
	}
	if c := s.SecurityContext; c != nil {
		p.user(at+".securityContext", c.RunAsUser, c.RunAsGroup, c.RunAsNonRoot)
	}
}

// user checks whom a container runs as.
func (p *problems) user(at string, user, group *int64, nonRoot *bool) {
	const last = 1<<31 - 1
	for _, id := range []struct {
		name string
		v    *int64
	}{{".runAsUser", user}, {".runAsGroup", group}} {
		if id.v != nil && (*id.v < 0 || *id.v > last) {
			p.invalid(at+id.name, "must be 0 to %d, but is %d", last, *id.v)
		}
	}
	if nonRoot != nil && *nonRoot && user != nil && *user == 0 {
		p.invalid(at+".runAsUser", "is 0, root, but runAsNonRoot is true")
	}
}
