package dns

import (
	"net/netip"
	"strings"
)

// Cluster is the domain of all names served.
const Cluster = "cluster.local"

// View is what one pod may resolve.
type View struct {
	// Namespace completes short names.
	Namespace string
	// Services are the pod's own and declared ones.
	Services []Service
}

// Service is one name: its virtual address, or, without one, its endpoints.
type Service struct {
	Namespace, Name string
	// IP is the virtual address; the zero Addr for a headless Service.
	IP    netip.Addr
	Ports []Port
}

// Port is one port of a Service.
type Port struct {
	Name string
	// Protocol is "tcp" or "udp".
	Protocol  string
	Port      uint16
	Endpoints []netip.AddrPort
}

// addresses are what an A query is answered with.
func (s *Service) addresses() []netip.Addr {
	if s.IP.IsValid() {
		return []netip.Addr{s.IP}
	}
	var list []netip.Addr
	seen := map[netip.Addr]bool{}
	for _, p := range s.Ports {
		for _, e := range p.Endpoints {
			if a := e.Addr(); !seen[a] {
				seen[a] = true
				list = append(list, a)
			}
		}
	}
	return list
}

// fqdn is the full name, with the final dot.
func (s *Service) fqdn() string { return s.Name + "." + s.Namespace + ".svc." + Cluster + "." }

// zone is a View made ready for lookups by (namespace, name).
type zone struct {
	namespace string
	services  map[[2]string]*Service
}

func newZone(v View) *zone {
	z := &zone{namespace: v.Namespace, services: make(map[[2]string]*Service, len(v.Services))}
	for i := range v.Services {
		s := v.Services[i]
		if old := z.services[[2]string{s.Namespace, s.Name}]; old != nil {
			// Two grants for one Service may each hold part of its ports.
			merged := *old
			merged.Ports = append(merged.Ports[:len(merged.Ports):len(merged.Ports)], s.Ports...)
			if !merged.IP.IsValid() {
				merged.IP = s.IP
			}
			s = merged
		}
		z.services[[2]string{s.Namespace, s.Name}] = &s
	}
	return z
}

// find looks up a Service by a name without its final dot, in lower case:
// name, name.namespace, name.namespace.svc, name.namespace.svc.cluster.local.
func (z *zone) find(name string) *Service {
	name = strings.TrimSuffix(name, "."+Cluster)
	name = strings.TrimSuffix(name, ".svc")
	service, namespace, ok := strings.Cut(name, ".")
	if !ok {
		namespace = z.namespace
	}
	return z.services[[2]string{namespace, service}]
}

// findPort looks up _port._protocol.SERVICE, for SRV queries.
func (z *zone) findPort(name string) (*Service, *Port) {
	port, rest, ok1 := strings.Cut(name, ".")
	protocol, rest, ok2 := strings.Cut(rest, ".")
	if !ok1 || !ok2 || !strings.HasPrefix(port, "_") || !strings.HasPrefix(protocol, "_") {
		return nil, nil
	}
	s := z.find(rest)
	if s == nil {
		return nil, nil
	}
	for i := range s.Ports {
		if p := &s.Ports[i]; "_"+p.Name == port && "_"+p.Protocol == protocol {
			return s, p
		}
	}
	return s, nil
}

// asked is what the pod's program meant by a name that its resolver may have
// completed from the search list: the shortest form.
func asked(name, namespace string) string {
	for _, suffix := range SearchList(namespace) {
		if short, ok := strings.CutSuffix(name, "."+suffix); ok {
			return short
		}
	}
	return name
}

// SearchList is the search list of a pod's resolv.conf.
func SearchList(namespace string) []string {
	return []string{namespace + ".svc." + Cluster, "svc." + Cluster, Cluster}
}

// ResolvConf is the resolv.conf of a pod in namespace. With ndots:1 a name with
// a dot is asked as it is first: every legitimate form is answered by the first
// query.
func ResolvConf(server netip.Addr, namespace string) string {
	return "nameserver " + server.String() +
		"\nsearch " + strings.Join(SearchList(namespace), " ") +
		"\noptions ndots:1\n"
}
