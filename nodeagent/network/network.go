// Package network gives pods their addresses and enforces the access that was
// granted to them. A Fabric is the network of one node: a namespace of its own
// in which every pod hangs on a routed veth pair, so that each packet between
// two pods crosses the fabric's rules.
//
// The rules, in one nftables table, hold these invariants:
//
//   - Nothing is allowed but what Program was last given, plus DNS to Gateway
//     and the agent's own connections to pods. There is no moment between two
//     programs in which neither the old nor the new rules hold.
//   - Every packet is looked up, in both directions; an established connection
//     has no privilege. Removing an edge stops its live connections.
//   - A pod can only send from its own address.
//   - What is refused is answered at once (TCP reset, ICMP administratively
//     prohibited) and counted with its original destination.
//
// The fabric works for root and inside a user namespace alike. It belongs to
// the process: when that ends, however it ends, the kernel removes namespace,
// links and rules. The package never resolves names and never decides who may
// talk to whom.
package network

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
)

// ErrUnsupported is returned by Open on systems other than Linux.
var ErrUnsupported = errors.New("pod networking needs Linux")

// ErrNotAttached is returned by Detach for an unknown pod.
var ErrNotAttached = errors.New("pod is not attached")

// Protocol is an IP protocol number.
type Protocol uint8

// The protocols an Edge can have.
const (
	ICMP Protocol = 1
	TCP  Protocol = 6
	UDP  Protocol = 17
)

// String returns "TCP", "UDP", "ICMP" or the number.
func (p Protocol) String() string {
	switch p {
	case TCP:
		return "TCP"
	case UDP:
		return "UDP"
	case ICMP:
		return "ICMP"
	}
	return fmt.Sprint(uint8(p))
}

// ParseProtocol reads a Kubernetes protocol name; empty means TCP.
func ParseProtocol(s string) (Protocol, error) {
	switch s {
	case "", "TCP":
		return TCP, nil
	case "UDP":
		return UDP, nil
	}
	return 0, fmt.Errorf("protocol %q is not supported", s)
}

// Gateway returns the node's address as pods see it: their default route, the
// address of their DNS server and the source of probes.
func Gateway() netip.Addr { return netip.AddrFrom4([4]byte{169, 254, 1, 1}) }

// Options configure a Fabric.
type Options struct {
	// Logger receives one line per attached and detached pod; nil discards.
	Logger *slog.Logger
}

// PodNet is what Attach needs to know of a pod.
type PodNet struct {
	UID string
	// IP is the pod's IPv4 address.
	IP netip.Addr
	// NetNS is a file descriptor of the pod's empty network namespace.
	NetNS int
}

// Edge allows one pod to reach one address and port. To is the address of the
// pod that answers, never a Service's.
type Edge struct {
	From, To netip.Addr
	Proto    Protocol
	Port     uint16
}

// Service is a virtual address that stands for its endpoints. Without
// endpoints it refuses at once.
type Service struct {
	IP        netip.Addr
	Proto     Protocol
	Port      uint16
	Endpoints []netip.AddrPort
}

// State is everything a Fabric should allow; order and duplicates are
// irrelevant. Edges are needed to the endpoints of a Service as well.
type State struct {
	Edges    []Edge
	Services []Service
}

// Count is the traffic of an edge, both directions together, since it was
// programmed.
type Count struct {
	Packets, Bytes uint64
}

// Refusal is a number of refused attempts: TCP connection requests, or packets
// of other protocols.
type Refusal struct {
	From netip.Addr
	// To is where the pod wanted to go: the virtual address if it used one.
	To    netip.Addr
	Proto Protocol
	// Port is 0 for protocols without ports.
	Port    uint16
	Packets uint64
}
