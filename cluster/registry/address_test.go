package registry_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/registry"
	"github.com/writ-dev/writ/cluster/store"
)

const nodePortSpec = `{"type":"NodePort","selector":{"a":"b"},"ports":[{"name":"x","port":80},{"name":"y","port":81}]}`

// TestAddressesUnderConcurrency has two registries over one store hand out
// addresses at once: no address has two holders.
func TestAddressesUnderConcurrency(t *testing.T) {
	s := store.New(store.Options{})
	p := store.Local(s)
	var clients []*registry.Client
	for range 2 {
		r, err := registry.New(registry.Options{Store: s, Proposer: p})
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, r.As(registry.System))
	}
	if err := clients[0].Bootstrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		create(t, clients[0], doc(t, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n%d"}}`, i))
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c := clients[g%2]
			for i := range 20 {
				name := fmt.Sprintf("o-%d-%d", g, i)
				if _, err := c.Create(t.Context(), service(t, name, nodePortSpec)); err != nil {
					t.Errorf("create service: %v", err)
				}
				o, err := c.Create(t.Context(), pod(t, name))
				if err != nil {
					t.Errorf("create pod: %v", err)
					return
				}
				if _, err := c.Bind(t.Context(), "default", name, o.Meta().UID, fmt.Sprintf("n%d", i%3), registry.WriteOptions{}); err != nil {
					t.Errorf("bind: %v", err)
				}
			}
		}()
	}
	wg.Wait()
	holders := map[string]string{}
	hold := func(address, who string) {
		if other := holders[address]; other != "" || address == "" {
			t.Errorf("%q is held by %s and %s", address, other, who)
		}
		holders[address] = who
	}
	for o := range s.View().List("", "Service", "") {
		v := decode[corev1.Service](t, o)
		hold(v.Spec.ClusterIP, v.Name)
		for _, p := range v.Spec.Ports {
			hold(fmt.Sprint(p.NodePort), v.Name)
		}
	}
	cidrs := map[string]string{}
	for o := range s.View().List("", "Node", "") {
		v := decode[corev1.Node](t, o)
		hold(v.Spec.PodCIDR, v.Name)
		cidrs[v.Name] = strings.TrimSuffix(v.Spec.PodCIDR, "0/24")
	}
	for o := range s.View().List("", "Pod", "") {
		v := decode[corev1.Pod](t, o)
		hold(v.Status.PodIP, v.Name)
		if !strings.HasPrefix(v.Status.PodIP, cidrs[v.Spec.NodeName]) {
			t.Errorf("pod on %s (%s) has %s", v.Spec.NodeName, cidrs[v.Spec.NodeName], v.Status.PodIP)
		}
	}
	if want := 160 + 320 + 3 + 160; len(holders) != want {
		t.Errorf("%d addresses, want %d", len(holders), want)
	}
}

func TestServiceAddresses(t *testing.T) {
	w := newWorld(t, nil)
	c := w.As(user)
	o := create(t, c, service(t, "a", nodePortSpec))
	was := decode[corev1.Service](t, o)
	if len(was.Spec.ClusterIPs) != 1 || was.Spec.ClusterIPs[0] != was.Spec.ClusterIP {
		t.Errorf("cluster IPs %v", was.Spec.ClusterIPs)
	}
	// What an update leaves out stays.
	o, err := c.Update(t.Context(), service(t, "a", nodePortSpec))
	if err != nil {
		t.Fatal(err)
	}
	now := decode[corev1.Service](t, o)
	if now.Spec.ClusterIP != was.Spec.ClusterIP || now.Spec.Ports[0].NodePort != was.Spec.Ports[0].NodePort || now.Spec.Ports[1].NodePort != was.Spec.Ports[1].NodePort {
		t.Errorf("update changed addresses: %+v to %+v", was.Spec, now.Spec)
	}
	taken := fmt.Sprintf(`{"clusterIP":%q,"ports":[{"port":80}]}`, was.Spec.ClusterIP)
	if _, err := c.Create(t.Context(), service(t, "b", taken)); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "already allocated") {
		t.Errorf("a taken IP: %v", err)
	}
	if _, err := c.Create(t.Context(), service(t, "b", `{"clusterIP":"10.97.0.1","ports":[{"port":80}]}`)); !apierrors.IsInvalid(err) {
		t.Errorf("an IP out of range: %v", err)
	}
	if h := decode[corev1.Service](t, create(t, c, service(t, "h", `{"clusterIP":"None","ports":[{"port":80}]}`))); h.Spec.ClusterIP != "None" {
		t.Errorf("headless has %q", h.Spec.ClusterIP)
	}
	// Without its node ports, and then gone, all is free again.
	if o, err = c.Update(t.Context(), service(t, "a", `{"selector":{"a":"b"},"ports":[{"name":"x","port":80}]}`)); err != nil || decode[corev1.Service](t, o).Spec.Ports[0].NodePort != 0 {
		t.Fatalf("no node port any more: %v", err)
	}
	again := fmt.Sprintf(`{"type":"NodePort","ports":[{"port":80,"nodePort":%d}]}`, was.Spec.Ports[0].NodePort)
	create(t, c, service(t, "c", again))
	if err := c.Delete(t.Context(), o.Key(), ""); err != nil {
		t.Fatal(err)
	}
	create(t, c, service(t, "b", taken))
}

// TestPodAddressIsUsedLate takes every address of a node, then frees some: the
// one that is free for longest is taken next.
func TestPodAddressIsUsedLate(t *testing.T) {
	w := newWorld(t, nil)
	c := w.As(registry.System)
	create(t, c, doc(t, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}`))
	bind := func(name string) (string, error) {
		create(t, c, pod(t, name))
		out, err := c.Bind(t.Context(), "default", name, "", "n", registry.WriteOptions{})
		if err != nil {
			return "", err
		}
		return decode[corev1.Pod](t, out.Object).Status.PodIP, nil
	}
	ips := map[string]string{}
	for i := range 253 {
		name := fmt.Sprintf("p%d", i)
		ip, err := bind(name)
		if err != nil {
			t.Fatalf("pod %d: %v", i, err)
		}
		ips[name] = ip
	}
	if _, err := bind("full"); err == nil {
		t.Error("an address more than there are")
	}
	zero := int64(0)
	for _, name := range []string{"p7", "p3", "p9"} {
		if _, err := c.DeleteWith(t.Context(), api.Pod.Key("default", name), registry.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
			t.Fatal(err)
		}
	}
	for i, was := range []string{"p7", "p3", "p9"} {
		ip, err := bind(fmt.Sprintf("q%d", i))
		if err != nil || ip != ips[was] {
			t.Errorf("got %s, %v; want %s, free since %s went", ip, err, ips[was], was)
		}
	}
	// The agent cannot change it.
	o, err := c.Get(t.Context(), api.Pod.Key("default", "q0"))
	if err != nil {
		t.Fatal(err)
	}
	o = edit(t, o, func(tree map[string]any) { tree["status"].(map[string]any)["podIP"] = "10.64.0.1" })
	var got object.Object
	if got, err = c.UpdateStatus(t.Context(), o); err != nil || decode[corev1.Pod](t, got).Status.PodIP != ips["p7"] {
		t.Errorf("status update: %v, %s", err, decode[corev1.Pod](t, got).Status.PodIP)
	}
}

func TestNodeNetworks(t *testing.T) {
	w := newWorld(t, nil)
	c := w.As(registry.System)
	a := create(t, c, doc(t, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}`))
	if cidr := decode[corev1.Node](t, a).Spec.PodCIDR; cidr != "10.64.0.0/24" {
		t.Errorf("the first node has %s", cidr)
	}
	move := edit(t, a, func(tree map[string]any) {
		tree["spec"] = map[string]any{"podCIDR": "10.64.9.0/24", "podCIDRs": []any{"10.64.9.0/24"}}
	})
	if _, err := c.Update(t.Context(), move); !apierrors.IsInvalid(err) {
		t.Errorf("a node changed its network: %v", err)
	}
	bare := edit(t, a, func(tree map[string]any) { tree["spec"] = map[string]any{"unschedulable": true} })
	if o, err := c.Update(t.Context(), bare); err != nil || decode[corev1.Node](t, o).Spec.PodCIDR != "10.64.0.0/24" {
		t.Errorf("an update without a network: %v", err)
	}
	for _, cidr := range []string{"10.64.0.0/24", "10.65.0.0/24", "10.64.0.0/16", "x"} {
		_, err := c.Create(t.Context(), doc(t, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"b"},"spec":{"podCIDR":%q,"podCIDRs":[%q]}}`, cidr, cidr))
		if !apierrors.IsInvalid(err) {
			t.Errorf("network %s: %v", cidr, err)
		}
	}
	if err := c.Delete(t.Context(), a.Key(), ""); err != nil {
		t.Fatal(err)
	}
	// A network that was in use is taken again only when all others are.
	b := create(t, c, doc(t, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}`))
	if cidr := decode[corev1.Node](t, b).Spec.PodCIDR; cidr != "10.64.1.0/24" {
		t.Errorf("the node that came again has %s", cidr)
	}
}
