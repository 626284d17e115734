package apply

import (
	"github.com/writ-dev/writ/apply/secret"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/diff"
	"github.com/writ-dev/writ/cluster/object"
)

// desired is the object to send: the document, merged into the live object
// when there is one.
func desired(k api.Kind, prev map[string]any, doc, live object.Object) (object.Object, error) {
	next := own(k, doc.Tree())
	if secret.Is(doc.Key()) {
		next = secret.Fold(next)
	}
	if live.IsZero() {
		return object.FromTree(next)
	}
	if prev != nil {
		prev = own(k, prev)
	}
	merged := diff.Merge(k, prev, next, own(k, live.Tree()))
	if k.GVK() == api.Service.GVK() {
		dropNodePorts(merged, next)
	}
	return object.FromTree(merged)
}

// dropNodePorts removes the node ports that the server gave a Service which
// is no longer of a type to have any. They would be the only part of the old
// type left, and be refused. Node ports that the document writes are its own
// mistake, for the server to refuse.
func dropNodePorts(service, doc map[string]any) {
	spec, _ := service["spec"].(map[string]any)
	if written, _ := doc["spec"].(map[string]any); written != nil {
		ports, _ := written["ports"].([]any)
		for _, p := range ports {
			if m, ok := p.(map[string]any); ok && m["nodePort"] != nil {
				return
			}
		}
	}
	if spec == nil || spec["type"] == "NodePort" || spec["type"] == "LoadBalancer" {
		return
	}
	ports, _ := spec["ports"].([]any)
	bare := make([]any, len(ports))
	for i, p := range ports {
		bare[i] = p
		if m, ok := p.(map[string]any); ok && m["nodePort"] != nil {
			m = with(m, "nodePort", nil)
			delete(m, "nodePort")
			bare[i] = m
		}
	}
	if ports != nil {
		service["spec"] = with(spec, "ports", bare)
	}
}

// serverOwned are the metadata fields that the server writes.
var serverOwned = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "managedFields", "selfLink",
}

// own returns a copy of a tree without what the server alone writes.
func own(k api.Kind, tree map[string]any) map[string]any {
	out := with(tree, "kind", k.Kind)
	if k.Status {
		delete(out, "status")
	}
	if meta, ok := out["metadata"].(map[string]any); ok {
		meta = with(meta, "name", meta["name"])
		for _, name := range serverOwned {
			delete(meta, name)
		}
		out["metadata"] = meta
	}
	return out
}
