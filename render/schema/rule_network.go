package schema

import (
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
)

func (r *rules) service(s *corev1.ServiceSpec) {
	r.labels(".spec.selector", s.Selector)
	headless := s.ClusterIP == corev1.ClusterIPNone
	switch {
	case s.Type == corev1.ServiceTypeExternalName:
		r.name(".spec.externalName", strings.TrimSuffix(s.ExternalName, "."), validation.IsDNS1123Subdomain)
		if s.ClusterIP != "" && !headless {
			r.add(api.CodeImmutable, ".spec.clusterIP", "remove it", "has no meaning with type ExternalName")
		}
	case len(s.Ports) == 0 && !headless:
		r.add(api.CodeRequired, ".spec.ports", "name the port that clients use", "must have a port")
	}
	if headless && (s.Type == corev1.ServiceTypeNodePort || s.Type == corev1.ServiceTypeLoadBalancer) {
		r.add(api.CodeInvalid, ".spec.clusterIP", "remove it", "a Service of type %s cannot be headless", s.Type)
	}
	if s.ClusterIP != "" && !headless {
		r.address(".spec.clusterIP", s.ClusterIP)
	}
	for i, ip := range s.ExternalIPs {
		r.address(api.IndexPath(".spec.externalIPs", i), ip)
	}
	for i, c := range s.LoadBalancerSourceRanges {
		r.network(api.IndexPath(".spec.loadBalancerSourceRanges", i), strings.TrimSpace(c))
	}
	r.servicePorts(s)
}

func (r *rules) servicePorts(s *corev1.ServiceSpec) {
	names := map[string]bool{}
	for i, port := range s.Ports {
		at := api.IndexPath(".spec.ports", i)
		switch {
		case port.Name == "" && len(s.Ports) > 1:
			r.required(at+".name", "name every port of a Service that has several")
		case port.Name != "" && names[port.Name]:
			r.add(api.CodeDuplicate, at+".name", "give it another name", "%q is the name of another port too", port.Name)
		case port.Name != "":
			r.valid(at+".name", port.Name, validation.IsDNS1123Label)
		}
		names[port.Name] = true
		r.port(at+".port", int64(port.Port))
		switch t := port.TargetPort; {
		case t.Type == intstr.Int && t.IntVal != 0:
			r.port(at+".targetPort", int64(t.IntVal))
		case t.Type == intstr.String && t.StrVal != "":
			r.valid(at+".targetPort", t.StrVal, validation.IsValidPortName)
		}
		if port.NodePort == 0 {
			continue
		}
		if s.Type != corev1.ServiceTypeNodePort && s.Type != corev1.ServiceTypeLoadBalancer {
			r.add(api.CodeImmutable, at+".nodePort", "use type: NodePort, or remove it", "has no meaning with type %s", or(string(s.Type), "ClusterIP"))
		} else {
			r.port(at+".nodePort", int64(port.NodePort))
		}
	}
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (r *rules) address(at, s string) {
	if _, err := netip.ParseAddr(s); err != nil {
		r.invalid(at, "%q is not an IP address", s)
	}
}

func (r *rules) network(at, s string) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		r.add(api.CodeInvalid, at, "write an address and a length, such as 10.0.0.0/8", "%q is not a range of addresses", s)
	case p != p.Masked():
		r.warn(api.CodeInvalid, at, "write "+p.Masked().String(), "%q has bits beyond its length", s)
	}
	return p, err == nil
}

// The bounds on one EndpointSlice.
const (
	maxEndpoints     = 1000
	maxEndpointPorts = 100
)

func (r *rules) endpointSlice(s *discoveryv1.EndpointSlice) {
	if n := len(s.Endpoints); n > maxEndpoints {
		r.invalid(".endpoints", "has %d endpoints and may have %d", n, maxEndpoints)
	}
	if n := len(s.Ports); n > maxEndpointPorts {
		r.invalid(".ports", "has %d ports and may have %d", n, maxEndpointPorts)
	}
	for i, e := range s.Endpoints {
		at := api.IndexPath(".endpoints", i)
		if len(e.Addresses) == 0 {
			r.required(at+".addresses", "")
		}
		for j, a := range e.Addresses {
			ip, err := netip.ParseAddr(a)
			ok := err == nil && ip.Is4() == (s.AddressType == discoveryv1.AddressTypeIPv4)
			if s.AddressType == discoveryv1.AddressTypeFQDN {
				ok = len(validation.IsDNS1123Subdomain(a)) == 0
			}
			if !ok {
				r.invalid(api.IndexPath(at+".addresses", j), "%q is not an address of type %s", a, s.AddressType)
			}
		}
	}
}

func (r *rules) ingress(s *networkingv1.IngressSpec) {
	if len(s.Rules) == 0 && s.DefaultBackend == nil {
		r.add(api.CodeRequired, ".spec", "add rules or defaultBackend", "says where nothing goes")
	}
	if s.IngressClassName != nil {
		r.name(".spec.ingressClassName", *s.IngressClassName, validation.IsDNS1123Subdomain)
	}
	if s.DefaultBackend != nil {
		r.backend(".spec.defaultBackend", s.DefaultBackend)
	}
	for i, t := range s.TLS {
		for j, h := range t.Hosts {
			r.host(api.IndexPath(api.IndexPath(".spec.tls", i)+".hosts", j), h)
		}
	}
	for i, rule := range s.Rules {
		at := api.IndexPath(".spec.rules", i)
		if rule.Host != "" {
			r.host(at+".host", rule.Host)
		}
		if rule.HTTP == nil {
			continue
		}
		if len(rule.HTTP.Paths) == 0 {
			r.required(at+".http.paths", "")
		}
		for j := range rule.HTTP.Paths {
			r.ingressPath(api.IndexPath(at+".http.paths", j), &rule.HTTP.Paths[j])
		}
	}
}

func (r *rules) host(at, h string) {
	if _, err := netip.ParseAddr(h); err == nil {
		r.add(api.CodeInvalid, at, "use a DNS name", "must not be an IP address")
		return
	}
	if strings.Contains(h, "*") {
		r.valid(at, h, validation.IsWildcardDNS1123Subdomain)
		return
	}
	r.valid(at, h, validation.IsDNS1123Subdomain)
}

func (r *rules) ingressPath(at string, p *networkingv1.HTTPIngressPath) {
	r.backend(at+".backend", &p.Backend)
	if p.PathType == nil || *p.PathType == networkingv1.PathTypeImplementationSpecific {
		return
	}
	switch {
	case !strings.HasPrefix(p.Path, "/"):
		r.add(api.CodeInvalid, at+".path", "write /"+p.Path, "must begin with /")
	case strings.Contains(p.Path, "//") || strings.Contains(p.Path, "/./") || strings.Contains(p.Path, "/../") || strings.HasSuffix(p.Path, "/.."):
		r.invalid(at+".path", "%q is not a plain path", p.Path)
	}
}

func (r *rules) backend(at string, b *networkingv1.IngressBackend) {
	r.one(at, map[string]bool{"service": b.Service != nil, "resource": b.Resource != nil})
	s := b.Service
	if s == nil {
		return
	}
	r.name(at+".service.name", s.Name, validation.IsDNS1035Label)
	switch {
	case s.Port.Name != "" && s.Port.Number != 0:
		r.add(api.CodeInvalid, at+".service.port", "keep one", "has both name and number")
	case s.Port.Name != "":
		r.valid(at+".service.port.name", s.Port.Name, validation.IsValidPortName)
	case s.Port.Number == 0:
		r.add(api.CodeRequired, at+".service.port", "add name or number", "is required")
	default:
		r.port(at+".service.port.number", int64(s.Port.Number))
	}
}

func (r *rules) networkPolicy(s *networkingv1.NetworkPolicySpec) {
	r.labelSelector(".spec.podSelector", &s.PodSelector)
	for i := range s.Ingress {
		at := api.IndexPath(".spec.ingress", i)
		r.policyPorts(at+".ports", s.Ingress[i].Ports)
		for j := range s.Ingress[i].From {
			r.peer(api.IndexPath(at+".from", j), &s.Ingress[i].From[j])
		}
	}
	for i := range s.Egress {
		at := api.IndexPath(".spec.egress", i)
		r.policyPorts(at+".ports", s.Egress[i].Ports)
		for j := range s.Egress[i].To {
			r.peer(api.IndexPath(at+".to", j), &s.Egress[i].To[j])
		}
	}
}

func (r *rules) policyPorts(at string, ports []networkingv1.NetworkPolicyPort) {
	for i, p := range ports {
		here := api.IndexPath(at, i)
		switch {
		case p.Port == nil && p.EndPort != nil:
			r.add(api.CodeInvalid, here+".endPort", "add port", "has no meaning without a port")
		case p.Port == nil:
		case p.Port.Type == intstr.String:
			r.valid(here+".port", p.Port.StrVal, validation.IsValidPortName)
			if p.EndPort != nil {
				r.add(api.CodeInvalid, here+".endPort", "write port as a number", "has no meaning with a port's name")
			}
		default:
			r.port(here+".port", int64(p.Port.IntVal))
			if p.EndPort != nil && *p.EndPort < p.Port.IntVal {
				r.invalid(here+".endPort", "must be at least the port %d, but is %d", p.Port.IntVal, *p.EndPort)
			}
		}
	}
}

func (r *rules) peer(at string, p *networkingv1.NetworkPolicyPeer) {
	switch {
	case p.IPBlock == nil && p.PodSelector == nil && p.NamespaceSelector == nil:
		r.add(api.CodeRequired, at, "add ipBlock, podSelector or namespaceSelector", "names nobody")
	case p.IPBlock != nil && (p.PodSelector != nil || p.NamespaceSelector != nil):
		r.add(api.CodeImmutable, at, "keep ipBlock alone", "cannot have ipBlock and selectors")
	}
	r.labelSelectorIf(at+".podSelector", p.PodSelector)
	r.labelSelectorIf(at+".namespaceSelector", p.NamespaceSelector)
	if p.IPBlock == nil {
		return
	}
	all, ok := r.network(at+".ipBlock.cidr", p.IPBlock.CIDR)
	for i, e := range p.IPBlock.Except {
		path := api.IndexPath(at+".ipBlock.except", i)
		if part, valid := r.network(path, e); ok && valid && (!all.Contains(part.Addr()) || part.Bits() <= all.Bits()) {
			r.invalid(path, "%q is not a part of %q", e, p.IPBlock.CIDR)
		}
	}
}
