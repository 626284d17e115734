package network

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// podLink is the name of the link inside a pod.
const podLink = "eth0"

// nodeSysctls makes the calling thread's namespace a router for IPv4 that
// stays out of its pods' way.
func nodeSysctls() error {
	for _, s := range [][2]string{
		{"ipv4/ip_forward", "1"},
		// Two pods never share a link: "a shorter way" does not exist, and a
		// pod that calls its own Service must not be told of one.
		{"ipv4/conf/all/send_redirects", "0"},
		{"ipv4/conf/default/send_redirects", "0"},
		{"ipv4/conf/all/accept_redirects", "0"},
		{"ipv4/conf/default/accept_redirects", "0"},
	} {
		if err := writeSysctl(s[0], s[1]); err != nil {
			return err
		}
	}
	return optionalSysctls([][2]string{
		{"ipv6/conf/all/disable_ipv6", "1"},
		{"ipv6/conf/default/disable_ipv6", "1"},
		// A packet in the middle of an unknown connection starts no new one.
		{"netfilter/nf_conntrack_tcp_loose", "0"},
	})
}

// podSysctls prepares an empty pod namespace: links other than loopback speak
// no IPv6, and an ordinary user may listen on any port.
func podSysctls() error {
	return optionalSysctls([][2]string{
		{"ipv6/conf/default/disable_ipv6", "1"},
		{"ipv4/ip_unprivileged_port_start", "0"},
	})
}

// optionalSysctls writes those that this kernel has.
func optionalSysctls(list [][2]string) error {
	for _, s := range list {
		if err := writeSysctl(s[0], s[1]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// podHandle prepares a pod's namespace and returns a netlink socket in it.
func podHandle(fd int) (*netlink.Handle, error) {
	var h *netlink.Handle
	err := inNamespace(fd, func() error {
		if err := podSysctls(); err != nil {
			return err
		}
		var err error
		h, err = netlink.NewHandle(unix.NETLINK_ROUTE)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("prepare pod namespace: %w", err)
	}
	return h, nil
}

// nodeSide brings the node's end up and routes the pod's address to it. The
// neighbour is fixed: nothing a pod says by ARP matters.
func (f *Fabric) nodeSide(link netlink.Link, ip netip.Addr) error {
	if err := f.route.LinkSetUp(link); err != nil {
		return err
	}
	if err := f.route.NeighSet(&netlink.Neigh{
		LinkIndex: link.Attrs().Index, State: netlink.NUD_PERMANENT,
		IP: ip.AsSlice(), HardwareAddr: hardware(1, ip),
	}); err != nil {
		return err
	}
	return f.route.RouteAdd(&netlink.Route{
		LinkIndex: link.Attrs().Index, Dst: host(ip),
		Src: Gateway().AsSlice(), Scope: netlink.SCOPE_LINK,
	})
}

// podSide gives the pod its address and one route, through the gateway.
func podSide(h *netlink.Handle, ip netip.Addr) error {
	lo, err := h.LinkByName("lo")
	if err != nil {
		return err
	}
	if err := h.LinkSetUp(lo); err != nil {
		return err
	}
	eth, err := h.LinkByName(podLink)
	if err != nil {
		return err
	}
	if err := h.AddrAdd(eth, &netlink.Addr{IPNet: host(ip)}); err != nil {
		return err
	}
	if err := h.LinkSetUp(eth); err != nil {
		return err
	}
	index, gateway := eth.Attrs().Index, Gateway()
	if err := h.NeighSet(&netlink.Neigh{
		LinkIndex: index, State: netlink.NUD_PERMANENT,
		IP: gateway.AsSlice(), HardwareAddr: hardware(0, ip),
	}); err != nil {
		return err
	}
	if err := h.RouteAdd(&netlink.Route{LinkIndex: index, Dst: host(gateway), Scope: netlink.SCOPE_LINK}); err != nil {
		return err
	}
	return h.RouteAdd(&netlink.Route{LinkIndex: index, Gw: gateway.AsSlice()})
}

// carrierTime bounds the wait for a new link.
const carrierTime = 5 * time.Second

// awaitCarrier waits until a link that was set up can send. The kernel makes
// it ready in the background, later on a busy machine, and drops what is sent
// before: a datagram would be lost, a connection would take a second.
func awaitCarrier(ctx context.Context, h *netlink.Handle, name string) error {
	ctx, cancel := context.WithTimeout(ctx, carrierTime)
	defer cancel()
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		link, err := h.LinkByName(name)
		if err != nil {
			return err
		}
		if link.Attrs().OperState == netlink.OperUp {
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("wait for carrier on %s, which is %s: %w", name, link.Attrs().OperState, ctx.Err())
		}
	}
}

// hardware is a locally administered address, unique on the node: end 0 is
// the node's, 1 the pod's.
func hardware(end byte, ip netip.Addr) net.HardwareAddr {
	b := ip.As4()
	return net.HardwareAddr{0x02, end, b[0], b[1], b[2], b[3]}
}

// host is the /32 of an address.
func host(ip netip.Addr) *net.IPNet {
	return &net.IPNet{IP: ip.AsSlice(), Mask: net.CIDRMask(32, 32)}
}
