package admission

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// Reserved reports what only the cluster itself may write (rule DEP012):
// system kinds, writ.dev labels and annotations, the owner references and
// addresses by which pods get their identity, a pod's node. What was there
// before may stay. Call it for every writer but the in-process system
// identity, for spec and status updates alike; old is zero on create, when the
// status does not count.
func Reserved(k api.Kind, new, old object.Object) []Problem {
	p := &problems{}
	if k.System {
		p.reserved("", "", "only the cluster writes a %s", k.Kind)
		return p.list
	}
	before := &object.Meta{}
	if !old.IsZero() {
		before = old.Meta()
	}
	m := new.Meta()
	p.reservedKeys(".metadata.labels", m.Labels, before.Labels)
	if k.Kind != api.EventKind.Kind { // node agents tell of refused access in annotations
		p.reservedKeys(".metadata.annotations", m.Annotations, before.Annotations)
	}
	if k.Custom {
		return p.list
	}
	switch k.Kind {
	case api.Pod.Kind:
		p.controllerReference(m, before)
		decode(p, new, func(pod *corev1.Pod) { p.reservedPod(pod, old) })
	case api.ReplicaSet.Kind, api.Job.Kind:
		p.controllerReference(m, before)
		p.reservedTemplate(new, old)
	case api.Deployment.Kind:
		p.reservedTemplate(new, old)
	}
	return p.list
}

func (p *problems) reserved(at, hint, format string, args ...any) {
	p.add(api.CodeReserved, at, hint, format, args...)
}

func (p *problems) reservedKeys(at string, now, was map[string]string) {
	keys := maps.Clone(now)
	if keys == nil {
		keys = map[string]string{}
	}
	maps.Copy(keys, was)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		prefix, _, ok := strings.Cut(key, "/")
		if key == api.AnnotationPrune || key == api.AnnotationApprove || key == api.AnnotationSync {
			continue // for everybody to say
		}
		if !ok || prefix != api.Group && !strings.HasSuffix(prefix, "."+api.Group) {
			continue
		}
		v, inNow := now[key]
		w, inWas := was[key]
		if v != w || inNow != inWas {
			p.reserved(api.FieldPath(at, key), "use a prefix of your own", "%s/ is reserved for the cluster", prefix)
		}
	}
}

// reservedTemplate treats the template's labels like the object's own: they
// become those of the pods.
func (p *problems) reservedTemplate(new, old object.Object) {
	now, was := p.templateOf(new), p.templateOf(old)
	p.reservedKeys(".spec.template.metadata.labels", now.Labels, was.Labels)
	p.reservedKeys(".spec.template.metadata.annotations", now.Annotations, was.Annotations)
}

func (p *problems) templateOf(o object.Object) (m metav1.ObjectMeta) {
	if o.IsZero() {
		return m
	}
	switch o.Kind() {
	case api.Deployment.Kind:
		decode(p, o, func(d *appsv1.Deployment) { m = d.Spec.Template.ObjectMeta })
	case api.ReplicaSet.Kind:
		decode(p, o, func(r *appsv1.ReplicaSet) { m = r.Spec.Template.ObjectMeta })
	case api.Job.Kind:
		decode(p, o, func(j *batchv1.Job) { m = j.Spec.Template.ObjectMeta })
	}
	return m
}

// controllerReference refuses a controller that was not there: a pod acts for
// the workload that controls it, so a forged one would be a stolen identity.
func (p *problems) controllerReference(now, was *object.Meta) {
	for i, r := range now.OwnerReferences {
		if r.Controller == nil || !*r.Controller {
			continue
		}
		known := slices.ContainsFunc(was.OwnerReferences, func(o object.OwnerReference) bool {
			return o.Controller != nil && *o.Controller && o.UID == r.UID && o.Kind == r.Kind && o.Name == r.Name && o.APIVersion == r.APIVersion
		})
		if !known {
			p.reserved(api.IndexPath(".metadata.ownerReferences", i)+".controller", "remove the owner reference",
				"only the cluster may make %s %q the controller", r.Kind, r.Name)
		}
	}
}

func (p *problems) reservedPod(pod *corev1.Pod, old object.Object) {
	was := &corev1.Pod{}
	if !old.IsZero() {
		decode(p, old, func(o *corev1.Pod) { was = o })
	}
	if n := pod.Spec.NodeName; n != "" && n != was.Spec.NodeName {
		p.reserved(".spec.nodeName", "remove it; use nodeSelector", "only the scheduler binds a pod to a node")
	}
	if old.IsZero() {
		return
	}
	if ip := pod.Status.PodIP; ip != "" && ip != was.Status.PodIP {
		p.reserved(".status.podIP", "", "only the cluster gives a pod its address")
	}
	for i, c := range pod.Status.Conditions {
		if c.Type == api.ConditionGranted && c.Status == corev1.ConditionTrue && !granted(was) {
			p.reserved(api.IndexPath(".status.conditions", i), "", "only the cluster sets %s", c.Type)
		}
	}
}

func granted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == api.ConditionGranted && c.Status == corev1.ConditionTrue
	})
}
