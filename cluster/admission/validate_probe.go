package admission

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
)

// probe checks a probe; ports are the names of the container's ports. once:
// one success is enough, by Kubernetes' rules, for liveness and startup.
func (p *problems) probe(at string, probe *corev1.Probe, ports []string, once bool) {
	if probe == nil {
		return
	}
	set := 0
	if h := probe.HTTPGet; h != nil {
		set++
		p.probeHost(at+".httpGet.host", h.Host)
		p.probePort(at+".httpGet.port", h.Port, ports)
		for i, header := range h.HTTPHeaders {
			path := api.IndexPath(at+".httpGet.httpHeaders", i) + ".name"
			p.check(path, header.Name, validation.IsHTTPHeaderName(header.Name))
		}
		if h.Path != "" && !strings.HasPrefix(h.Path, "/") {
			p.add(api.CodeInvalid, at+".httpGet.path", fmt.Sprintf("write %q", "/"+h.Path), "must begin with /, but is %q", h.Path)
		}
	}
	if t := probe.TCPSocket; t != nil {
		set++
		p.probeHost(at+".tcpSocket.host", t.Host)
		p.probePort(at+".tcpSocket.port", t.Port, ports)
	}
	if e := probe.Exec; e != nil {
		set++
		if len(e.Command) == 0 {
			p.required(at+".exec.command", "")
		}
	}
	if probe.GRPC != nil {
		set++ // refused by name already
	}
	if set != 1 {
		p.add(api.CodeInvalid, at, "use one of httpGet, tcpSocket, exec", "must have exactly one way to probe, not %d", set)
	}
	p.atLeast(at+".initialDelaySeconds", int64(probe.InitialDelaySeconds), 0)
	p.atLeast(at+".timeoutSeconds", int64(probe.TimeoutSeconds), 1)
	p.atLeast(at+".periodSeconds", int64(probe.PeriodSeconds), 1)
	p.atLeast(at+".failureThreshold", int64(probe.FailureThreshold), 1)
	p.atLeast(at+".successThreshold", int64(probe.SuccessThreshold), 1)
	if g := probe.TerminationGracePeriodSeconds; g != nil {
		p.atLeast(at+".terminationGracePeriodSeconds", *g, 1)
		if !once {
			p.add(api.CodeInvalid, at+".terminationGracePeriodSeconds", "remove it", "has no meaning for a readiness probe")
		}
	}
	if once && probe.SuccessThreshold > 1 {
		p.invalid(at+".successThreshold", "must be 1, but is %d", probe.SuccessThreshold)
	}
}

// probeHost refuses probes of anything but the pod itself: the node makes
// them, so they could reach what the pod may not.
func (p *problems) probeHost(at, host string) {
	if host != "" {
		p.add(api.CodeProbeHost, at, "remove it; a probe goes to the pod itself", "a probe may not name a host")
	}
}

func (p *problems) probePort(at string, port intstr.IntOrString, names []string) {
	if port.Type == intstr.Int {
		p.portNumber(at, int64(port.IntVal))
		return
	}
	if slices.Contains(names, port.StrVal) {
		return
	}
	hint := ""
	if near := api.Nearest(port.StrVal, names); near != "" {
		hint = api.DidYouMean(near)
	} else if len(names) > 0 {
		hint = "it has: " + strings.Join(names, ", ")
	} else {
		hint = "name the port in the container's ports, or use its number"
	}
	p.add(api.CodeNotFound, at, hint, "the container has no port named %q", port.StrVal)
}
