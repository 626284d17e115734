package nodeagent

import (
	"context"
	"net/netip"
	"path/filepath"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/nodeagent/dns"
	"github.com/writ-dev/writ/nodeagent/network"
	"github.com/writ-dev/writ/nodeagent/pod"
)

// podSet is the pods bound to this node, each with its worker.
type podSet struct {
	a *agent
	// changed is called when an address gets or loses its pod.
	changed func()

	mu   sync.Mutex
	pods map[string]*hostedPod // by UID
	// ctx is what workers live in, from run on.
	ctx     context.Context
	workers sync.WaitGroup
}

// hostedPod is a pod with its worker.
type hostedPod struct {
	status *statusWriter
	worker *pod.Worker

	// Guarded by podSet.mu.
	pod    *corev1.Pod
	gating bool
}

func newPodSet(a *agent) *podSet { return &podSet{a: a, pods: map[string]*hostedPod{}} }

// run follows the node's pods until ctx ends, then waits for their workers.
func (s *podSet) run(ctx context.Context) error {
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	err := s.a.follow(ctx, api.Pod, api.ListOptions{FieldSelector: "spec.nodeName=" + s.a.o.Name}, s)
	s.workers.Wait()
	return err
}

// replace takes all pods; those that are not among them are gone.
func (s *podSet) replace(items []object.Object, _ uint64) {
	present := map[string]bool{}
	for _, o := range items {
		present[o.Meta().UID] = true
		s.update(o)
	}
	for _, h := range s.hosted() {
		if !present[string(h.UID)] {
			s.gone(string(h.UID))
		}
	}
}

func (s *podSet) apply(e api.Event) {
	if e.Type == api.Deleted {
		s.gone(e.Object.Meta().UID)
		return
	}
	s.update(e.Object)
}

// progress is of no interest: a pod's own version says how old it is.
func (s *podSet) progress(uint64) {}

// update takes a new or changed pod.
func (s *podSet) update(o object.Object) {
	p, err := api.Decode[corev1.Pod](o)
	if err != nil {
		s.a.log.Error("read pod", "error", err.Error())
		return
	}
	s.mu.Lock()
	h, known := s.pods[string(p.UID)]
	if !known {
		if p.Status.PodIP == "" {
			s.mu.Unlock()
			s.a.log.Error("pod has no address", "pod", p.Namespace+"/"+p.Name)
			return
		}
		h = s.host(p)
	} else if older(p, h.pod) {
		s.mu.Unlock()
		return
	}
	h.pod = p
	gate := !h.gating && pod.Granted(p)
	h.gating = h.gating || gate
	s.mu.Unlock()

	h.status.rebase(p)
	if known {
		h.worker.Update(p)
	} else {
		s.changed()
	}
	if gate {
		s.workers.Go(func() { s.open(h, p) })
	}
}

// older compares resource versions; a watch and our own writes both bring
// versions in.
func older(a, b *corev1.Pod) bool {
	x, err1 := strconv.ParseUint(a.ResourceVersion, 10, 64)
	y, err2 := strconv.ParseUint(b.ResourceVersion, 10, 64)
	return err1 == nil && err2 == nil && x < y
}

// open lets a pod's containers start, once its grants are enforced. The object
// that says "granted" is no older than the grants.
func (s *podSet) open(h *hostedPod, p *corev1.Pod) {
	revision, err := strconv.ParseUint(p.ResourceVersion, 10, 64)
	if err != nil {
		s.a.log.Error("read resource version of pod", "pod", p.Namespace+"/"+p.Name, "error", err.Error())
		return
	}
	pause := minPause
	for {
		err := s.a.grants.await(s.ctx, revision)
		if err == nil {
			err = s.a.programs.settle(s.ctx)
		}
		if err == nil {
			h.worker.Granted()
			return
		}
		if s.ctx.Err() != nil {
			return
		}
		s.a.log.Warn("get grants of pod", "pod", p.Namespace+"/"+p.Name, "error", err.Error())
		sleep(s.ctx, pause)
		pause = min(2*pause, maxPause)
	}
}

// gone takes the disappearance of a pod's object. Its address may be given
// away now, so there is no time left.
func (s *podSet) gone(uid string) {
	s.mu.Lock()
	h := s.pods[uid]
	s.mu.Unlock()
	if h != nil {
		h.status.abandon()
		h.worker.Stop(0)
	}
}

// host makes the worker of a pod and runs it. s.mu is held.
func (s *podSet) host(p *corev1.Pod) *hostedPod {
	a, uid, ctx := s.a, string(p.UID), s.ctx
	ip, _ := netip.ParseAddr(p.Status.PodIP)
	h := &hostedPod{pod: p, status: newStatusWriter(a.o.Client, p, a.log)}
	h.worker = pod.New(pod.Options{
		Pod: p, Runtime: a.o.Runtime, Logs: a.logs, Dir: filepath.Join(a.o.Dir, "volumes"),
		ResolvConf: dns.ResolvConf(network.Gateway(), p.Namespace), HostIP: a.node.address(),
		Attach: func(ctx context.Context, netNS int) error {
			return a.fabric.Attach(ctx, network.PodNet{UID: uid, IP: ip, NetNS: netNS})
		},
		Detach: func() error { return a.fabric.Detach(uid) },
		Dial:   a.fabric.Dial,
		ConfigMap: func(ctx context.Context, name string) (*corev1.ConfigMap, error) {
			return get[corev1.ConfigMap](ctx, a.o.Client, api.ConfigMap.Key(p.Namespace, name))
		},
		Secret: func(ctx context.Context, name string) (*corev1.Secret, error) {
			return get[corev1.Secret](ctx, a.o.Client, api.Secret.Key(p.Namespace, name))
		},
		Report: h.status.set,
		Event: func(kind, reason, message string) {
			a.events.pod(p, event{kind: kind, reason: reason, message: message})
		},
		StopGrace: a.o.StopGrace, Logger: a.log,
	})
	s.pods[uid] = h
	s.workers.Go(func() { s.work(ctx, h) })
	return h
}

// work runs a pod to its end. Then its object can go.
func (s *podSet) work(ctx context.Context, h *hostedPod) {
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var writer sync.WaitGroup
	writer.Go(func() { h.status.run(writing) })
	err := h.worker.Run(ctx)
	if err != nil {
		s.a.log.Error("run pod", "pod", h.pod.Namespace+"/"+h.pod.Name, "error", err.Error())
	}
	if ctx.Err() == nil {
		h.status.finish(ctx)
	} else {
		// The agent ends and the pod has ended with it: say so.
		h.status.flush(lastWords)
	}
	stop()
	writer.Wait()
	s.mu.Lock()
	delete(s.pods, string(h.pod.UID))
	s.mu.Unlock()
	s.changed()
}

// get reads and decodes one object.
func get[T any](ctx context.Context, c api.Client, k object.Key) (*T, error) {
	o, err := c.Get(ctx, k)
	if err != nil {
		return nil, err
	}
	return api.Decode[T](o)
}

// hosted returns the pods, as last seen.
func (s *podSet) hosted() []*corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*corev1.Pod, 0, len(s.pods))
	for _, h := range s.pods {
		list = append(list, h.pod)
	}
	return list
}

// tenants says which pod holds which address.
func (s *podSet) tenants() tenants {
	t := tenants{}
	for _, p := range s.hosted() {
		if ip, err := netip.ParseAddr(p.Status.PodIP); err == nil {
			t[ip] = tenant{uid: string(p.UID), namespace: p.Namespace}
		}
	}
	return t
}

// find returns the pod with a name, nil if there is none.
func (s *podSet) find(namespace, name string) *corev1.Pod {
	for _, p := range s.hosted() {
		if p.Namespace == namespace && p.Name == name {
			return p
		}
	}
	return nil
}

// at returns the pod that holds an address, nil if none does.
func (s *podSet) at(ip netip.Addr) *corev1.Pod {
	for _, p := range s.hosted() {
		if p.Status.PodIP == ip.String() {
			return p
		}
	}
	return nil
}
