package admission

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// recreate is the way out of every refused change.
const recreate = "delete the object and create it again, or use another name"

// immutable reports changes that no update may make.
func (p *problems) immutable(k api.Kind, new, old object.Object) {
	if new.Name() != old.Name() {
		p.fixed(".metadata.name", new.Name(), old.Name())
	}
	if new.Namespace() != old.Namespace() {
		p.fixed(".metadata.namespace", new.Namespace(), old.Namespace())
	}
	if uid := new.Meta().UID; uid != "" && uid != old.Meta().UID {
		p.fixed(".metadata.uid", uid, old.Meta().UID)
	}
	switch k.Kind {
	case api.Pod.Kind:
		both(p, new, old, p.podChange)
	case api.Deployment.Kind:
		both(p, new, old, func(n, o *appsv1.Deployment) { p.fixed(".spec.selector", n.Spec.Selector, o.Spec.Selector) })
	case api.ReplicaSet.Kind:
		both(p, new, old, func(n, o *appsv1.ReplicaSet) { p.fixed(".spec.selector", n.Spec.Selector, o.Spec.Selector) })
	case api.Job.Kind:
		both(p, new, old, func(n, o *batchv1.Job) {
			p.fixed(".spec.selector", n.Spec.Selector, o.Spec.Selector)
			p.fixed(".spec.template", n.Spec.Template, o.Spec.Template)
			p.fixed(".spec.completions", n.Spec.Completions, o.Spec.Completions)
			p.fixed(".spec.completionMode", n.Spec.CompletionMode, o.Spec.CompletionMode)
		})
	case api.RevisionKind.Kind:
		both(p, new, old, func(n, o *api.ReleaseRevision) { p.fixed(".spec", n.Spec, o.Spec) })
	case api.Service.Kind:
		both(p, new, old, func(n, o *corev1.Service) {
			if n.Spec.ClusterIP != "" && o.Spec.ClusterIP != "" {
				p.fixed(".spec.clusterIP", n.Spec.ClusterIP, o.Spec.ClusterIP)
			}
		})
	case api.ConfigMap.Kind:
		both(p, new, old, func(n, o *corev1.ConfigMap) {
			if o.Immutable != nil && *o.Immutable {
				p.fixed(".immutable", n.Immutable, o.Immutable)
				p.fixed(".data", n.Data, o.Data)
				p.fixed(".binaryData", n.BinaryData, o.BinaryData)
			}
		})
	case api.Secret.Kind:
		both(p, new, old, func(n, o *corev1.Secret) {
			p.fixed(".type", n.Type, o.Type)
			if o.Immutable != nil && *o.Immutable {
				p.fixed(".immutable", n.Immutable, o.Immutable)
				p.fixed(".data", n.Data, o.Data)
			}
		})
	case api.EndpointSlice.Kind:
		both(p, new, old, func(n, o *discoveryv1.EndpointSlice) { p.fixed(".addressType", n.AddressType, o.AddressType) })
	case api.RoleBinding.Kind:
		both(p, new, old, func(n, o *rbacv1.RoleBinding) { p.fixed(".roleRef", n.RoleRef, o.RoleRef) })
	case api.ClusterRoleBinding.Kind:
		both(p, new, old, func(n, o *rbacv1.ClusterRoleBinding) { p.fixed(".roleRef", n.RoleRef, o.RoleRef) })
	case api.Node.Kind:
		both(p, new, old, func(n, o *corev1.Node) {
			if o.Spec.PodCIDR != "" {
				p.fixed(".spec.podCIDR", n.Spec.PodCIDR, o.Spec.PodCIDR)
			}
		})
	}
}

func both[T any](p *problems, new, old object.Object, check func(n, o *T)) {
	decode(p, new, func(n *T) { decode(p, old, func(o *T) { check(n, o) }) })
}

// podChange allows nothing of a pod's spec to change but its binding to a node.
func (p *problems) podChange(n, o *corev1.Pod) {
	now, was := n.Spec, o.Spec
	if was.NodeName == "" {
		was.NodeName = now.NodeName
	}
	p.fixed(".spec", now, was)
}

// fixed reports where now differs from was, by Kubernetes' sense of equality:
// quantities by value, empty and absent alike.
func (p *problems) fixed(at string, now, was any) {
	if equality.Semantic.DeepEqual(now, was) {
		return
	}
	for _, path := range differences(at, jsonTree(now), jsonTree(was)) {
		p.add(api.CodeImmutable, path, recreate, "cannot be changed")
	}
}

func jsonTree(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	t, err := object.Unmarshal(b)
	if err != nil {
		return nil
	}
	return t
}

// differences returns the paths where a and b differ, as deep as they go.
func differences(at string, a, b any) []string {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return []string{at}
		}
		keys := maps.Clone(x)
		maps.Copy(keys, y)
		var out []string
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			_, inX := x[key]
			_, inY := y[key]
			if inX && inY {
				out = append(out, differences(api.FieldPath(at, key), x[key], y[key])...)
			} else {
				out = append(out, api.FieldPath(at, key))
			}
		}
		return out
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return []string{at}
		}
		var out []string
		for i := range x {
			out = append(out, differences(api.IndexPath(at, i), x[i], y[i])...)
		}
		return out
	}
	if !reflect.DeepEqual(a, b) {
		return []string{at}
	}
	return nil
}
