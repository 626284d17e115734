package apiserver

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/auth"
	"github.com/writ-dev/writ/cluster/registry"
)

// facts lets authorization see which pods a node runs.
func (s *Server) facts() auth.Facts {
	c := s.o.Registry.As(registry.System)
	return auth.Facts{
		Roles: s.o.Registry.Roles,
		PodNode: func(namespace, name string) (string, bool) {
			o, err := c.Get(context.Background(), api.Pod.Key(namespace, name))
			if err != nil {
				return "", false
			}
			p, err := api.Decode[corev1.Pod](o)
			if err != nil {
				return "", true
			}
			return p.Spec.NodeName, true
		},
		NodeReads: func(node, resource, namespace, name string) bool {
			l, err := c.List(context.Background(), api.Pod, api.ListOptions{Namespace: namespace, FieldSelector: "spec.nodeName=" + node})
			if err != nil {
				return false
			}
			for _, o := range l.Items {
				p, err := api.Decode[corev1.Pod](o)
				if err != nil {
					continue
				}
				if resource == "serviceaccounts" && accountOf(p) == name || resource != "serviceaccounts" && refers(&p.Spec, resource == "secrets", name) {
					return true
				}
			}
			return false
		},
	}
}

// refers says whether a pod names a Secret, or else a ConfigMap.
func refers(p *corev1.PodSpec, secret bool, name string) bool {
	if secret {
		for _, s := range p.ImagePullSecrets {
			if s.Name == name {
				return true
			}
		}
	}
	for i := range p.Volumes {
		if volumeRefers(&p.Volumes[i], secret, name) {
			return true
		}
	}
	for _, list := range [][]corev1.Container{p.InitContainers, p.Containers} {
		for i := range list {
			if containerRefers(&list[i], secret, name) {
				return true
			}
		}
	}
	return false
}

func volumeRefers(v *corev1.Volume, secret bool, name string) bool {
	if secret && v.Secret != nil && v.Secret.SecretName == name || !secret && v.ConfigMap != nil && v.ConfigMap.Name == name {
		return true
	}
	if v.Projected == nil {
		return false
	}
	for _, s := range v.Projected.Sources {
		if secret && s.Secret != nil && s.Secret.Name == name || !secret && s.ConfigMap != nil && s.ConfigMap.Name == name {
			return true
		}
	}
	return false
}

func containerRefers(c *corev1.Container, secret bool, name string) bool {
	for _, e := range c.EnvFrom {
		if secret && e.SecretRef != nil && e.SecretRef.Name == name || !secret && e.ConfigMapRef != nil && e.ConfigMapRef.Name == name {
			return true
		}
	}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			continue
		}
		if r := e.ValueFrom.SecretKeyRef; secret && r != nil && r.Name == name {
			return true
		}
		if r := e.ValueFrom.ConfigMapKeyRef; !secret && r != nil && r.Name == name {
			return true
		}
	}
	return false
}
