package access

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// The phases of a Dependency.
const (
	Pending  = "Pending"
	Ready    = "Ready"
	Degraded = "Degraded"
)

// The reasons for a phase.
const (
	ReasonReady           = "EndpointsReady"
	ReasonNoEndpoints     = "NoReadyEndpoints"
	ReasonServiceMissing  = "ServiceMissing"
	ReasonConsumerMissing = "ConsumerMissing"
	ReasonPortMissing     = "PortMissing"
)

// Edge is one consumer's use of one Service, resolved.
type Edge struct {
	// Grant is the name of the Grant object: made of UIDs, so that an object
	// made again under an old name never revives a right.
	Grant string
	Spec  api.GrantSpec
	// Dependency is the declaration; zero for a workload's use of a Service that
	// its own pods are behind.
	Dependency object.Object
	// Start is the declaration's: "none" or "ready".
	Start string
	// Phase, Reason and Message say whether the target can be used now.
	Phase, Reason, Message string
}

// Policy is who may reach what: what is in no edge is refused. Edges are
// sorted by Grant.
type Policy struct {
	Edges []Edge
}

// Resolve works out the policy for the consumers of one namespace, or of all
// when it is empty. It is deterministic.
func Resolve(s State, namespace string) Policy {
	r := &resolver{s: s, pods: map[string]map[string]backend{}, slices: map[string]map[string][]*discoveryv1.EndpointSlice{}}
	var p Policy
	for _, ns := range r.namespaces(namespace) {
		consumers := r.consumers(ns)
		for o := range s.List(api.Group, api.DependencyKind.Kind, ns) {
			if d, err := api.Decode[api.Dependency](o); err == nil {
				p.Edges = append(p.Edges, r.declared(o, d, consumers))
			}
		}
		p.Edges = append(p.Edges, r.own(ns, consumers)...)
	}
	slices.SortFunc(p.Edges, func(a, b Edge) int { return strings.Compare(a.Grant, b.Grant) })
	return p
}

// resolver remembers, per namespace, the pods by UID and the EndpointSlices by
// Service.
type resolver struct {
	s      State
	pods   map[string]map[string]backend
	slices map[string]map[string][]*discoveryv1.EndpointSlice
}

// backend is a live pod.
type backend struct {
	ip       string
	workload Workload
}

// consumer is a workload and its live pods.
type consumer struct {
	workload Workload
	from     []api.GrantSource
}

func (r *resolver) namespaces(only string) []string {
	if only != "" {
		return []string{only}
	}
	var out []string
	add := func(ns string) {
		if len(out) == 0 || out[len(out)-1] != ns {
			out = append(out, ns)
		}
	}
	for o := range r.s.List("", api.Pod.Kind, "") {
		add(o.Namespace())
	}
	for o := range r.s.List(api.Group, api.DependencyKind.Kind, "") {
		add(o.Namespace())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// live returns the live pods of a namespace by UID.
func (r *resolver) live(namespace string) map[string]backend {
	if m, ok := r.pods[namespace]; ok {
		return m
	}
	m := map[string]backend{}
	for o := range r.s.List("", api.Pod.Kind, namespace) {
		pod, err := api.Decode[corev1.Pod](o)
		if err != nil || !Live(pod) {
			continue
		}
		w, _ := WorkloadOf(r.s, o)
		m[o.Meta().UID] = backend{ip: pod.Status.PodIP, workload: w}
	}
	r.pods[namespace] = m
	return m
}

// consumers groups the live pods of a namespace by workload.
func (r *resolver) consumers(namespace string) map[string]consumer {
	out := map[string]consumer{}
	for uid, b := range r.live(namespace) {
		if b.workload == (Workload{}) {
			continue
		}
		c := out[b.workload.String()]
		c.workload = b.workload
		c.from = append(c.from, api.GrantSource{IP: b.ip, PodUID: uid})
		out[b.workload.String()] = c
	}
	for _, c := range out {
		slices.SortFunc(c.from, func(a, b api.GrantSource) int {
			return cmp.Or(compareIPs(a.IP, b.IP), strings.Compare(a.PodUID, b.PodUID))
		})
	}
	return out
}

// declared resolves a Dependency.
func (r *resolver) declared(o object.Object, d *api.Dependency, consumers map[string]consumer) Edge {
	t := d.Spec.Target.Service
	if t == nil {
		t = &api.ServiceTarget{}
	}
	name := d.Spec.Consumer.Kind + "/" + d.Spec.Consumer.Name
	e := Edge{
		Grant:      "d-" + o.Meta().UID,
		Dependency: o,
		Start:      d.Spec.Start,
		Spec: api.GrantSpec{
			Dependency: o.Namespace() + "/" + o.Name(), DependencyUID: o.Meta().UID,
			ConsumerNamespace: o.Namespace(), Consumer: name,
			ServiceNamespace: cmp.Or(t.Namespace, o.Namespace()), ServiceName: t.Name,
			From: consumers[name].from,
		},
	}
	missing := r.target(&e.Spec, t.Ports, nil)
	r.judge(&e, d, missing)
	return e
}

// judge sets the phase. missing are the ports that the Service lacks.
func (r *resolver) judge(e *Edge, d *api.Dependency, missing []string) {
	service := e.Spec.ServiceNamespace + "/" + e.Spec.ServiceName
	ready, all := 0, 0
	unready := ""
	for _, p := range e.Spec.Ports {
		ready += len(p.Endpoints)
		all += len(p.Endpoints) + len(p.NotReady)
		if len(p.Endpoints) == 0 && unready == "" {
			unready = cmp.Or(p.Name, strconv.Itoa(int(p.Port)))
		}
	}
	_, exists := r.s.Get(api.Service.Key(e.Spec.ServiceNamespace, e.Spec.ServiceName))
	switch {
	case !consumerExists(r.s, e.Spec.ConsumerNamespace, d.Spec.Consumer):
		e.Phase, e.Reason = Degraded, ReasonConsumerMissing
		e.Message = fmt.Sprintf("%s %s/%s does not exist", d.Spec.Consumer.Kind, e.Spec.ConsumerNamespace, d.Spec.Consumer.Name)
	case !exists:
		e.Phase, e.Reason = Pending, ReasonServiceMissing
		e.Message = fmt.Sprintf("Service %s does not exist", service)
	case len(missing) > 0:
		e.Phase, e.Reason = Degraded, ReasonPortMissing
		e.Message = fmt.Sprintf("Service %s has no port %s", service, strings.Join(missing, ", "))
	case len(e.Spec.Ports) == 0 || unready != "":
		e.Phase, e.Reason = Pending, ReasonNoEndpoints
		e.Message = fmt.Sprintf("%d/%d endpoints of Service %s ready", ready, all, service)
	default:
		e.Phase, e.Reason = Ready, ReasonReady
		e.Message = fmt.Sprintf("%d/%d endpoints of Service %s ready", ready, all, service)
	}
}

// own resolves the workloads' use of Services that their own pods are behind.
// Only the workload's own pods count, so that nobody gains access to others by
// giving their pods the labels that a Service selects.
func (r *resolver) own(namespace string, consumers map[string]consumer) []Edge {
	var out []Edge
	live := r.live(namespace)
	for o := range r.s.List("", api.Service.Kind, namespace) {
		members := map[string]Workload{}
		for _, slice := range r.endpointSlices(namespace)[o.Name()] {
			for i := range slice.Endpoints {
				if b, ok := live[podUID(&slice.Endpoints[i])]; ok && b.workload != (Workload{}) {
					members[b.workload.String()] = b.workload
				}
			}
		}
		for name, w := range members {
			e := Edge{
				Grant: "s-" + w.UID + "-" + o.Meta().UID,
				Phase: Ready,
				Spec: api.GrantSpec{
					ConsumerNamespace: namespace, Consumer: name,
					ServiceNamespace: namespace, ServiceName: o.Name(),
					From: consumers[name].from,
				},
			}
			r.target(&e.Spec, nil, &w)
			out = append(out, e)
		}
	}
	return out
}

func consumerExists(s State, namespace string, c api.WorkloadReference) bool {
	k, ok := workloadKind(c.Kind)
	if !ok {
		return false
	}
	_, ok = s.Get(k.Key(namespace, c.Name))
	return ok
}

// workloadKinds are the kinds that may depend on something.
var workloadKinds = []api.Kind{api.Deployment, api.ReplicaSet, api.CronJob, api.Job, api.Pod}

func workloadKind(kind string) (api.Kind, bool) {
	for _, k := range workloadKinds {
		if k.Kind == kind {
			return k, true
		}
	}
	return api.Kind{}, false
}

func compareIPs(a, b string) int {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	if errX != nil || errY != nil {
		return strings.Compare(a, b)
	}
	return x.Compare(y)
}
