package nodeagent

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/nodeagent/network"
)

// refusalPeriod is how often the counters of refused attempts are read.
const refusalPeriod = 200 * time.Millisecond

// watchRefusals turns what network and DNS refused into events, until ctx ends.
func (a *agent) watchRefusals(ctx context.Context) error {
	tick := time.NewTicker(refusalPeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		refused, err := a.fabric.Refusals()
		if err != nil {
			a.log.Warn("read refused attempts", "error", err.Error())
			sleep(ctx, maxPause)
			continue
		}
		for _, r := range refused {
			a.reportPackets(r)
		}
		for _, r := range a.names.Refused() {
			if p := a.pods.at(r.From); p != nil {
				target, name := a.services.named(r.Name, p.Namespace), r.Name
				a.reportUndeclared(p, target, fmt.Sprintf("looked up %q", name), r.Attempts)
			}
		}
	}
}

// reportPackets reports refused packets, unless a grant allows the access and
// only an endpoint is missing.
func (a *agent) reportPackets(r network.Refusal) {
	p := a.pods.at(r.From)
	if p == nil || declares(a.grants.all(), r.From, string(p.UID), r) {
		return
	}
	to := netip.AddrPortFrom(r.To, r.Port).String()
	how := fmt.Sprintf("tried %s over %s", to, r.Proto)
	if r.Proto != network.TCP && r.Proto != network.UDP {
		to = r.To.String()
		how = fmt.Sprintf("sent %s (IP protocol %d) to %s", r.Proto, uint8(r.Proto), to)
	}
	target := a.services.addressed(r)
	if target == "" {
		target = to
	}
	a.reportUndeclared(p, target, how, r.Packets)
}

// reportUndeclared records that a pod tried to use something undeclared.
func (a *agent) reportUndeclared(p *corev1.Pod, target, how string, attempts uint64) {
	from := workload(a.grants.all(), p)
	a.events.pod(p, event{
		kind: corev1.EventTypeWarning, reason: api.ReasonUndeclared, key: target,
		message:     fmt.Sprintf("%s does not declare %s: refused (%s)", from, target, how),
		count:       int32(min(attempts, 1<<30)),
		annotations: map[string]string{api.AnnotationFrom: from, api.AnnotationTo: target},
	})
}

// addressed names the Service port behind a refused address, "" if there is
// none.
func (t *serviceTable) addressed(r network.Refusal) string {
	proto := r.Proto.String()
	for _, s := range t.services.all() {
		for _, p := range s.Spec.Ports {
			if s.Spec.ClusterIP == r.To.String() && p.Port == int32(r.Port) && string(p.Protocol) == proto {
				return fmt.Sprintf("%s/%s:%d", s.Namespace, s.Name, p.Port)
			}
		}
	}
	for _, s := range t.services.all() {
		for _, p := range s.Spec.Ports {
			for _, e := range t.endpoints(s, p.Name) {
				if e.address == netip.AddrPortFrom(r.To, r.Port) && string(p.Protocol) == proto {
					return fmt.Sprintf("%s/%s:%d", s.Namespace, s.Name, p.Port)
				}
			}
		}
	}
	return ""
}

// named names the Service port that a pod in namespace means by a DNS name;
// the name itself if there is no such Service.
func (t *serviceTable) named(name, namespace string) string {
	short := strings.TrimSuffix(strings.TrimSuffix(name, ".cluster.local"), ".svc")
	service, ns, ok := strings.Cut(short, ".")
	if !ok {
		ns = namespace
	}
	for _, s := range t.services.all() {
		if s.Namespace == ns && s.Name == service && len(s.Spec.Ports) > 0 {
			return fmt.Sprintf("%s/%s:%d", ns, service, s.Spec.Ports[0].Port)
		}
	}
	return name
}
