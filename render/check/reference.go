package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/render"
)

// references warns of names that lead to a document of the bundle but to
// nothing in it: a port that a Service does not have, a key that a ConfigMap
// does not have, a port that no pod behind a Service has. A document that is
// not in the bundle may be in the cluster; nothing is said of it.
func (c *checker) references(documents []render.Document) {
	r := &referrer{services: map[object.Key]*corev1.Service{}, keys: map[object.Key][]string{}, pods: c.pods}
	for _, d := range documents {
		r.target(d.Object)
	}
	for _, d := range documents {
		r.found = nil
		r.document(d.Object)
		c.problems(d, Warning, r.found)
	}
}

// referrer knows what can be referred to.
type referrer struct {
	services map[object.Key]*corev1.Service
	// keys are those of ConfigMaps and Secrets.
	keys  map[object.Key][]string
	pods  pods
	found []api.Problem
}

func (r *referrer) warn(path, hint, format string, args ...any) {
	r.found = append(r.found, api.Problem{Code: CodeReference, Path: path, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (r *referrer) target(o object.Object) {
	k := o.Key()
	switch {
	case k.Group == "" && k.Kind == "Service":
		if s := typed[corev1.Service](o); s != nil {
			r.services[k] = s
		}
	case k.Group == "" && (k.Kind == "ConfigMap" || k.Kind == "Secret"):
		tree := o.Tree()
		for _, field := range []string{"data", "binaryData", "stringData"} {
			if m, ok := tree[field].(map[string]any); ok {
				r.keys[k] = append(r.keys[k], slices.Sorted(maps.Keys(m))...)
			}
		}
		if r.keys[k] == nil {
			r.keys[k] = []string{}
		}
	}
}

// typed is the Go form of a document, or nil when it does not fit.
func typed[T any](o object.Object) *T {
	v := new(T)
	if json.Unmarshal(o.JSON(), v) != nil {
		return nil
	}
	return v
}

func (r *referrer) document(o object.Object) {
	switch k := o.Key(); {
	case k.Group == "networking.k8s.io" && k.Kind == "Ingress":
		if i := typed[networkingv1.Ingress](o); i != nil {
			r.ingress(k.Namespace, &i.Spec)
		}
	case k.Group == "" && k.Kind == "Service":
		if s := r.services[k]; s != nil {
			r.service(k.Namespace, &s.Spec)
		}
	}
	if p, ok := r.pods.byKey[o.Key()]; ok {
		r.containers(o.Namespace(), p.path+".spec.initContainers", p.spec.InitContainers)
		r.containers(o.Namespace(), p.path+".spec.containers", p.spec.Containers)
	}
}

func (r *referrer) ingress(namespace string, s *networkingv1.IngressSpec) {
	if s.DefaultBackend != nil {
		r.backend(namespace, ".spec.defaultBackend", s.DefaultBackend)
	}
	for i, rule := range s.Rules {
		if rule.HTTP == nil {
			continue
		}
		for j := range rule.HTTP.Paths {
			at := api.IndexPath(api.IndexPath(".spec.rules", i)+".http.paths", j)
			r.backend(namespace, at+".backend", &rule.HTTP.Paths[j].Backend)
		}
	}
}

func (r *referrer) backend(namespace, at string, b *networkingv1.IngressBackend) {
	if b.Service == nil {
		return
	}
	s, ok := find(r.services, object.Key{Kind: "Service", Namespace: namespace, Name: b.Service.Name})
	if !ok {
		return
	}
	var have []string
	for _, p := range s.Spec.Ports {
		if b.Service.Port.Name != "" && p.Name == b.Service.Port.Name || b.Service.Port.Name == "" && p.Port == b.Service.Port.Number {
			return
		}
		text := fmt.Sprint(p.Port)
		if p.Name != "" {
			text += " (" + p.Name + ")"
		}
		have = append(have, text)
	}
	port := b.Service.Port.Name
	if port == "" {
		port = fmt.Sprint(b.Service.Port.Number)
	}
	r.warn(at+".service.port", "it has "+strings.Join(have, ", "), "Service %s has no port %s", b.Service.Name, port)
}

// service warns of a target port that is a name which no pod behind the
// Service has.
func (r *referrer) service(namespace string, s *corev1.ServiceSpec) {
	for i, p := range s.Ports {
		if p.TargetPort.Type != intstr.String || p.TargetPort.StrVal == "" {
			continue
		}
		var names, workloads []string
		for _, set := range r.pods.selected(namespace, s.Selector) {
			workloads = append(workloads, set.key.String())
			for _, c := range slices.Concat(set.spec.InitContainers, set.spec.Containers) {
				for _, q := range c.Ports {
					names = append(names, q.Name)
				}
			}
		}
		if len(workloads) == 0 || slices.Contains(names, p.TargetPort.StrVal) {
			continue
		}
		hint := "name a port of the containers, or write its number"
		if near := api.Nearest(p.TargetPort.StrVal, slices.DeleteFunc(names, func(n string) bool { return n == "" })); near != "" {
			hint = api.DidYouMean(near)
		}
		r.warn(api.IndexPath(".spec.ports", i)+".targetPort", hint, "no container of %s has a port named %q", strings.Join(workloads, ", "), p.TargetPort.StrVal)
	}
}

func (r *referrer) containers(namespace, at string, list []corev1.Container) {
	for i, c := range list {
		for j, e := range c.Env {
			if e.ValueFrom == nil {
				continue
			}
			here := api.IndexPath(api.IndexPath(at, i)+".env", j) + ".valueFrom"
			if k := e.ValueFrom.ConfigMapKeyRef; k != nil && !isTrue(k.Optional) {
				r.key(here+".configMapKeyRef.key", "ConfigMap", namespace, k.Name, k.Key)
			}
			if k := e.ValueFrom.SecretKeyRef; k != nil && !isTrue(k.Optional) {
				r.key(here+".secretKeyRef.key", "Secret", namespace, k.Name, k.Key)
			}
		}
	}
}

func (r *referrer) key(at, kind, namespace, name, key string) {
	keys, ok := find(r.keys, object.Key{Kind: kind, Namespace: namespace, Name: name})
	if !ok || slices.Contains(keys, key) {
		return
	}
	hint := "add it there, or mark the reference optional: true"
	if near := api.Nearest(key, keys); near != "" {
		hint = api.DidYouMean(near)
	}
	r.warn(at, hint, "%s %s has no key %q: the container could not start", kind, name, key)
}

// find looks an object up. One that names no namespace will get its own later;
// it finds the only object with the name.
func find[T any](m map[object.Key]T, k object.Key) (found T, ok bool) {
	if k.Namespace != "" {
		found, ok = m[k]
		return found, ok
	}
	for x, v := range m {
		if x.Kind == k.Kind && x.Name == k.Name {
			if ok {
				return found, false
			}
			found, ok = v, true
		}
	}
	return found, ok
}

func isTrue(b *bool) bool { return b != nil && *b }
