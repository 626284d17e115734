package endpoint

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/object"
)

// maxEndpoints is how many endpoints one slice holds, as in Kubernetes.
const maxEndpoints = 100

// build returns the slices of a Service. Pods whose named ports resolve to
// different numbers are in different slices, since a slice has one list of
// ports. A Service without any endpoint has one empty slice, so that "there is
// none" can be told from "not worked out yet".
func build(o object.Object, svc *corev1.Service, pods []*corev1.Pod) []*discoveryv1.EndpointSlice {
	groups := map[string][]*corev1.Pod{}
	ports := map[string][]discoveryv1.EndpointPort{}
	for _, p := range pods {
		list := resolve(svc, p)
		if len(list) == 0 && len(svc.Spec.Ports) > 0 {
			continue // The pod has none of the ports.
		}
		key := portsKey(list)
		ports[key] = list
		groups[key] = append(groups[key], p)
	}
	if len(groups) == 0 {
		// With numbers for target ports this is the slice that pods will join.
		list := resolve(svc, &corev1.Pod{})
		ports[portsKey(list)], groups[portsKey(list)] = list, nil
	}
	var out []*discoveryv1.EndpointSlice
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		members := groups[key]
		slices.SortFunc(members, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
		for part := 0; part == 0 || part*maxEndpoints < len(members); part++ {
			s := newSlice(o, svc, key, part)
			s.Ports = ports[key]
			for _, p := range members[part*maxEndpoints : min(len(members), (part+1)*maxEndpoints)] {
				s.Endpoints = append(s.Endpoints, newEndpoint(svc, p))
			}
			out = append(out, s)
		}
	}
	return out
}

func newSlice(o object.Object, svc *corev1.Service, key string, part int) *discoveryv1.EndpointSlice {
	// A Service's own labels go to its slices, but not what would make them
	// another's.
	l := maps.Clone(svc.Labels)
	if l == nil {
		l = map[string]string{}
	}
	l[discoveryv1.LabelServiceName], l[discoveryv1.LabelManagedBy] = svc.Name, manager
	if svc.Spec.ClusterIP == corev1.ClusterIPNone {
		l[corev1.IsHeadlessService] = ""
	} else {
		delete(l, corev1.IsHeadlessService)
	}
	h := fnv.New32a()
	fmt.Fprintf(h, "%s\x00%s\x00%d", svc.UID, key, part)
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%08x", svc.Name, h.Sum32()), Namespace: svc.Namespace, Labels: l,
			OwnerReferences: []metav1.OwnerReference{controller.ControllerReference(api.Service, o)},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
}

func newEndpoint(svc *corev1.Service, p *corev1.Pod) discoveryv1.Endpoint {
	terminating := p.DeletionTimestamp != nil
	serving := isReady(p) || svc.Spec.PublishNotReadyAddresses
	ready := serving && !terminating || svc.Spec.PublishNotReadyAddresses
	e := discoveryv1.Endpoint{
		Addresses:  []string{p.Status.PodIP},
		Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating},
		TargetRef:  &corev1.ObjectReference{Kind: api.Pod.Kind, Namespace: p.Namespace, Name: p.Name, UID: p.UID},
	}
	if p.Spec.NodeName != "" {
		node := p.Spec.NodeName
		e.NodeName = &node
	}
	return e
}

// resolve returns the Service's ports as the pod has them; a named target port
// that the pod does not have is left out.
func resolve(svc *corev1.Service, p *corev1.Pod) []discoveryv1.EndpointPort {
	var out []discoveryv1.EndpointPort
	for i := range svc.Spec.Ports {
		sp := &svc.Spec.Ports[i]
		n, ok := targetPort(sp, p)
		if !ok {
			continue
		}
		name, protocol := sp.Name, sp.Protocol
		if protocol == "" {
			protocol = corev1.ProtocolTCP
		}
		out = append(out, discoveryv1.EndpointPort{Name: &name, Protocol: &protocol, Port: &n, AppProtocol: sp.AppProtocol})
	}
	return out
}

func targetPort(sp *corev1.ServicePort, p *corev1.Pod) (int32, bool) {
	if sp.TargetPort.Type == intstr.Int {
		if sp.TargetPort.IntVal == 0 {
			return sp.Port, true
		}
		return sp.TargetPort.IntVal, true
	}
	for _, c := range p.Spec.Containers {
		for _, cp := range c.Ports {
			protocol := cp.Protocol
			if protocol == "" {
				protocol = corev1.ProtocolTCP
			}
			if cp.Name == sp.TargetPort.StrVal && (protocol == sp.Protocol || sp.Protocol == "") {
				return cp.ContainerPort, true
			}
		}
	}
	return 0, false
}

func portsKey(ports []discoveryv1.EndpointPort) string {
	var b strings.Builder
	for _, p := range ports {
		fmt.Fprintf(&b, "%s/%s/%d;", *p.Name, *p.Protocol, *p.Port)
	}
	return b.String()
}
