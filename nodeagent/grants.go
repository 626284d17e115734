package nodeagent

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/nodeagent/dns"
	"github.com/writ-dev/writ/nodeagent/network"
)

// grantTable mirrors the grants of the whole cluster.
type grantTable struct {
	mirror[api.Grant]
	client api.Client

	// listing is held by whoever lists, so that many who wait share one list.
	listing sync.Mutex
}

func newGrantTable(c api.Client) *grantTable { return &grantTable{client: c} }

// listAfter is how long await trusts the watch to come that far by itself.
const listAfter = 5 * time.Millisecond

// await makes sure that everything up to a revision is in. The watch may be
// slow, or silent because no grant changes: then list.
func (t *grantTable) await(ctx context.Context, revision uint64) error {
	timer := time.NewTimer(listAfter)
	defer timer.Stop()
	for late := false; !late; {
		done, moved := t.complete(revision)
		if done {
			return nil
		}
		select {
		case <-moved:
		case <-timer.C:
			late = true
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	t.listing.Lock()
	defer t.listing.Unlock()
	if done, _ := t.complete(revision); done {
		return nil
	}
	list, err := t.client.List(ctx, api.GrantKind, api.ListOptions{})
	if err != nil {
		return err
	}
	t.replace(list.Items, list.Revision)
	return nil
}

// tenant is a pod of this node.
type tenant struct {
	uid, namespace string
}

// tenants says which of this node's pods holds an address.
type tenants map[netip.Addr]tenant

// holds reports whether the pod of a grant is the one that holds the address
// here. An address that is nobody's here may be on another node.
func (t tenants) holds(ip netip.Addr, uid string) (here, ok bool) {
	p, here := t[ip]
	return here, !here || p.uid == uid
}

// rulesOf turns grants into what the network allows, as far as it concerns
// this node's pods, and into what they may resolve.
func rulesOf(grants []*api.Grant, pods tenants) (network.State, map[netip.Addr]dns.View) {
	b := &builder{
		pods: pods, views: make(map[netip.Addr]dns.View, len(pods)),
		services: map[serviceKey]map[netip.AddrPort]bool{},
	}
	for ip, p := range pods {
		b.views[ip] = dns.View{Namespace: p.namespace}
	}
	for _, g := range grants {
		b.add(&g.Spec)
	}
	for k, ends := range b.services {
		s := network.Service{IP: k.to.Addr(), Port: k.to.Port(), Proto: k.proto}
		for e := range ends {
			s.Endpoints = append(s.Endpoints, e)
		}
		b.state.Services = append(b.state.Services, s)
	}
	return b.state, b.views
}

type serviceKey struct {
	to    netip.AddrPort
	proto network.Protocol
}

type builder struct {
	pods     tenants
	state    network.State
	services map[serviceKey]map[netip.AddrPort]bool
	views    map[netip.Addr]dns.View
}

// add takes one grant. What it does not understand allows nothing.
func (b *builder) add(g *api.GrantSpec) {
	virtual, _ := netip.ParseAddr(g.ClusterIP) // None and empty are headless
	name := dns.Service{Namespace: g.ServiceNamespace, Name: g.ServiceName, IP: virtual}
	for _, p := range g.Ports {
		proto, err := network.ParseProtocol(p.Protocol)
		if err != nil {
			continue
		}
		port := dns.Port{Name: p.Name, Protocol: strings.ToLower(proto.String()), Port: uint16(p.Port)}
		for _, e := range p.Endpoints {
			if end, ok := b.endpoint(e); ok {
				port.Endpoints = append(port.Endpoints, end)
			}
		}
		b.edges(g.From, p, proto)
		if virtual.IsValid() {
			k := serviceKey{netip.AddrPortFrom(virtual, port.Port), proto}
			if b.services[k] == nil {
				b.services[k] = map[netip.AddrPort]bool{}
			}
			for _, e := range port.Endpoints {
				b.services[k][e] = true
			}
		}
		name.Ports = append(name.Ports, port)
	}
	for _, f := range g.From {
		ip, err := netip.ParseAddr(f.IP)
		if err != nil {
			continue
		}
		if here, ok := b.pods.holds(ip, f.PodUID); here && ok {
			v := b.views[ip]
			v.Services = append(v.Services, name)
			b.views[ip] = v
		}
	}
}

// endpoint parses an endpoint, unless its address belongs to another pod now.
func (b *builder) endpoint(e api.GrantEndpoint) (netip.AddrPort, bool) {
	ip, err := netip.ParseAddr(e.IP)
	if err != nil || e.Port < 1 || e.Port > 65535 {
		return netip.AddrPort{}, false
	}
	_, ok := b.pods.holds(ip, e.PodUID)
	return netip.AddrPortFrom(ip, uint16(e.Port)), ok
}

// edges allows every source to reach every endpoint, ready or not.
func (b *builder) edges(from []api.GrantSource, p api.GrantPort, proto network.Protocol) {
	for _, f := range from {
		source, err := netip.ParseAddr(f.IP)
		if err != nil {
			continue
		}
		fromHere, ok := b.pods.holds(source, f.PodUID)
		if !ok {
			continue
		}
		for _, list := range [][]api.GrantEndpoint{p.Endpoints, p.NotReady} {
			for _, e := range list {
				end, ok := b.endpoint(e)
				if _, toHere := b.pods[end.Addr()]; !ok || !fromHere && !toHere {
					continue
				}
				b.state.Edges = append(b.state.Edges, network.Edge{From: source, To: end.Addr(), Proto: proto, Port: end.Port()})
			}
		}
	}
}

// declares reports whether any grant lets a pod reach an address: what is
// refused nevertheless has no ready endpoint, or is being changed right now.
func declares(grants []*api.Grant, from netip.Addr, uid string, r network.Refusal) bool {
	for _, g := range grants {
		if !grantedTo(&g.Spec, from, uid) {
			continue
		}
		for _, p := range g.Spec.Ports {
			if p.Protocol != r.Proto.String() && !(p.Protocol == "" && r.Proto == network.TCP) {
				continue
			}
			if g.Spec.ClusterIP == r.To.String() && p.Port == int32(r.Port) {
				return true
			}
			for _, list := range [][]api.GrantEndpoint{p.Endpoints, p.NotReady} {
				for _, e := range list {
					if e.IP == r.To.String() && e.Port == int32(r.Port) {
						return true
					}
				}
			}
		}
	}
	return false
}

func grantedTo(g *api.GrantSpec, ip netip.Addr, uid string) bool {
	for _, f := range g.From {
		if f.PodUID == uid && f.IP == ip.String() {
			return true
		}
	}
	return false
}

// workload names what a pod belongs to, as events do: "Deployment/web". A
// grant knows; without one it is read off the owner. It is for people only.
func workload(grants []*api.Grant, p *corev1.Pod) string {
	ip, _ := netip.ParseAddr(p.Status.PodIP)
	for _, g := range grants {
		if g.Spec.Consumer != "" && grantedTo(&g.Spec, ip, string(p.UID)) {
			return g.Spec.Consumer
		}
	}
	for _, r := range p.OwnerReferences {
		if r.Controller == nil || !*r.Controller {
			continue
		}
		hash := p.Labels["pod-template-hash"]
		if name, ok := strings.CutSuffix(r.Name, "-"+hash); ok && r.Kind == "ReplicaSet" && hash != "" {
			return "Deployment/" + name
		}
		return r.Kind + "/" + r.Name
	}
	return "Pod/" + p.Name
}
