//go:build linux

package network

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// checksum is the Internet checksum (RFC 1071).
func checksum(b []byte) uint16 {
	var sum uint32
	for ; len(b) >= 2; b = b[2:] {
		sum += uint32(b[0])<<8 | uint32(b[1])
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// ipv4 builds a packet. Offset and more describe a fragment.
func ipv4(from, to netip.Addr, proto Protocol, id, fragment uint16, payload []byte) []byte {
	h := make([]byte, 20, 20+len(payload))
	h[0], h[8], h[9] = 0x45, 64, byte(proto)
	binary.BigEndian.PutUint16(h[2:], uint16(20+len(payload)))
	binary.BigEndian.PutUint16(h[4:], id)
	binary.BigEndian.PutUint16(h[6:], fragment)
	f, t := from.As4(), to.As4()
	copy(h[12:], f[:])
	copy(h[16:], t[:])
	binary.BigEndian.PutUint16(h[10:], checksum(h))
	return append(h, payload...)
}

// tcp builds a segment with a valid checksum.
func tcp(from, to netip.AddrPort, flags byte, seq, ack uint32) []byte {
	s := make([]byte, 20)
	binary.BigEndian.PutUint16(s, from.Port())
	binary.BigEndian.PutUint16(s[2:], to.Port())
	binary.BigEndian.PutUint32(s[4:], seq)
	binary.BigEndian.PutUint32(s[8:], ack)
	s[12], s[13] = 5<<4, flags
	binary.BigEndian.PutUint16(s[14:], 1024)
	f, t := from.Addr().As4(), to.Addr().As4()
	pseudo := append(append(f[:], t[:]...), 0, byte(TCP), 0, byte(len(s)))
	binary.BigEndian.PutUint16(s[16:], checksum(append(pseudo, s...)))
	return s
}

func udp(from, to uint16, payload []byte) []byte {
	s := make([]byte, 8, 8+len(payload))
	binary.BigEndian.PutUint16(s, from)
	binary.BigEndian.PutUint16(s[2:], to)
	binary.BigEndian.PutUint16(s[4:], uint16(8+len(payload)))
	return append(s, payload...) // checksum 0: none
}

// inject sends packets from inside the pod as they are.
func (p *testPod) inject(packets ...[]byte) {
	p.t.Helper()
	p.in(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		defer unix.Close(fd)
		for _, b := range packets {
			to := &unix.SockaddrInet4{Addr: [4]byte(b[16:20])}
			if err := unix.Sendto(fd, b, 0, to); err != nil {
				return os.NewSyscallError("sendto", err)
			}
		}
		return nil
	})
}

// arrives reports how many packets reach the pod because of f. What a packet
// causes in the fabric happens before the send returns, or very soon after; the
// control that every test has shows that the wait is long enough.
func (p *testPod) arrives(f func()) uint64 {
	before := p.received()
	f()
	deadline := time.Now().Add(100 * time.Millisecond)
	for time.Now().Before(deadline) && p.received() == before {
		time.Sleep(time.Millisecond)
	}
	return p.received() - before
}

// Cases 9, 18, 21, 22, 25: what raw sockets can do. A pod has no right to
// open one; the network does not rely on that.
func TestForgedPackets(t *testing.T) {
	f := newFabric(t)
	web, store, intruder := pod(t, f, 1), pod(t, f, 2), pod(t, f, 3)
	const port = 6379
	allowed := []Edge{edge(web, store, TCP, port), edge(web, store, UDP, port)}
	program(t, f, State{Edges: allowed})
	at := netip.AddrPortFrom
	const syn, ack = 0x02, 0x10
	server, client, other := at(store.ip, port), at(web.ip, 4000), at(intruder.ip, 4000)
	big := make([]byte, 64)
	whole := udp(4000, port, big)
	const more = 0x2000
	for _, c := range []struct {
		name    string
		from    *testPod
		to      *testPod
		arrives bool
		packets [][]byte
	}{
		{"control: SYN of the declared", web, store, true, [][]byte{ipv4(web.ip, store.ip, TCP, 1, 0, tcp(client, server, syn, 1, 0))}},
		{"control: UDP of the declared", web, store, true, [][]byte{ipv4(web.ip, store.ip, UDP, 2, 0, whole)}},
		{"control: fragments of the declared", web, store, true, [][]byte{
			ipv4(web.ip, store.ip, UDP, 3, more, whole[:48]), ipv4(web.ip, store.ip, UDP, 3, 6, whole[48:])}},
		{"source of the declared", intruder, store, false, [][]byte{ipv4(web.ip, store.ip, TCP, 4, 0, tcp(client, server, syn, 1, 0))}},
		{"source of the declared, UDP", intruder, store, false, [][]byte{ipv4(web.ip, store.ip, UDP, 5, 0, whole)}},
		{"source of the gateway", intruder, store, false, [][]byte{ipv4(Gateway(), store.ip, TCP, 6, 0, tcp(at(Gateway(), 1), server, syn, 1, 0))}},
		{"source of nobody", intruder, store, false, [][]byte{ipv4(netip.MustParseAddr("192.0.2.1"), store.ip, UDP, 7, 0, whole)}},
		{"SYN of the undeclared", intruder, store, false, [][]byte{ipv4(intruder.ip, store.ip, TCP, 8, 0, tcp(other, server, syn, 1, 0))}},
		{"ACK in the middle", intruder, store, false, [][]byte{ipv4(intruder.ip, store.ip, TCP, 9, 0, tcp(other, server, ack, 9, 9))}},
		{"SYN-ACK first", intruder, store, false, [][]byte{ipv4(intruder.ip, store.ip, TCP, 10, 0, tcp(other, server, syn|ack, 1, 1))}},
		{"server's port as source", store, web, false, [][]byte{ipv4(store.ip, web.ip, TCP, 11, 0, tcp(server, at(web.ip, 4001), syn, 1, 0))}},
		{"second fragment alone", intruder, store, false, [][]byte{ipv4(intruder.ip, store.ip, UDP, 12, 6, whole[48:])}},
		{"fragments of the undeclared", intruder, store, false, [][]byte{
			ipv4(intruder.ip, store.ip, UDP, 13, more, whole[:48]), ipv4(intruder.ip, store.ip, UDP, 13, 6, whole[48:])}},
		{"GRE", web, store, false, [][]byte{ipv4(web.ip, store.ip, 47, 14, 0, big)}},
		{"ESP", web, store, false, [][]byte{ipv4(web.ip, store.ip, 50, 15, 0, big)}},
		{"IP in IP", web, store, false, [][]byte{ipv4(web.ip, store.ip, 4, 16, 0, ipv4(web.ip, store.ip, UDP, 17, 0, whole))}},
		{"SCTP", web, store, false, [][]byte{ipv4(web.ip, store.ip, 132, 18, 0, big)}},
		{"ICMP echo", web, store, false, [][]byte{ipv4(web.ip, store.ip, ICMP, 19, 0, []byte{8, 0, 0xf7, 0xff, 0, 0, 0, 0})}},
		{"ICMP error about nothing", intruder, store, false, [][]byte{ipv4(intruder.ip, store.ip, ICMP, 20, 0,
			append([]byte{3, 4, 0, 0, 0, 0, 2, 0}, ipv4(store.ip, web.ip, TCP, 1, 0, tcp(server, client, ack, 1, 1))...))}},
	} {
		got := c.to.arrives(func() { c.from.inject(c.packets...) })
		if (got > 0) != c.arrives {
			t.Errorf("%s: %d packets arrived", c.name, got)
		}
	}
}

// Case 19: errors about allowed packets come back.
func TestErrorsComeBack(t *testing.T) {
	f := newFabric(t)
	web, store := pod(t, f, 1), pod(t, f, 2)
	program(t, f, State{Edges: []Edge{edge(web, store, UDP, 6379)}})
	c, err := web.dial("udp", store.addr(6379))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// Nobody listens there: the server's kernel says "port unreachable".
	if err := ask(c, 2*time.Second); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("a closed UDP port: %v", err)
	}
	// The way turns out to be narrow.
	if got := web.arrives(func() {
		sent := ipv4(web.ip, store.ip, UDP, 1, 0x4000, udp(uint16(c.LocalAddr().(*net.UDPAddr).Port), 6379, []byte("hello")))
		message := append([]byte{3, 4, 0, 0, 0, 0, 0x02, 0x40}, sent[:28]...)
		binary.BigEndian.PutUint16(message[2:], checksum(message))
		store.inject(ipv4(store.ip, web.ip, ICMP, 2, 0, message))
	}); got == 0 {
		t.Error("a path MTU message about a declared flow did not arrive")
	}
}

// Case 20: there is no IPv6 to go by.
func TestNoIPv6(t *testing.T) {
	f := newFabric(t)
	web, store := pod(t, f, 1), pod(t, f, 2)
	store.echo(6379)
	program(t, f, State{Edges: []Edge{edge(web, store, TCP, 6379)}})
	web.works("tcp", store.addr(6379))
	links, err := web.link.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		addrs, err := web.link.AddrList(l, unix.AF_INET6)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range addrs {
			if !a.IP.IsLoopback() {
				t.Errorf("pod has %s on %s", a.IP, l.Attrs().Name)
			}
		}
	}
	for _, to := range []string{"[ff02::1%eth0]:6379", "[fe80::1%eth0]:6379", "[2001:db8::1]:6379"} {
		if got := store.arrives(func() {
			if c, err := web.dial("udp6", to); err == nil {
				_, _ = c.Write([]byte("hello"))
				c.Close()
			}
		}); got != 0 {
			t.Errorf("%s: %d packets arrived", to, got)
		}
	}
}

// Cases 27, 33: the node offers pods DNS and nothing else, and there is no way
// out.
func TestNodeAndOutside(t *testing.T) {
	f := newFabric(t)
	web := pod(t, f, 1)
	for _, address := range []string{"169.254.1.1:53", "169.254.1.1:10250"} {
		l, err := f.Listen(t.Context(), "tcp4", address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					b := make([]byte, 5)
					if n, err := c.Read(b); err == nil {
						_, _ = c.Write(b[:n])
					}
				}()
			}
		}()
	}
	web.works("tcp", "169.254.1.1:53")
	for _, address := range []string{"169.254.1.1:10250", "169.254.169.254:80", "8.8.8.8:53", "8.8.8.8:853", "127.0.0.53:53", "10.64.0.99:80"} {
		network := "tcp"
		web.refused(network, address, nil)
	}
	web.refused("udp", "8.8.8.8:53", nil)
	refusalTo(t, f, web, "8.8.8.8:53", UDP)
	web.refused("tcp", "169.254.1.1:10250", nil) // the first look took what was counted before
	refusalTo(t, f, web, "169.254.1.1:10250", TCP)
}

// The agent reaches pods, and its answers come back; nothing else of the host
// is in the namespace.
func TestDialFromNode(t *testing.T) {
	f := newFabric(t)
	web := pod(t, f, 1)
	web.echo(8080)
	for _, network := range []string{"tcp", "udp"} {
		c, err := f.Dial(t.Context(), network, web.addr(8080))
		if err != nil {
			t.Fatal(err)
		}
		if err := ask(c, 2*time.Second); err != nil {
			t.Errorf("%s: %v", network, err)
		}
		if from := c.LocalAddr().String(); netip.MustParseAddrPort(from).Addr() != Gateway() {
			t.Errorf("%s: source %s", network, from)
		}
		c.Close()
	}
	if _, err := f.Dial(t.Context(), "tcp", web.addr(8081)); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("closed port: %v", err)
	}
	for _, bad := range []string{"localhost:80", "[::1]:80", "10.64.0.1"} {
		if _, err := f.Dial(t.Context(), "tcp", bad); err == nil {
			t.Errorf("dialled %s", bad)
		}
	}
}

// Cases 6, 7, 8: an address changes hands. Neither rights nor flows do.
func TestAddressReuse(t *testing.T) {
	f := newFabric(t)
	web, store := pod(t, f, 1), pod(t, f, 2)
	store.echo(6379)
	s := State{
		Edges:    []Edge{edge(web, store, UDP, 6379)},
		Services: []Service{{IP: vip, Proto: UDP, Port: 80, Endpoints: []netip.AddrPort{netip.AddrPortFrom(store.ip, 6379)}}},
	}
	program(t, f, s)
	flow := web.works("udp", "10.96.0.10:80")
	if err := f.Attach(t.Context(), PodNet{UID: "thief", IP: store.ip, NetNS: web.ns}); err == nil {
		t.Error("an address was given away twice")
	}
	if err := f.Detach(store.uid); err != nil {
		t.Fatal(err)
	}
	if err := f.Detach(store.uid); !errors.Is(err, ErrNotAttached) {
		t.Errorf("detached twice: %v", err)
	}
	program(t, f, State{})
	next := pod(t, f, 2)
	next.echo(6379)
	before := next.received()
	if err := ask(flow, 300*time.Millisecond); err == nil {
		t.Error("a flow went on to the next holder of its server's address")
	}
	web.refused("udp", "10.96.0.10:80", next)
	if got := next.received() - before; got != 0 {
		t.Errorf("%d packets reached the next holder", got)
	}
	program(t, f, s)
	web.works("udp", "10.96.0.10:80")
}
