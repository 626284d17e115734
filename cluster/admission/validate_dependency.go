package admission

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
)

// consumers are the kinds that may depend on something.
var consumers = []string{api.Deployment.Kind, api.ReplicaSet.Kind, api.CronJob.Kind, api.Job.Kind, api.Pod.Kind}

func (p *problems) dependency(d *api.Dependency) {
	s := &d.Spec
	switch c := s.Consumer; {
	case c.Kind == "":
		p.required(".spec.consumer.kind", "use "+strings.Join(consumers, ", "))
	case !slices.Contains(consumers, c.Kind):
		hint := "use " + strings.Join(consumers, ", ")
		if near := api.Nearest(c.Kind, consumers); near != "" {
			hint = api.DidYouMean(near)
		}
		p.add(api.CodeConsumer, ".spec.consumer.kind", hint, "%q is not a workload kind", c.Kind)
	}
	if s.Consumer.Name == "" {
		p.required(".spec.consumer.name", "")
	} else {
		p.check(".spec.consumer.name", s.Consumer.Name, validation.IsDNS1123Subdomain(s.Consumer.Name))
	}
	p.oneOf(".spec.start", s.Start, "none", "ready")
	if s.Mode == "observe" {
		p.add(api.CodeUnsupported, ".spec.mode", "use enforce", "not supported by Writ yet: mode observe")
	} else {
		p.oneOf(".spec.mode", s.Mode, "enforce")
	}
	if s.Target.Service == nil {
		p.required(".spec.target.service", "name the Service that is used")
		return
	}
	p.serviceTarget(s.Target.Service)
}

func (p *problems) serviceTarget(t *api.ServiceTarget) {
	const at = ".spec.target.service"
	if t.Name == "" {
		p.required(at+".name", "")
	} else {
		p.check(at+".name", t.Name, validation.IsDNS1035Label(t.Name))
	}
	if t.Namespace != "" {
		p.check(at+".namespace", t.Namespace, validation.IsDNS1123Label(t.Namespace))
	}
	seen := map[api.PortName]bool{}
	for i, port := range t.Ports {
		path := api.IndexPath(at+".ports", i)
		if seen[port] {
			p.duplicate(path, port)
		}
		seen[port] = true
		if n, err := strconv.Atoi(string(port)); err == nil {
			p.portNumber(path, int64(n))
		} else {
			p.check(path, string(port), validation.IsDNS1123Label(string(port)))
		}
	}
}

func (p *problems) oneOf(at, v string, allowed ...string) {
	if v == "" || slices.Contains(allowed, v) {
		return
	}
	hint := "use " + strings.Join(allowed, " or ")
	if near := api.Nearest(v, allowed); near != "" {
		hint = api.DidYouMean(near)
	}
	p.add(api.CodeUnsupported, at, hint, "%q is not one of %s", v, strings.Join(allowed, ", "))
}
