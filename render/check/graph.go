package check

import (
	"encoding/json"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/access"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/render/check/policy"
)

// edges are the accesses that documents declare, resolved by the same code as
// in the cluster. index finds a document by its key.
func edges(documents []checked, pods pods, index map[object.Key]int) []policy.Edge {
	state := stateOf(documents)
	var out []policy.Edge
	for _, e := range access.Resolve(state, "").Edges {
		if e.Dependency.IsZero() {
			continue
		}
		d, err := api.Decode[api.Dependency](e.Dependency)
		if err != nil {
			continue
		}
		out = append(out, policy.Edge{Document: index[e.Dependency.Key()], Facts: map[string]any{
			"from":       from(state, e, d),
			"to":         to(state, pods, e, d),
			"dependency": e.Dependency.Name(),
			"start":      e.Start,
		}})
	}
	// The cluster sorts by identifiers that documents do not have.
	slices.SortStableFunc(out, func(a, b policy.Edge) int { return a.Document - b.Document })
	return out
}

func from(s access.State, e access.Edge, d *api.Dependency) map[string]any {
	c := d.Spec.Consumer
	out := map[string]any{"namespace": e.Spec.ConsumerNamespace, "kind": c.Kind, "name": c.Name, "labels": map[string]any{}}
	for _, k := range api.Kinds {
		if o, ok := s.Get(k.Key(e.Spec.ConsumerNamespace, c.Name)); ok && k.Kind == c.Kind {
			out["labels"] = textMap(o.Meta().Labels)
		}
	}
	return out
}

func to(s access.State, pods pods, e access.Edge, d *api.Dependency) map[string]any {
	out := map[string]any{
		"namespace": e.Spec.ServiceNamespace, "service": e.Spec.ServiceName,
		"labels": map[string]any{}, "workloads": []any{}, "ports": []any{},
	}
	o, ok := s.Get(api.Service.Key(e.Spec.ServiceNamespace, e.Spec.ServiceName))
	if !ok {
		out["ports"] = declaredPorts(d)
		return out
	}
	out["labels"] = textMap(o.Meta().Labels)
	var ports []any
	for _, p := range e.Spec.Ports {
		ports = append(ports, map[string]any{"name": p.Name, "port": number(p.Port), "protocol": p.Protocol})
	}
	out["ports"] = ports
	service, err := api.Decode[corev1.Service](o)
	if err != nil {
		return out
	}
	behind := []any{}
	for _, p := range pods.selected(o.Namespace(), service.Spec.Selector) {
		behind = append(behind, p.key.Kind+"/"+p.key.Name)
	}
	out["workloads"] = behind
	return out
}

// declaredPorts are the ports of a Service that is not among the documents.
func declaredPorts(d *api.Dependency) []any {
	out := []any{}
	if d.Spec.Target.Service == nil {
		return out
	}
	for _, p := range d.Spec.Target.Service.Ports {
		if n, err := strconv.ParseInt(string(p), 10, 32); err == nil {
			out = append(out, map[string]any{"port": number(int32(n))})
		} else {
			out = append(out, map[string]any{"name": string(p)})
		}
	}
	return out
}

func number(n int32) json.Number { return json.Number(strconv.Itoa(int(n))) }

func textMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
