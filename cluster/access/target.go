package access

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/writ-dev/writ/cluster/api"
)

// target fills in the Service's side of g: its address, the wanted ports (all
// when there are none) and the endpoints behind them; only, if set, limits the
// endpoints to one workload's pods. It returns the wanted ports that the
// Service lacks. A Service that does not exist has no ports.
func (r *resolver) target(g *api.GrantSpec, want []api.PortName, only *Workload) (missing []string) {
	o, ok := r.s.Get(api.Service.Key(g.ServiceNamespace, g.ServiceName))
	if !ok {
		return nil
	}
	service, err := api.Decode[corev1.Service](o)
	if err != nil {
		return nil
	}
	g.ClusterIP = service.Spec.ClusterIP
	for _, w := range want {
		if !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return isPort(p, w) }) {
			missing = append(missing, string(w))
		}
	}
	for _, p := range service.Spec.Ports {
		if len(want) > 0 && !slices.ContainsFunc(want, func(w api.PortName) bool { return isPort(p, w) }) {
			continue
		}
		port := api.GrantPort{Name: p.Name, Protocol: string(cmp.Or(p.Protocol, corev1.ProtocolTCP)), Port: p.Port}
		r.endpoints(&port, g.ServiceNamespace, g.ServiceName, only)
		g.Ports = append(g.Ports, port)
	}
	return missing
}

// isPort reports whether w names p, by name or by number.
func isPort(p corev1.ServicePort, w api.PortName) bool {
	return p.Name != "" && string(w) == p.Name || string(w) == strconv.Itoa(int(p.Port))
}

// endpoints fills in the live pods behind a port. An endpoint counts only when
// its slice names the pod and the pod holds the address.
func (r *resolver) endpoints(p *api.GrantPort, namespace, service string, only *Workload) {
	live := r.live(namespace)
	for _, slice := range r.endpointSlices(namespace)[service] {
		number, ok := slicePort(slice, p)
		if !ok {
			continue
		}
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			b, ok := live[podUID(e)]
			if !ok || !slices.Contains(e.Addresses, b.ip) || only != nil && b.workload != *only {
				continue
			}
			end := api.GrantEndpoint{IP: b.ip, Port: number, PodUID: podUID(e)}
			if ready := e.Conditions.Ready; ready == nil || *ready {
				p.Endpoints = append(p.Endpoints, end)
			} else {
				p.NotReady = append(p.NotReady, end)
			}
		}
	}
	p.Endpoints = sortEndpoints(p.Endpoints)
	p.NotReady = slices.DeleteFunc(sortEndpoints(p.NotReady), func(e api.GrantEndpoint) bool {
		return slices.Contains(p.Endpoints, e) // two slices may disagree for a moment
	})
	if len(p.NotReady) == 0 {
		p.NotReady = nil
	}
}

func sortEndpoints(list []api.GrantEndpoint) []api.GrantEndpoint {
	slices.SortFunc(list, func(a, b api.GrantEndpoint) int {
		return cmp.Or(compareIPs(a.IP, b.IP), cmp.Compare(a.Port, b.Port), strings.Compare(a.PodUID, b.PodUID))
	})
	return slices.Compact(list)
}

// slicePort finds the target port: slices are made per resolved target port,
// and their ports are named as the Service's.
func slicePort(slice *discoveryv1.EndpointSlice, p *api.GrantPort) (int32, bool) {
	for _, sp := range slice.Ports {
		name, protocol := "", corev1.ProtocolTCP
		if sp.Name != nil {
			name = *sp.Name
		}
		if sp.Protocol != nil {
			protocol = *sp.Protocol
		}
		if name == p.Name && string(protocol) == p.Protocol && sp.Port != nil {
			return *sp.Port, true
		}
	}
	return 0, false
}

// endpointSlices returns a namespace's IPv4 slices by Service name.
func (r *resolver) endpointSlices(namespace string) map[string][]*discoveryv1.EndpointSlice {
	if m, ok := r.slices[namespace]; ok {
		return m
	}
	m := map[string][]*discoveryv1.EndpointSlice{}
	for o := range r.s.List(api.EndpointSlice.Group, api.EndpointSlice.Kind, namespace) {
		service := o.Meta().Labels[discoveryv1.LabelServiceName]
		if service == "" {
			continue
		}
		if s, err := api.Decode[discoveryv1.EndpointSlice](o); err == nil && s.AddressType == discoveryv1.AddressTypeIPv4 {
			m[service] = append(m[service], s)
		}
	}
	r.slices[namespace] = m
	return m
}

// podUID returns the UID of the pod behind e, or "".
func podUID(e *discoveryv1.Endpoint) string {
	if e.TargetRef == nil || e.TargetRef.Kind != api.Pod.Kind {
		return ""
	}
	return string(e.TargetRef.UID)
}
