package admission

import (
	"fmt"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// Default returns o as the API server would store it: with Kubernetes'
// defaults for k filled in, null fields removed (null means absent), and a
// Secret's stringData merged into its data. It is idempotent, and changes no
// value that the author wrote. Values of the wrong type are left alone: Strict
// reports them.
func Default(k api.Kind, o object.Object) (object.Object, error) {
	t := tree(o.Tree())
	dropNulls(map[string]any(t))
	if k.Custom {
		return o, nil // its schema has them
	}
	spec := t.sub("spec")
	switch k.Kind {
	case api.Pod.Kind:
		defaultPodSpec(t.make("spec"))
		defaultPod(t.make("spec"))
	case api.Deployment.Kind:
		defaultDeployment(t.make("spec"))
	case api.ReplicaSet.Kind:
		spec.init("replicas", 1)
		defaultTemplate(spec)
	case api.Job.Kind:
		defaultJob(t.make("spec"))
	case api.Service.Kind:
		defaultService(t.make("spec"))
	case api.Secret.Kind:
		defaultSecret(t)
	case api.EndpointSlice.Kind:
		for _, p := range t.list("ports") {
			p.init("name", "")
			p.fill("protocol", "TCP")
		}
	case api.Namespace.Kind:
		if name := o.Name(); name != "" {
			t.make("metadata").make("labels").init("kubernetes.io/metadata.name", name)
		}
	case api.RoleBinding.Kind, api.ClusterRoleBinding.Kind:
		defaultBinding(t)
	case api.DependencyKind.Kind:
		defaultDependency(t, o.Namespace())
	case api.SourceKind.Kind:
		s := t.make("spec")
		s.fill("path", ".")
		s.fill("interval", "1m")
		s.fill("drift", "correct")
		s.init("prune", true)
	}
	out, err := object.FromTree(t)
	if err != nil {
		return object.Object{}, fmt.Errorf("default %s: %w", o.Key(), err)
	}
	return out, nil
}

func defaultDeployment(spec tree) {
	spec.init("replicas", 1)
	spec.init("revisionHistoryLimit", 10)
	spec.init("progressDeadlineSeconds", 600)
	s := spec.make("strategy")
	s.fill("type", "RollingUpdate")
	if s["type"] == "RollingUpdate" {
		r := s.make("rollingUpdate")
		r.init("maxUnavailable", "25%")
		r.init("maxSurge", "25%")
	}
	defaultTemplate(spec)
}

func defaultJob(spec tree) {
	if !spec.has("completions") && !spec.has("parallelism") {
		spec.init("completions", 1)
	}
	spec.init("parallelism", 1)
	if !spec.has("backoffLimitPerIndex") {
		spec.init("backoffLimit", 6)
	}
	spec.init("completionMode", "NonIndexed")
	spec.init("suspend", false)
	if !spec.has("podFailurePolicy") {
		spec.init("podReplacementPolicy", "TerminatingOrFailed")
	}
	defaultTemplate(spec)
}

func defaultService(spec tree) {
	spec.fill("type", "ClusterIP")
	spec.fill("sessionAffinity", "None")
	if spec["type"] != "ExternalName" {
		spec.init("internalTrafficPolicy", "Cluster")
		spec.init("ipFamilies", []any{"IPv4"})
		spec.init("ipFamilyPolicy", "SingleStack")
	}
	if spec["type"] == "NodePort" || spec["type"] == "LoadBalancer" {
		spec.fill("externalTrafficPolicy", "Cluster")
	}
	if ip, ok := spec["clusterIP"].(string); ok && ip != "" {
		spec.init("clusterIPs", []any{ip})
	}
	for _, p := range spec.list("ports") {
		p.fill("protocol", "TCP")
		if p.has("port") {
			p.fill("targetPort", p["port"])
		}
	}
}

func defaultSecret(t tree) {
	t.fill("type", "Opaque")
	plain, ok := t["stringData"].(map[string]any)
	if !ok {
		return
	}
	for _, v := range plain {
		if _, ok := v.(string); !ok {
			return
		}
	}
	data := t.make("data")
	if data == nil {
		return
	}
	for key, v := range plain {
		data[key] = []byte(v.(string)) // json encodes it as base64
	}
	delete(t, "stringData")
}

func defaultDependency(t tree, namespace string) {
	spec := t.make("spec")
	spec.fill("start", "none")
	spec.fill("mode", "enforce")
	if s := spec.sub("target").sub("service"); s != nil && namespace != "" {
		s.fill("namespace", namespace)
	}
}

// dropNulls removes null members, everywhere.
func dropNulls(v any) {
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			if e == nil {
				delete(x, k)
			} else {
				dropNulls(e)
			}
		}
	case []any:
		for _, e := range x {
			dropNulls(e)
		}
	}
}
