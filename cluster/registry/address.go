package registry

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/netip"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// Addresses are handed out through records in the store, written in the same
// command as their holder: "10.64.3.7 belongs to pod UID". The precondition on
// the record is what keeps two holders apart, whoever proposes them. A pod's
// record stays when the pod is gone, as released, so that the address unused
// for longest is taken next.
const (
	recordGroup   = "internal.writ.dev"
	recordVersion = "v1"
	recordKind    = "Address"

	poolClusterIP = "cluster-ips"
	poolNodePort  = "node-ports"
	poolPodCIDR   = "pod-cidrs"

	firstNodePort, lastNodePort = 30000, 32767
	// The first addresses of the Service range are kept for the cluster itself.
	firstClusterIP, clusterIPs = 16, 1<<16 - 17
	// Of a node's /24, .0 and .255 are no host addresses and .1 is the node's.
	firstPodIP, podIPs = 2, 253
	nodeCIDRs          = 256
)

func clusterIP(i int) string { i += firstClusterIP; return fmt.Sprintf("10.96.%d.%d", i>>8, i&255) }
func podCIDR(i int) string   { return fmt.Sprintf("10.64.%d.0/24", i) }
func nodePort(i int) string  { return strconv.Itoa(firstNodePort + i) }

// pool is one range of values.
type pool struct {
	name string
	size int
	// value is the i-th of the range; nameOf makes a record's name of it.
	value func(i int) string
	// remember keeps records of released values.
	remember bool
}

var (
	clusterIPPool = pool{name: poolClusterIP, size: clusterIPs, value: clusterIP}
	nodePortPool  = pool{name: poolNodePort, size: lastNodePort - firstNodePort + 1, value: nodePort}
	podCIDRPool   = pool{name: poolPodCIDR, size: nodeCIDRs, value: podCIDR, remember: true}
)

// podPool is the range of a node's CIDR, which must be an IPv4 /24.
func podPool(cidr string) (pool, error) {
	p, err := netip.ParsePrefix(cidr)
	if err != nil || !p.Addr().Is4() || p.Bits() != 24 {
		return pool{}, fmt.Errorf("pod CIDR %q is not an IPv4 /24", cidr)
	}
	a := p.Masked().Addr().As4()
	return pool{
		name: fmt.Sprintf("pods-%d-%d-%d", a[0], a[1], a[2]), size: podIPs, remember: true,
		value: func(i int) string { return fmt.Sprintf("%d.%d.%d.%d", a[0], a[1], a[2], firstPodIP+i) },
	}, nil
}

func (p pool) key(value string) object.Key {
	return object.Key{Group: recordGroup, Kind: recordKind, Namespace: p.name, Name: value}
}

// holder returns the UID that holds the value; known is false when there is
// no record of it.
func (t *tx) holder(p pool, value string) (uid string, known bool) {
	o, ok := t.get(p.key(value))
	if !ok {
		return "", false
	}
	spec, _ := o.Tree()["spec"].(map[string]any)
	uid, _ = spec["uid"].(string)
	return uid, true
}

// take makes uid the holder of value; false when another one is.
func (t *tx) take(p pool, value, uid string) bool {
	if held, known := t.holder(p, value); known && held != "" && held != uid {
		return false
	}
	t.record(p, value, uid)
	return true
}

// give releases value, if uid holds it.
func (t *tx) give(p pool, value, uid string) {
	if held, known := t.holder(p, value); !known || held != uid {
		return
	}
	if p.remember {
		t.record(p, value, "")
	} else {
		t.stage(p.key(value), object.Object{})
	}
}

func (t *tx) record(p pool, value, uid string) {
	o, err := object.FromTree(map[string]any{
		"apiVersion": recordGroup + "/" + recordVersion, "kind": recordKind,
		"metadata": map[string]any{"namespace": p.name, "name": value},
		"spec":     map[string]any{"uid": uid},
	})
	if err == nil { // Strings always encode.
		t.stage(p.key(value), o)
	}
}

// pick finds a free value for uid: one never used if there is, else the one
// released longest ago. It starts at a place that depends on uid, so that
// writers at the same time seldom want the same.
func (t *tx) pick(p pool, uid string) (string, error) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid))
	start := int(h.Sum32() % uint32(p.size))
	for i := range p.size {
		value := p.value((start + i) % p.size)
		if _, known := t.holder(p, value); !known {
			t.record(p, value, uid)
			return value, nil
		}
	}
	var best object.Object
	for o := range t.each(recordGroup, recordKind, p.name) {
		if held, _ := t.holder(p, o.Name()); held == "" && revisionOf(o) != 0 && (best.IsZero() || revisionOf(o) < revisionOf(best)) {
			best = o
		}
	}
	if best.IsZero() {
		return "", apierrors.NewInternalError(fmt.Errorf("allocate from %s: all %d are in use", p.name, p.size))
	}
	t.record(p, best.Name(), uid)
	return best.Name(), nil
}

// allocate gives next the addresses its kind has. live is zero on create.
func (t *tx) allocate(k api.Kind, next, live object.Object) (object.Object, error) {
	tree := next.Tree()
	var err error
	switch k.GVK().GroupKind() {
	case api.Service.GVK().GroupKind():
		err = t.allocateService(k, next, live, tree)
	case api.Node.GVK().GroupKind():
		err = t.allocateNode(k, next, live, tree)
	case api.Pod.GVK().GroupKind():
		err = t.bindPod(k, next, live, tree)
	default:
		return next, nil
	}
	if err != nil {
		return next, err
	}
	return object.FromTree(tree)
}

func (t *tx) allocateNode(k api.Kind, next, live object.Object, tree map[string]any) error {
	spec, uid := child(tree, "spec"), next.Meta().UID
	cidr, _ := spec["podCIDR"].(string)
	if !live.IsZero() {
		if was, _ := child(live.Tree(), "spec")["podCIDR"].(string); was != "" && was != cidr {
			return invalid(k, next.Name(), problem(api.CodeImmutable, ".spec.podCIDR", "a node keeps its pod CIDR, %s", was))
		}
	}
	if cidr == "" {
		name, err := t.pickCIDR(uid)
		if err != nil {
			return err
		}
		cidr = name
	} else if !t.takeCIDR(cidr, uid) {
		return invalid(k, next.Name(), problem(api.CodeInvalid, ".spec.podCIDR", "%s is in use by another node, or not 10.64.0.0/24 to 10.64.255.0/24", cidr))
	}
	spec["podCIDR"], spec["podCIDRs"] = cidr, []any{cidr}
	return nil
}

// A CIDR's record is named by its address: a slash cannot be in a name.
func cidrName(cidr string) string {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return ""
	}
	return p.Addr().String()
}

func (t *tx) pickCIDR(uid string) (string, error) {
	p := podCIDRPool
	p.value = func(i int) string { return cidrName(podCIDR(i)) }
	// Node networks are handed out in order, so that addresses are easy to read.
	for i := range p.size {
		if _, known := t.holder(p, p.value(i)); !known {
			t.record(p, p.value(i), uid)
			return podCIDR(i), nil
		}
	}
	name, err := t.pick(p, uid)
	return name + "/24", err
}

func (t *tx) takeCIDR(cidr, uid string) bool {
	for i := range nodeCIDRs {
		if podCIDR(i) == cidr {
			return t.take(podCIDRPool, cidrName(cidr), uid)
		}
	}
	return false
}

// bindPod gives a pod that has just got its node an address there.
func (t *tx) bindPod(k api.Kind, next, live object.Object, tree map[string]any) error {
	node, _ := child(tree, "spec")["nodeName"].(string)
	if node == "" {
		return nil
	}
	if !live.IsZero() {
		if was, _ := child(live.Tree(), "spec")["nodeName"].(string); was != "" {
			return nil
		}
	}
	n, ok := t.get(api.Node.Key("", node))
	if !ok {
		return invalid(k, next.Name(), problem(api.CodeNotFound, ".spec.nodeName", "node %q does not exist", node))
	}
	if next.Meta().DeletionTimestamp != "" {
		return conflict(k, next.Name(), fmt.Sprintf("pod %s is being deleted, cannot be assigned to a host", next.Name()))
	}
	cidr, _ := child(n.Tree(), "spec")["podCIDR"].(string)
	p, err := podPool(cidr)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("node %s: %w", node, err))
	}
	ip, err := t.pick(p, next.Meta().UID)
	if err != nil {
		return err
	}
	status := child(tree, "status")
	status["podIP"], status["podIPs"] = ip, []any{map[string]any{"ip": ip}}
	setCondition(status, map[string]any{"type": "PodScheduled", "status": "True", "lastTransitionTime": t.now.Format(time.RFC3339)})
	return nil
}

// setCondition replaces the condition of c's type, or adds it.
func setCondition(status, c map[string]any) {
	list, _ := status["conditions"].([]any)
	for i := range list {
		if have, _ := list[i].(map[string]any); have["type"] == c["type"] {
			list[i] = c
			return
		}
	}
	status["conditions"] = append(list, c)
}

// release gives back what a removed object held.
func (t *tx) release(k api.Kind, o object.Object) {
	tree, uid := o.Tree(), o.Meta().UID
	spec := child(tree, "spec")
	switch k.GVK().GroupKind() {
	case api.Service.GVK().GroupKind():
		ips, ports := serviceAddresses(spec)
		for _, ip := range ips {
			t.give(clusterIPPool, ip, uid)
		}
		for _, port := range ports {
			t.give(nodePortPool, port, uid)
		}
	case api.Node.GVK().GroupKind():
		if cidr, _ := spec["podCIDR"].(string); cidr != "" {
			t.give(podCIDRPool, cidrName(cidr), uid)
		}
	case api.Pod.GVK().GroupKind():
		ip, _ := child(tree, "status")["podIP"].(string)
		if p, err := podPool(ip24(ip)); err == nil {
			t.give(p, ip, uid)
		}
	}
}

// ip24 returns the /24 that an IPv4 address is in, or "".
func ip24(ip string) string {
	a, err := netip.ParseAddr(ip)
	if err != nil {
		return ""
	}
	p, err := a.Prefix(24)
	if err != nil {
		return ""
	}
	return p.String()
}

func number(v any) int {
	n, _ := v.(json.Number)
	i, _ := strconv.Atoi(string(n))
	return i
}
