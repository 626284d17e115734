package nodeagent

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/writ-dev/writ/cluster/api"
)

// portRetry is how long a port that is taken is left alone.
const portRetry = 2 * time.Second

// serviceTable mirrors Services and their endpoints. They name refused
// addresses for people, and the node ports of Services are published on the
// host. Nothing here allows a pod anything.
type serviceTable struct {
	a        *agent
	services mirror[corev1.Service]
	slices   mirror[discoveryv1.EndpointSlice]
	wake     chan struct{}

	proxies sync.WaitGroup
	open    map[int32]*publication // by node port; belongs to publish
}

func newServiceTable(a *agent) *serviceTable {
	t := &serviceTable{a: a, wake: make(chan struct{}, 1), open: map[int32]*publication{}}
	t.services.changed, t.slices.changed = t.poke, t.poke
	return t
}

func (t *serviceTable) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run follows both kinds and publishes node ports until ctx ends.
func (t *serviceTable) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return t.a.follow(ctx, api.Service, api.ListOptions{}, &t.services) })
	g.Go(func() error { return t.a.follow(ctx, api.EndpointSlice, api.ListOptions{}, &t.slices) })
	g.Go(func() error { return t.publish(ctx) })
	return g.Wait()
}

// endpoint is a pod behind a Service port.
type endpoint struct {
	address netip.AddrPort
	ready   bool
}

// endpoints returns what is behind a Service's port of that name.
func (t *serviceTable) endpoints(s *corev1.Service, port string) []endpoint {
	var list []endpoint
	for _, slice := range t.slices.all() {
		if slice.Namespace != s.Namespace || slice.Labels[discoveryv1.LabelServiceName] != s.Name {
			continue
		}
		for _, p := range slice.Ports {
			if p.Port == nil || (p.Name == nil && port != "") || (p.Name != nil && *p.Name != port) {
				continue
			}
			for _, e := range slice.Endpoints {
				for _, a := range e.Addresses {
					if ip, err := netip.ParseAddr(a); err == nil {
						ready := e.Conditions.Ready == nil || *e.Conditions.Ready
						list = append(list, endpoint{netip.AddrPortFrom(ip, uint16(*p.Port)), ready})
					}
				}
			}
		}
	}
	return list
}

// nodePort is a Service port to be published.
type nodePort struct {
	service *corev1.Service
	port    corev1.ServicePort
}

// key tells whether a publication is still of the same port.
func (n nodePort) key() string { return fmt.Sprintf("%s:%s", n.service.UID, n.port.Name) }

// publish opens and closes node ports until ctx ends, then closes all.
func (t *serviceTable) publish(ctx context.Context) error {
	defer func() {
		for _, p := range t.open {
			p.close()
		}
		t.proxies.Wait()
	}()
	tick := time.NewTicker(portRetry)
	defer tick.Stop()
	for {
		select {
		case <-t.wake:
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		t.reconcile(ctx)
	}
}

func (t *serviceTable) reconcile(ctx context.Context) {
	want := map[int32]nodePort{}
	for _, s := range t.services.all() {
		if s.Spec.Type != corev1.ServiceTypeNodePort {
			continue
		}
		for _, p := range s.Spec.Ports {
			if p.NodePort != 0 {
				want[p.NodePort] = nodePort{s, p}
			}
		}
	}
	for number, p := range t.open {
		if w, ok := want[number]; !ok || w.key() != p.key {
			p.close()
			delete(t.open, number)
		}
	}
	for number, w := range want {
		if t.open[number] == nil {
			t.openPort(ctx, number, w)
		}
		if p := t.open[number]; p != nil {
			p.offer(t.endpoints(w.service, w.port.Name))
		}
	}
}

// openPort starts publishing one port, or says why not.
func (t *serviceTable) openPort(ctx context.Context, number int32, w nodePort) {
	warn := func(reason, format string, args ...any) {
		t.a.events.service(w.service, event{kind: corev1.EventTypeWarning, reason: reason, message: fmt.Sprintf(format, args...)})
	}
	if w.port.Protocol == corev1.ProtocolUDP {
		warn("NodePortUnsupported", "node port %d is not published: only TCP is", number)
		return
	}
	address := net.JoinHostPort(t.a.o.Publish, strconv.Itoa(int(number)))
	l, err := net.Listen("tcp", address)
	if err != nil {
		warn("NodePortUnavailable", "cannot publish port %d of the Service on %s: %v", w.port.Port, address, err)
		return
	}
	p := newPublication(w.key(), l, t.a.fabric.Dial, t.a.log)
	t.open[number] = p
	t.proxies.Go(func() { p.run(ctx) })
}
