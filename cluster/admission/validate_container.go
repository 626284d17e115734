package admission

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
)

// container checks c at path. names are the container names so far, volumes
// the pod's.
func (p *problems) container(at string, c *corev1.Container, names map[string]bool, volumes map[string]*corev1.Volume) {
	switch {
	case c.Name == "":
		p.required(at+".name", "")
	case names[c.Name]:
		p.duplicate(at+".name", c.Name)
	default:
		p.check(at+".name", c.Name, validation.IsDNS1123Label(c.Name))
	}
	names[c.Name] = true
	p.image(at+".image", c.Image)
	ports := p.ports(at+".ports", c.Ports)
	p.env(at+".env", c.Env)
	for i, e := range c.EnvFrom {
		p.envFrom(api.IndexPath(at+".envFrom", i), e)
	}
	p.resources(at+".resources", c.Resources)
	p.probe(at+".livenessProbe", c.LivenessProbe, ports, true)
	p.probe(at+".startupProbe", c.StartupProbe, ports, true)
	p.probe(at+".readinessProbe", c.ReadinessProbe, ports, false)
	p.mounts(at+".volumeMounts", c.VolumeMounts, volumes)
	p.containerSecurity(at+".securityContext", c.SecurityContext)
	if w := c.WorkingDir; w != "" && !strings.HasPrefix(w, "/") {
		p.invalid(at+".workingDir", "must be an absolute path, not %q", w)
	}
}

// reference is [registry[:port]/]repository[:tag][@digest], after the grammar
// of the OCI distribution specification.
var reference = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]+)?/)?` +
	`[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)*` +
	`(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@[a-z0-9]+:[a-f0-9]{32,})?$`)

func (p *problems) image(at, image string) {
	switch {
	case image == "":
		p.required(at, "name an image of the local store")
	case len(image) > 512 || !reference.MatchString(image):
		hint := ""
		if lower := strings.ToLower(image); lower != image && reference.MatchString(lower) {
			hint = "write the repository in lower case"
		} else if trimmed := strings.TrimSpace(image); trimmed != image {
			hint = "remove the white space"
		}
		p.add(api.CodeInvalid, at, hint, "%q is not an image reference", image)
	}
}

// ports returns the names of the ports.
func (p *problems) ports(at string, ports []corev1.ContainerPort) []string {
	type key struct {
		port     int32
		protocol corev1.Protocol
	}
	var names []string
	seen := map[key]bool{}
	for i, port := range ports {
		path := api.IndexPath(at, i)
		p.portNumber(path+".containerPort", int64(port.ContainerPort))
		if port.Name != "" {
			if slices.Contains(names, port.Name) {
				p.duplicate(path+".name", port.Name)
			}
			p.check(path+".name", port.Name, validation.IsValidPortName(port.Name))
			names = append(names, port.Name)
		}
		k := key{port.ContainerPort, port.Protocol}
		if seen[k] {
			p.duplicate(path, fmt.Sprintf("port %d/%s", k.port, k.protocol))
		}
		seen[k] = true
	}
	return names
}

func (p *problems) portNumber(at string, n int64) {
	switch {
	case n == 0:
		p.required(at, "use 1 to 65535")
	case n < 1 || n > 65535:
		p.add(api.CodeInvalid, at, "use 1 to 65535", "%d is not a port number", n)
	}
}

func (p *problems) env(at string, env []corev1.EnvVar) {
	seen := map[string]bool{}
	for i, e := range env {
		path := api.IndexPath(at, i)
		switch {
		case e.Name == "":
			p.required(path+".name", "")
		case seen[e.Name]:
			p.add(api.CodeDuplicate, path+".name", "remove one", "%s is set twice", e.Name)
		default:
			p.check(path+".name", e.Name, validation.IsEnvVarName(e.Name))
		}
		seen[e.Name] = true
		if e.ValueFrom == nil {
			continue
		}
		if e.Value != "" {
			p.invalid(path, "has both value and valueFrom")
		}
		p.envSource(path+".valueFrom", e.ValueFrom)
	}
}

func (p *problems) envSource(at string, s *corev1.EnvVarSource) {
	set := 0
	if r := s.ConfigMapKeyRef; r != nil {
		set++
		p.keyRef(at+".configMapKeyRef", r.Name, r.Key)
	}
	if r := s.SecretKeyRef; r != nil {
		set++
		p.keyRef(at+".secretKeyRef", r.Name, r.Key)
	}
	if r := s.FieldRef; r != nil {
		set++
		p.fieldPath(at+".fieldRef.fieldPath", r.FieldPath)
	}
	if s.ResourceFieldRef != nil {
		set++ // refused by name already
	}
	if set != 1 {
		p.invalid(at, "must name exactly one source, not %d", set)
	}
}

func (p *problems) keyRef(at, name, key string) {
	if name == "" {
		p.required(at+".name", "")
	} else {
		p.check(at+".name", name, validation.IsDNS1123Subdomain(name))
	}
	if key == "" {
		p.required(at+".key", "")
	} else {
		p.check(at+".key", key, validation.IsConfigMapKey(key))
	}
}

// fieldPaths are the pod's fields that env may take.
var fieldPaths = []string{
	"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
	"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
}

func (p *problems) fieldPath(at, path string) {
	for _, prefix := range []string{"metadata.labels['", "metadata.annotations['"} {
		if key, ok := strings.CutPrefix(path, prefix); ok && strings.HasSuffix(key, "']") {
			p.check(at, path, validation.IsQualifiedName(strings.ToLower(strings.TrimSuffix(key, "']"))))
			return
		}
	}
	if slices.Contains(fieldPaths, path) {
		return
	}
	hint := "use " + strings.Join(fieldPaths, ", ") + " or metadata.labels['KEY']"
	if near := api.Nearest(path, fieldPaths); near != "" {
		hint = api.DidYouMean(near)
	}
	p.add(api.CodeUnsupported, at, hint, "%q is not a field of a pod that env can take", path)
}

func (p *problems) envFrom(at string, e corev1.EnvFromSource) {
	if e.Prefix != "" {
		p.check(at+".prefix", e.Prefix, validation.IsEnvVarName(e.Prefix))
	}
	switch {
	case e.ConfigMapRef != nil && e.SecretRef != nil, e.ConfigMapRef == nil && e.SecretRef == nil:
		p.invalid(at, "must have exactly one of configMapRef and secretRef")
	case e.ConfigMapRef != nil && e.ConfigMapRef.Name == "":
		p.required(at+".configMapRef.name", "")
	case e.SecretRef != nil && e.SecretRef.Name == "":
		p.required(at+".secretRef.name", "")
	}
}

func (p *problems) resources(at string, r corev1.ResourceRequirements) {
	negative := func(at string, list corev1.ResourceList) {
		for _, name := range sortedKeys(list) {
			path := api.FieldPath(at, string(name))
			p.check(path, string(name), validation.IsQualifiedName(string(name)))
			if q := list[name]; q.Sign() < 0 {
				p.invalid(path, "must not be negative, but is %s", q.String())
			}
		}
	}
	negative(at+".requests", r.Requests)
	negative(at+".limits", r.Limits)
	for _, name := range sortedKeys(r.Requests) {
		request := r.Requests[name]
		limit, ok := r.Limits[name]
		if ok && request.Cmp(limit) > 0 {
			p.invalid(api.FieldPath(at+".requests", string(name)), "%s is more than the limit %s", request.String(), limit.String())
		}
	}
}

// usual are the capabilities that root has in every container; other users
// have none. Adding them changes nothing.
var usual = []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETGID", "SETPCAP", "SETUID"}

// bypass are the capabilities with which a container could get around
// enforcement (rule DEP010).
var bypass = []string{"ALL", "NET_ADMIN", "NET_RAW", "SYS_ADMIN"}

func (p *problems) containerSecurity(at string, s *corev1.SecurityContext) {
	if s == nil {
		return
	}
	p.user(at, s.RunAsUser, s.RunAsGroup, s.RunAsNonRoot)
	if s.Capabilities == nil {
		return
	}
	for i, c := range s.Capabilities.Add {
		path := api.IndexPath(at+".capabilities.add", i)
		switch name := strings.TrimPrefix(strings.ToUpper(string(c)), "CAP_"); {
		case slices.Contains(bypass, name):
			p.add(api.CodeHostAccess, path, "remove it", "with %s a container could get around its declared dependencies", c)
		case !slices.Contains(usual, name):
			p.add(api.CodeUnsupported, path, "remove it", "not supported by Writ yet: capability %s", c)
		}
	}
}

func sortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
