package pod

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// environment is a container's variables, in the order of definition.
type environment struct {
	names  []string
	values map[string]string
}

func (e *environment) set(name, value string) {
	if _, ok := e.values[name]; !ok {
		e.names = append(e.names, name)
	}
	e.values[name] = value
}

// list returns NAME=value.
func (e *environment) list() []string {
	out := make([]string, len(e.names))
	for i, n := range e.names {
		out[i] = n + "=" + e.values[n]
	}
	return out
}

func (e *environment) expandAll(list []string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = expand(out[i], e.values)
	}
	return out
}

// environment resolves a container's env and envFrom.
func (w *Worker) environment(ctx context.Context, spec *corev1.Container) (*environment, error) {
	e := &environment{values: map[string]string{}}
	for _, from := range spec.EnvFrom {
		values, err := w.envFrom(ctx, from)
		if err != nil {
			return nil, err
		}
		for _, name := range sortedKeys(values) {
			e.set(from.Prefix+name, values[name])
		}
	}
	for _, v := range spec.Env {
		value := expand(v.Value, e.values)
		if v.ValueFrom != nil {
			var ok bool
			var err error
			if value, ok, err = w.valueFrom(ctx, v.ValueFrom); err != nil {
				return nil, fmt.Errorf("variable %s: %w", v.Name, err)
			}
			if !ok {
				continue
			}
		}
		e.set(v.Name, value)
	}
	return e, nil
}

func (w *Worker) envFrom(ctx context.Context, from corev1.EnvFromSource) (map[string]string, error) {
	switch {
	case from.ConfigMapRef != nil:
		return w.configData(ctx, from.ConfigMapRef.Name, optional(from.ConfigMapRef.Optional))
	case from.SecretRef != nil:
		return w.secretData(ctx, from.SecretRef.Name, optional(from.SecretRef.Optional))
	}
	return nil, errors.New("envFrom has no source")
}

// valueFrom returns false for an optional value that is absent.
func (w *Worker) valueFrom(ctx context.Context, from *corev1.EnvVarSource) (string, bool, error) {
	var data map[string]string
	var key, what string
	var opt bool
	var err error
	switch {
	case from.FieldRef != nil:
		v, err := w.field(from.FieldRef.FieldPath)
		return v, err == nil, err
	case from.ConfigMapKeyRef != nil:
		r := from.ConfigMapKeyRef
		key, what, opt = r.Key, "configmap "+r.Name, optional(r.Optional)
		data, err = w.configData(ctx, r.Name, opt)
	case from.SecretKeyRef != nil:
		r := from.SecretKeyRef
		key, what, opt = r.Key, "secret "+r.Name, optional(r.Optional)
		data, err = w.secretData(ctx, r.Name, opt)
	default:
		return "", false, errors.New("this source is not supported")
	}
	if err != nil {
		return "", false, err
	}
	v, ok := data[key]
	if !ok && !opt {
		return "", false, fmt.Errorf("%s has no key %q", what, key)
	}
	return v, ok, nil
}

func optional(b *bool) bool { return b != nil && *b }

// field reads a field of the pod by its path in the downward API.
func (w *Worker) field(path string) (string, error) {
	p := w.pod
	if name, ok := strings.CutSuffix(path, "']"); ok {
		if key, ok := strings.CutPrefix(name, "metadata.labels['"); ok {
			return p.Labels[key], nil
		}
		if key, ok := strings.CutPrefix(name, "metadata.annotations['"); ok {
			return p.Annotations[key], nil
		}
	}
	switch path {
	case "metadata.name":
		return p.Name, nil
	case "metadata.namespace":
		return p.Namespace, nil
	case "metadata.uid":
		return string(p.UID), nil
	case "spec.nodeName":
		return p.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return p.Spec.ServiceAccountName, nil
	case "status.podIP", "status.podIPs":
		return p.Status.PodIP, nil
	case "status.hostIP", "status.hostIPs":
		return w.o.HostIP, nil
	}
	return "", fmt.Errorf("field %q is not supported", path)
}

// expand replaces $(NAME) by the variable's value. What is not defined stays
// as it is, and $$ is a dollar sign, as in Kubernetes.
func expand(s string, values map[string]string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		switch {
		case strings.HasPrefix(after, "$"):
			out.WriteByte('$')
			s = after[1:]
		case strings.HasPrefix(after, "("):
			name, rest, closed := strings.Cut(after[1:], ")")
			value, defined := values[name]
			switch {
			case !closed:
				out.WriteString("$(")
				s = after[1:]
			case defined:
				out.WriteString(value)
				s = rest
			default:
				out.WriteString("$(" + name + ")")
				s = rest
			}
		default:
			out.WriteByte('$')
			s = after
		}
	}
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
