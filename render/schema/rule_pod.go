package schema

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
)

// podSpec checks a pod; claims are volumes that its workload adds.
func (r *rules) podSpec(at string, s *corev1.PodSpec, claims []string) {
	p := &podRules{rules: r, spec: s, volumes: slices.Clone(claims), containers: map[string]string{}}
	for i := range s.Volumes {
		p.volume(api.IndexPath(at+".volumes", i), &s.Volumes[i])
	}
	if len(s.Containers) == 0 {
		r.add(api.CodeRequired, at+".containers", "add one container", "must have a container")
	}
	for i := range s.InitContainers {
		p.initContainer(api.IndexPath(at+".initContainers", i), &s.InitContainers[i])
	}
	for i := range s.Containers {
		p.container(api.IndexPath(at+".containers", i), &s.Containers[i])
	}
	if g := s.TerminationGracePeriodSeconds; g != nil {
		r.atLeast(at+".terminationGracePeriodSeconds", *g, 0)
	}
	if d := s.ActiveDeadlineSeconds; d != nil {
		r.atLeast(at+".activeDeadlineSeconds", *d, 1)
	}
	r.labels(at+".nodeSelector", s.NodeSelector)
	for _, f := range []struct{ name, value string }{{"hostname", s.Hostname}, {"subdomain", s.Subdomain}} {
		if f.value != "" {
			r.valid(at+"."+f.name, f.value, validation.IsDNS1123Label)
		}
	}
	for _, f := range []struct{ name, value string }{
		{"serviceAccountName", s.ServiceAccountName}, {"priorityClassName", s.PriorityClassName}, {"nodeName", s.NodeName},
	} {
		if f.value != "" {
			r.valid(at+"."+f.name, f.value, validation.IsDNS1123Subdomain)
		}
	}
	p.placement(at)
	if c := s.SecurityContext; c != nil {
		r.user(at+".securityContext", c.RunAsUser, c.RunAsGroup, c.RunAsNonRoot)
	}
}

// podRules are the rules of one pod, with the names in it.
type podRules struct {
	*rules
	spec    *corev1.PodSpec
	volumes []string
	// containers maps the names so far to where they are.
	containers map[string]string
}

// placement checks what decides on which node a pod runs.
func (p *podRules) placement(at string) {
	for i, t := range p.spec.Tolerations {
		path := api.IndexPath(at+".tolerations", i)
		switch {
		case t.Key != "":
			p.valid(path+".key", t.Key, validation.IsQualifiedName)
		case t.Operator != corev1.TolerationOpExists:
			p.add(api.CodeInvalid, path+".operator", "use Exists, or name a key", "must be Exists when there is no key")
		}
		if t.Operator == corev1.TolerationOpExists && t.Value != "" {
			p.add(api.CodeInvalid, path+".value", "remove it", "has no meaning with operator Exists")
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			p.add(api.CodeInvalid, path+".effect", "use NoExecute", "must be NoExecute with tolerationSeconds")
		}
	}
	for i, c := range p.spec.TopologySpreadConstraints {
		path := api.IndexPath(at+".topologySpreadConstraints", i)
		p.atLeast(path+".maxSkew", int64(c.MaxSkew), 1)
		p.name(path+".topologyKey", c.TopologyKey, validation.IsQualifiedName)
		p.labelSelector(path+".labelSelector", c.LabelSelector)
	}
	a := p.spec.Affinity
	if a == nil {
		return
	}
	if n := a.NodeAffinity; n != nil && n.RequiredDuringSchedulingIgnoredDuringExecution != nil && len(n.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms) == 0 {
		p.required(at+".affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms", "add a term")
	}
	if x := a.PodAffinity; x != nil {
		p.podTerms(at+".affinity.podAffinity", x.RequiredDuringSchedulingIgnoredDuringExecution, x.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if x := a.PodAntiAffinity; x != nil {
		p.podTerms(at+".affinity.podAntiAffinity", x.RequiredDuringSchedulingIgnoredDuringExecution, x.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func (p *podRules) podTerms(at string, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
	term := func(path string, t corev1.PodAffinityTerm) {
		p.name(path+".topologyKey", t.TopologyKey, validation.IsQualifiedName)
		p.labelSelector(path+".labelSelector", t.LabelSelector)
	}
	for i, t := range required {
		term(api.IndexPath(at+".requiredDuringSchedulingIgnoredDuringExecution", i), t)
	}
	for i, t := range preferred {
		path := api.IndexPath(at+".preferredDuringSchedulingIgnoredDuringExecution", i)
		if t.Weight < 1 || t.Weight > 100 {
			p.invalid(path+".weight", "must be 1 to 100, but is %d", t.Weight)
		}
		term(path+".podAffinityTerm", t.PodAffinityTerm)
	}
}

// user checks whom a container runs as.
func (r *rules) user(at string, user, group *int64, nonRoot *bool) {
	const last = 1<<31 - 1
	for _, id := range []struct {
		name string
		v    *int64
	}{{".runAsUser", user}, {".runAsGroup", group}} {
		if id.v != nil && (*id.v < 0 || *id.v > last) {
			r.invalid(at+id.name, "must be 0 to %d, but is %d", last, *id.v)
		}
	}
	if nonRoot != nil && *nonRoot && user != nil && *user == 0 {
		r.invalid(at+".runAsUser", "is 0, root, but runAsNonRoot is true: the container could not start")
	}
}

// volume checks one volume and adds its name to the pod's.
func (p *podRules) volume(at string, v *corev1.Volume) {
	p.name(at+".name", v.Name, validation.IsDNS1123Label)
	p.volumes = append(p.volumes, v.Name)
	s := &v.VolumeSource
	if sources := members(s); set(sources) > 1 { // none means emptyDir
		p.one(at, sources)
	}
	if c := s.ConfigMap; c != nil {
		p.name(at+".configMap.name", c.Name, validation.IsDNS1123Subdomain)
		p.mode(at+".configMap.defaultMode", c.DefaultMode)
		p.items(at+".configMap.items", c.Items)
	}
	if c := s.Secret; c != nil {
		p.name(at+".secret.secretName", c.SecretName, validation.IsDNS1123Subdomain)
		p.mode(at+".secret.defaultMode", c.DefaultMode)
		p.items(at+".secret.items", c.Items)
	}
	if c := s.PersistentVolumeClaim; c != nil {
		p.name(at+".persistentVolumeClaim.claimName", c.ClaimName, validation.IsDNS1123Subdomain)
	}
	if c := s.HostPath; c != nil && slices.Contains(strings.Split(c.Path, "/"), "..") {
		p.invalid(at+".hostPath.path", `must not contain ".."`)
	}
	if c := s.EmptyDir; c != nil && c.SizeLimit != nil && c.SizeLimit.Sign() < 0 {
		p.invalid(at+".emptyDir.sizeLimit", "must not be negative")
	}
	if c := s.Ephemeral; c != nil {
		if c.VolumeClaimTemplate == nil {
			p.required(at+".ephemeral.volumeClaimTemplate", "")
		} else {
			p.claim(at+".ephemeral.volumeClaimTemplate.spec", &c.VolumeClaimTemplate.Spec)
		}
	}
	if c := s.Projected; c != nil {
		p.mode(at+".projected.defaultMode", c.DefaultMode)
		for i := range c.Sources {
			p.one(api.IndexPath(at+".projected.sources", i), members(&c.Sources[i]))
		}
	}
	if c := s.DownwardAPI; c != nil {
		p.mode(at+".downwardAPI.defaultMode", c.DefaultMode)
	}
}

func (p *podRules) mode(at string, mode *int32) {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		hint := "use 0 to 511, that is 0000 to 0777 in octal"
		// Decimal 644 and 755 are octal modes read as decimal numbers.
		var octal int32
		if n, err := fmt.Sscanf(fmt.Sprint(*mode), "%o", &octal); n == 1 && err == nil && octal <= 0o777 {
			hint = fmt.Sprintf("write 0%d, or %d", *mode, octal)
		}
		p.add(api.CodeInvalid, at, hint, "%d is not a file mode", *mode)
	}
}

func (p *podRules) items(at string, items []corev1.KeyToPath) {
	paths := map[string]bool{}
	for i, item := range items {
		path := api.IndexPath(at, i)
		p.name(path+".key", item.Key, validation.IsConfigMapKey)
		p.mode(path+".mode", item.Mode)
		switch {
		case item.Path == "":
			p.required(path+".path", "")
		case !inside(item.Path):
			p.invalid(path+".path", "%q must stay inside the volume", item.Path)
		case paths[item.Path]:
			p.add(api.CodeDuplicate, path+".path", "", "%q is there twice", item.Path)
		}
		paths[item.Path] = true
	}
}

// inside reports whether a relative path cannot lead out of its root.
func inside(p string) bool {
	return !strings.HasPrefix(p, "/") && !slices.Contains(strings.Split(p, "/"), "..")
}

// claim checks what is asked of a persistent volume.
func (r *rules) claim(at string, c *corev1.PersistentVolumeClaimSpec) {
	if len(c.AccessModes) == 0 {
		r.add(api.CodeRequired, at+".accessModes", "use [ReadWriteOnce]", "must have an access mode")
	}
	if q, ok := c.Resources.Requests[corev1.ResourceStorage]; !ok {
		r.add(api.CodeRequired, at+".resources.requests.storage", "say how large, such as 10Gi", "is required")
	} else if q.Sign() <= 0 {
		r.invalid(at+".resources.requests.storage", "must be more than 0, but is %s", q.String())
	}
	r.labelSelectorIf(at+".selector", c.Selector)
}

func (r *rules) labelSelectorIf(at string, s *metav1.LabelSelector) {
	if s != nil {
		r.labelSelector(at, s)
	}
}
