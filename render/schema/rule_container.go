package schema

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
)

func (p *podRules) initContainer(at string, c *corev1.Container) {
	p.container(at, c)
	sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	if sidecar {
		return
	}
	for name, there := range map[string]bool{
		"livenessProbe": c.LivenessProbe != nil, "readinessProbe": c.ReadinessProbe != nil, "startupProbe": c.StartupProbe != nil, "lifecycle": c.Lifecycle != nil,
	} {
		if there {
			p.add(api.CodeImmutable, at+"."+name, "remove it, or make it a sidecar with restartPolicy: Always", "an init container runs to its end and has no %s", name)
		}
	}
}

func (p *podRules) container(at string, c *corev1.Container) {
	p.name(at+".name", c.Name, validation.IsDNS1123Label)
	// Two in one list are reported by the schema.
	if other, twice := p.containers[c.Name]; twice && c.Name != "" && strings.Contains(other, ".initContainers[") != strings.Contains(at, ".initContainers[") {
		p.add(api.CodeDuplicate, at+".name", "give it another name", "%q is the name of %s too", c.Name, other)
	}
	p.containers[c.Name] = at
	switch image := c.Image; {
	case image == "":
		p.required(at+".image", "")
	case strings.TrimSpace(image) != image:
		p.add(api.CodeInvalid, at+".image", "remove the white space", "%q is not an image reference", image)
	}
	ports := p.ports(at+".ports", c.Ports)
	for i := range c.Env {
		p.env(api.IndexPath(at+".env", i), &c.Env[i])
	}
	for i, e := range c.EnvFrom {
		p.one(api.IndexPath(at+".envFrom", i), map[string]bool{"configMapRef": e.ConfigMapRef != nil, "secretRef": e.SecretRef != nil})
	}
	p.resources(at+".resources", c.Resources)
	p.probe(at+".livenessProbe", c.LivenessProbe, ports, true)
	p.probe(at+".startupProbe", c.StartupProbe, ports, true)
	p.probe(at+".readinessProbe", c.ReadinessProbe, ports, false)
	if l := c.Lifecycle; l != nil {
		p.hook(at+".lifecycle.postStart", l.PostStart, ports)
		p.hook(at+".lifecycle.preStop", l.PreStop, ports)
	}
	p.mounts(at+".volumeMounts", c.VolumeMounts)
	for i, d := range c.VolumeDevices {
		p.known(api.IndexPath(at+".volumeDevices", i)+".name", d.Name)
	}
	if s := c.SecurityContext; s != nil {
		p.user(at+".securityContext", s.RunAsUser, s.RunAsGroup, s.RunAsNonRoot)
		if s.Privileged != nil && *s.Privileged && s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation {
			p.invalid(at+".securityContext.allowPrivilegeEscalation", "cannot be false when privileged is true")
		}
	}
}

// ports returns the names of the ports.
func (p *podRules) ports(at string, ports []corev1.ContainerPort) []string {
	var names []string
	for i, port := range ports {
		here := api.IndexPath(at, i)
		p.port(here+".containerPort", int64(port.ContainerPort))
		if port.HostPort != 0 {
			p.port(here+".hostPort", int64(port.HostPort))
			if p.spec.HostNetwork && port.HostPort != port.ContainerPort {
				p.invalid(here+".hostPort", "must be the containerPort %d with hostNetwork", port.ContainerPort)
			}
		}
		if port.Name == "" {
			continue
		}
		p.valid(here+".name", port.Name, validation.IsValidPortName)
		if slices.Contains(names, port.Name) {
			p.add(api.CodeDuplicate, here+".name", "give it another name", "%q is the name of another port too", port.Name)
		}
		names = append(names, port.Name)
	}
	return names
}

func (r *rules) port(at string, n int64) {
	if n < 1 || n > 65535 {
		r.add(api.CodeInvalid, at, "use 1 to 65535", "%d is not a port number", n)
	}
}

func (p *podRules) env(at string, e *corev1.EnvVar) {
	p.name(at+".name", e.Name, validation.IsRelaxedEnvVarName)
	s := e.ValueFrom
	if s == nil {
		return
	}
	if e.Value != "" {
		p.add(api.CodeInvalid, at, "keep one", "has both value and valueFrom")
	}
	p.one(at+".valueFrom", members(s))
	if f := s.FieldRef; f != nil {
		p.fieldPath(at+".valueFrom.fieldRef.fieldPath", f.FieldPath)
	}
	if k := s.ConfigMapKeyRef; k != nil {
		p.name(at+".valueFrom.configMapKeyRef.name", k.Name, validation.IsDNS1123Subdomain)
		p.name(at+".valueFrom.configMapKeyRef.key", k.Key, validation.IsConfigMapKey)
	}
	if k := s.SecretKeyRef; k != nil {
		p.name(at+".valueFrom.secretKeyRef.name", k.Name, validation.IsDNS1123Subdomain)
		p.name(at+".valueFrom.secretKeyRef.key", k.Key, validation.IsConfigMapKey)
	}
}

// fieldPaths are the pod's fields that env may take.
var fieldPaths = []string{
	"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
	"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
}

func (p *podRules) fieldPath(at, field string) {
	for _, prefix := range []string{"metadata.labels['", "metadata.annotations['"} {
		if strings.HasPrefix(field, prefix) && strings.HasSuffix(field, "']") {
			return
		}
	}
	if slices.Contains(fieldPaths, field) {
		return
	}
	hint := "use " + join(fieldPaths) + ", or metadata.labels['KEY']"
	if near := api.Nearest(field, fieldPaths); near != "" {
		hint = api.DidYouMean(near)
	}
	p.add(api.CodeUnsupported, at, hint, "%q is not a field of a pod that env can take", field)
}

func (p *podRules) resources(at string, q corev1.ResourceRequirements) {
	for _, list := range []struct {
		name string
		m    corev1.ResourceList
	}{{".requests", q.Requests}, {".limits", q.Limits}} {
		for _, name := range slices.Sorted(maps.Keys(list.m)) {
			here := api.FieldPath(at+list.name, string(name))
			v := list.m[name]
			if v.Sign() < 0 {
				p.invalid(here, "must not be negative, but is %s", v.String())
			}
			p.resourceName(here, string(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(q.Requests)) {
		request := q.Requests[name]
		if limit, ok := q.Limits[name]; ok && request.Cmp(limit) > 0 {
			p.invalid(api.FieldPath(at+".requests", string(name)), "%s is more than the limit %s", request.String(), limit.String())
		}
	}
}

// resourceName checks what a container can ask for: the standard names have no
// prefix, all others have one.
func (p *podRules) resourceName(at, name string) {
	standard := []string{"cpu", "memory", "ephemeral-storage"}
	switch {
	case slices.Contains(standard, name), strings.HasPrefix(name, "hugepages-"):
	case strings.Contains(name, "/"):
		p.valid(at, name, validation.IsQualifiedName)
	default:
		hint := "use " + join(standard) + ", or a name with a prefix"
		if near := api.Nearest(name, standard); near != "" {
			hint = api.RenameTo(near)
		}
		p.add(api.CodeInvalid, at, hint, "%q is not a resource of containers", name)
	}
}

// probe checks a probe; ports are the names of the container's ports. once:
// one success is enough, for liveness and startup.
func (p *podRules) probe(at string, probe *corev1.Probe, ports []string, once bool) {
	if probe == nil {
		return
	}
	p.one(at, members(&probe.ProbeHandler))
	p.handler(at, probe.HTTPGet, probe.TCPSocket, probe.Exec, ports)
	if g := probe.GRPC; g != nil {
		p.port(at+".grpc.port", int64(g.Port))
	}
	for _, n := range []struct {
		name string
		v    int32
	}{
		{"initialDelaySeconds", probe.InitialDelaySeconds}, {"timeoutSeconds", probe.TimeoutSeconds}, {"periodSeconds", probe.PeriodSeconds},
		{"failureThreshold", probe.FailureThreshold}, {"successThreshold", probe.SuccessThreshold},
	} {
		p.atLeast(at+"."+n.name, int64(n.v), 0) // 0 means the default
	}
	if once && probe.SuccessThreshold > 1 {
		p.invalid(at+".successThreshold", "must be 1, but is %d", probe.SuccessThreshold)
	}
	if g := probe.TerminationGracePeriodSeconds; g != nil {
		p.atLeast(at+".terminationGracePeriodSeconds", *g, 1)
		if !once {
			p.add(api.CodeInvalid, at+".terminationGracePeriodSeconds", "remove it", "has no meaning for a readiness probe")
		}
	}
}

func (p *podRules) hook(at string, h *corev1.LifecycleHandler, ports []string) {
	if h == nil {
		return
	}
	p.one(at, members(h))
	p.handler(at, h.HTTPGet, h.TCPSocket, h.Exec, ports)
}

func (p *podRules) handler(at string, h *corev1.HTTPGetAction, t *corev1.TCPSocketAction, e *corev1.ExecAction, ports []string) {
	if h != nil {
		p.namedPort(at+".httpGet.port", h.Port, ports)
		for i, header := range h.HTTPHeaders {
			p.valid(api.IndexPath(at+".httpGet.httpHeaders", i)+".name", header.Name, validation.IsHTTPHeaderName)
		}
	}
	if t != nil {
		p.namedPort(at+".tcpSocket.port", t.Port, ports)
	}
	if e != nil && len(e.Command) == 0 {
		p.required(at+".exec.command", "")
	}
}

func (p *podRules) namedPort(at string, port intstr.IntOrString, names []string) {
	if port.Type == intstr.Int {
		p.port(at, int64(port.IntVal))
		return
	}
	if slices.Contains(names, port.StrVal) {
		return
	}
	hint := "name the port in the container's ports, or use its number"
	if near := api.Nearest(port.StrVal, names); near != "" {
		hint = api.DidYouMean(near)
	} else if len(names) > 0 {
		hint = "it has: " + strings.Join(names, ", ")
	}
	p.add(CodeReference, at, hint, "the container has no port named %q", port.StrVal)
}

func (p *podRules) mounts(at string, mounts []corev1.VolumeMount) {
	for i, m := range mounts {
		here := api.IndexPath(at, i)
		p.known(here+".name", m.Name)
		if m.MountPath == "" {
			p.required(here+".mountPath", "")
		}
		if m.SubPath != "" && !inside(m.SubPath) {
			p.invalid(here+".subPath", "%q must stay inside the volume", m.SubPath)
		}
		if m.SubPath != "" && m.SubPathExpr != "" {
			p.add(api.CodeInvalid, here+".subPathExpr", "keep one", "cannot be given with subPath")
		}
	}
}

// known checks that the pod has a volume.
func (p *podRules) known(at, volume string) {
	if volume == "" {
		p.required(at, "")
		return
	}
	if slices.Contains(p.volumes, volume) {
		return
	}
	hint := "add it to the pod's volumes"
	if near := api.Nearest(volume, slices.DeleteFunc(slices.Clone(p.volumes), func(n string) bool { return n == "" })); near != "" {
		hint = api.DidYouMean(near)
	}
	p.add(CodeReference, at, hint, "the pod has no volume named %q", volume)
}

// members tells which of a struct's pointers are set, by JSON name.
func members(union any) map[string]bool {
	v := reflect.ValueOf(union).Elem()
	out := map[string]bool{}
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Pointer {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			out[name] = !f.IsNil()
		}
	}
	return out
}

// set counts the members that are set.
func set(members map[string]bool) int {
	n := 0
	for _, there := range members {
		if there {
			n++
		}
	}
	return n
}
