package admission

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
)

// The range of node ports, as in Kubernetes.
const (
	firstNodePort = 30000
	lastNodePort  = 32767
)

func (p *problems) service(s *corev1.Service) {
	headless := s.Spec.ClusterIP == corev1.ClusterIPNone
	if len(s.Spec.Ports) == 0 && !headless {
		p.required(".spec.ports", "name the port that clients use")
	}
	p.labels(".spec.selector", s.Spec.Selector)
	p.clusterIP(&s.Spec)
	if headless && s.Spec.Type == corev1.ServiceTypeNodePort {
		p.add(api.CodeInvalid, ".spec.clusterIP", "remove it", "a Service of type NodePort cannot be headless")
	}
	p.servicePorts(s)
}

func (p *problems) clusterIP(s *corev1.ServiceSpec) {
	ips := s.ClusterIPs
	for i, ip := range ips {
		p.ipv4(api.IndexPath(".spec.clusterIPs", i), ip, corev1.ClusterIPNone)
	}
	if s.ClusterIP != "" {
		p.ipv4(".spec.clusterIP", s.ClusterIP, corev1.ClusterIPNone)
	}
	if len(ips) > 1 {
		p.add(api.CodeUnsupported, ".spec.clusterIPs", "keep one", "not supported by Writ yet: more than one address")
	}
	if len(ips) > 0 && ips[0] != s.ClusterIP {
		p.invalid(".spec.clusterIPs", "must begin with clusterIP %q", s.ClusterIP)
	}
}

func (p *problems) ipv4(at, text string, or ...string) {
	if slices.Contains(or, text) {
		return
	}
	if ip, err := netip.ParseAddr(text); err != nil || !ip.Is4() {
		p.invalid(at, "%q is not an IPv4 address", text)
	}
}

func (p *problems) servicePorts(s *corev1.Service) {
	type key struct {
		port     int32
		protocol corev1.Protocol
	}
	ports, names, nodePorts := map[key]bool{}, map[string]bool{}, map[key]bool{}
	for i, port := range s.Spec.Ports {
		at := api.IndexPath(".spec.ports", i)
		switch {
		case port.Name == "" && len(s.Spec.Ports) > 1:
			p.required(at+".name", "name every port of a Service that has several")
		case port.Name != "" && names[port.Name]:
			p.duplicate(at+".name", port.Name)
		case port.Name != "":
			p.check(at+".name", port.Name, validation.IsDNS1123Label(port.Name))
		}
		names[port.Name] = true
		p.portNumber(at+".port", int64(port.Port))
		if k := (key{port.Port, port.Protocol}); ports[k] {
			p.duplicate(at, fmt.Sprintf("port %d/%s", k.port, k.protocol))
		} else {
			ports[k] = true
		}
		switch t := port.TargetPort; t.Type {
		case intstr.Int:
			p.portNumber(at+".targetPort", int64(t.IntVal))
		default:
			p.check(at+".targetPort", t.StrVal, validation.IsValidPortName(t.StrVal))
		}
		if port.NodePort == 0 {
			continue
		}
		k := key{port.NodePort, port.Protocol}
		switch {
		case s.Spec.Type != corev1.ServiceTypeNodePort && s.Spec.Type != corev1.ServiceTypeLoadBalancer:
			p.add(api.CodeInvalid, at+".nodePort", "use type: NodePort", "has no meaning with type %s", s.Spec.Type)
		case k.port < firstNodePort || k.port > lastNodePort:
			p.invalid(at+".nodePort", "must be %d to %d, but is %d", firstNodePort, lastNodePort, k.port)
		case nodePorts[k]:
			p.duplicate(at+".nodePort", k.port)
		}
		nodePorts[k] = true
	}
}

// Kubernetes' bounds on one EndpointSlice.
const (
	maxEndpoints     = 1000
	maxEndpointPorts = 100
)

func (p *problems) endpointSlice(s *discoveryv1.EndpointSlice) {
	if s.AddressType != discoveryv1.AddressTypeIPv4 {
		p.add(api.CodeUnsupported, ".addressType", "use IPv4", "not supported by Writ yet: address type %q", s.AddressType)
	}
	if n := len(s.Endpoints); n > maxEndpoints {
		p.invalid(".endpoints", "has %d endpoints; at most %d", n, maxEndpoints)
	}
	if n := len(s.Ports); n > maxEndpointPorts {
		p.invalid(".ports", "has %d ports; at most %d", n, maxEndpointPorts)
	}
	for i, e := range s.Endpoints {
		at := api.IndexPath(".endpoints", i)
		if len(e.Addresses) == 0 {
			p.required(at+".addresses", "")
		}
		for j, ip := range e.Addresses {
			p.ipv4(api.IndexPath(at+".addresses", j), ip)
		}
	}
	names := map[string]bool{}
	for i, port := range s.Ports {
		at, name := api.IndexPath(".ports", i), ""
		if port.Name != nil {
			name = *port.Name
		}
		if names[name] {
			p.add(api.CodeDuplicate, at+".name", "", "the name %q occurs twice", name)
		}
		names[name] = true
		if port.Port != nil {
			p.portNumber(at+".port", int64(*port.Port))
		}
	}
}
