package access

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
)

// Decision is an answer with its reason.
type Decision struct {
	Allowed bool
	// Grant names the edge that decided, empty when refused.
	Grant string
	// Reason is one line for a person.
	Reason string
}

// Allow decides about one packet that opens a connection. protocol is "TCP" or
// "UDP".
func (p Policy) Allow(from, to netip.AddrPort, protocol string) Decision {
	known := ""
	for _, e := range p.Edges {
		if !slices.ContainsFunc(e.Spec.From, func(f api.GrantSource) bool { return f.IP == from.Addr().String() }) {
			continue
		}
		known = e.Spec.Consumer
		if e.reaches(to, protocol) {
			return Decision{Allowed: true, Grant: e.Grant, Reason: e.why()}
		}
	}
	if known == "" {
		return Decision{Reason: fmt.Sprintf("%s is no pod that declares anything", from.Addr())}
	}
	return Decision{Reason: fmt.Sprintf("%s declares nothing at %s/%s", known, to, protocol)}
}

// reaches reports whether to is the Service's address or one of the pods
// behind it, on a granted port.
func (e Edge) reaches(to netip.AddrPort, protocol string) bool {
	ip, port := to.Addr().String(), int32(to.Port())
	for _, p := range e.Spec.Ports {
		if p.Protocol != protocol {
			continue
		}
		if ip == e.Spec.ClusterIP && port == p.Port {
			return true
		}
		for _, list := range [][]api.GrantEndpoint{p.Endpoints, p.NotReady} {
			if slices.ContainsFunc(list, func(g api.GrantEndpoint) bool { return g.IP == ip && g.Port == port }) {
				return true
			}
		}
	}
	return false
}

func (e Edge) why() string {
	service := e.Spec.ServiceNamespace + "/" + e.Spec.ServiceName
	if e.Spec.Dependency == "" {
		return fmt.Sprintf("%s is behind Service %s itself", e.Spec.Consumer, service)
	}
	return fmt.Sprintf("Dependency %s lets %s use Service %s", e.Spec.Dependency, e.Spec.Consumer, service)
}

// Explain answers by name whether a workload may use a Service: all of the
// target's ports, or any port when it names none.
func Explain(s State, namespace string, consumer api.WorkloadReference, target api.ServiceTarget) Decision {
	if target.Namespace == "" {
		target.Namespace = namespace
	}
	name := consumer.Kind + "/" + consumer.Name
	var lacking []string
	for _, e := range Resolve(s, namespace).Edges {
		g := e.Spec
		if g.Consumer != name || g.ServiceNamespace != target.Namespace || g.ServiceName != target.Name {
			continue
		}
		lacking = lacking[:0]
		for _, w := range target.Ports {
			if !slices.ContainsFunc(g.Ports, func(p api.GrantPort) bool {
				return p.Name != "" && p.Name == string(w) || fmt.Sprint(p.Port) == string(w)
			}) {
				lacking = append(lacking, string(w))
			}
		}
		if len(lacking) > 0 {
			continue
		}
		reason := e.why()
		if e.Phase != Ready {
			reason += ", but " + e.Message
		}
		return Decision{Allowed: true, Grant: e.Grant, Reason: reason}
	}
	if len(lacking) > 0 {
		return Decision{Reason: fmt.Sprintf("%s declares Service %s/%s, but not its port %s", name, target.Namespace, target.Name, strings.Join(lacking, ", "))}
	}
	return Decision{Reason: fmt.Sprintf("%s does not declare Service %s/%s", name, target.Namespace, target.Name)}
}
