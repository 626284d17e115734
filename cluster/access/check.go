package access

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// Check applies the dependency rules that need to see other objects (DEP001,
// DEP002, DEP004, DEP005) to the Dependency d. s is the state as it will be: for a
// transaction or a bundle, with all of its objects in it. Call it when a
// Dependency is created or its spec changes, not on other updates: a consumer
// may go before its Dependency does. A target that does not exist yet is fine.
func Check(s State, d object.Object) []api.Problem {
	dep, err := api.Decode[api.Dependency](d)
	if err != nil {
		return []api.Problem{{Code: api.CodeInvalid, Message: err.Error()}}
	}
	var out []api.Problem
	if p, ok := checkConsumer(s, d.Namespace(), dep.Spec.Consumer); !ok {
		out = append(out, p)
	}
	t := dep.Spec.Target.Service
	if t == nil {
		return out
	}
	namespace := t.Namespace
	if namespace == "" {
		namespace = d.Namespace()
	}
	o, ok := s.Get(api.Service.Key(namespace, t.Name))
	if !ok {
		return out
	}
	service, err := api.Decode[corev1.Service](o)
	if err != nil {
		return out
	}
	out = append(out, checkPorts(service, namespace, t)...)
	return append(out, checkStart(s, d.Namespace(), dep)...)
}

func checkConsumer(s State, namespace string, c api.WorkloadReference) (api.Problem, bool) {
	k, ok := workloadKind(c.Kind)
	if !ok || c.Name == "" {
		return api.Problem{}, true // admission.Validate says so
	}
	if _, ok := s.Get(k.Key(namespace, c.Name)); ok {
		return api.Problem{}, true
	}
	p := api.Problem{
		Code: api.CodeConsumer, Path: ".spec.consumer.name",
		Message: fmt.Sprintf("the consumer %s %s/%s does not exist", c.Kind, namespace, c.Name),
		Hint:    fmt.Sprintf("create the %s first, or in the same transaction", c.Kind),
	}
	var names []string
	for o := range s.List(k.Group, k.Kind, namespace) {
		names = append(names, o.Name())
	}
	if near := api.Nearest(c.Name, names); near != "" {
		p.Hint = api.DidYouMean(near)
	}
	return p, false
}

func checkPorts(service *corev1.Service, namespace string, t *api.ServiceTarget) []api.Problem {
	var have, names []string
	for _, p := range service.Spec.Ports {
		text := strconv.Itoa(int(p.Port))
		if p.Name != "" {
			names = append(names, p.Name)
			text += fmt.Sprintf(" (%s)", p.Name)
		}
		have = append(have, text)
	}
	var out []api.Problem
	for i, w := range t.Ports {
		if slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return isPort(p, w) }) {
			continue
		}
		hint := "it has " + strings.Join(have, ", ")
		if near := api.Nearest(string(w), names); near != "" {
			hint = api.DidYouMean(near)
		}
		out = append(out, api.Problem{
			Code: api.CodePort, Path: api.IndexPath(".spec.target.service.ports", i),
			Message: fmt.Sprintf("Service %s/%s has no port %s", namespace, t.Name, w), Hint: hint,
		})
	}
	return out
}
