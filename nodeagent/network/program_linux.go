package network

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/google/nftables"
)

const (
	// keyLen is the length of the longest key: four registers.
	keyLen = 16
	// elementSize is more than one element takes in a message, chunk how many
	// go into one: attributes are shorter than 64 KiB.
	elementSize = 96
	chunk       = 600
)

// programmed is what the kernel holds, in our terms.
type programmed struct {
	edges map[Edge]bool
	slots map[slot]slotTarget
}

// slot is one of the equal shares of a Service.
type slot struct {
	to    netip.AddrPort
	proto Protocol
	n     uint32
}

type slotTarget netip.AddrPort

// program makes the kernel hold s, and returns which endpoints left which
// Service.
func (r *rules) program(s State) (map[backend]bool, error) {
	want, err := resolve(s)
	if err != nil {
		return nil, err
	}
	r.write.Lock()
	defer r.write.Unlock()
	if err := r.writer(); err != nil {
		return nil, err
	}
	gone := departed(r.now, want)
	if r.dirty {
		r.now = programmed{}
	}
	d := difference(r.now, want)
	if err := r.send(d); err != nil {
		r.recover()
		return nil, err
	}
	r.now, r.dirty = want, false
	return gone, nil
}

// resolve checks s and lays it out as elements.
func resolve(s State) (programmed, error) {
	p := programmed{edges: make(map[Edge]bool, len(s.Edges)), slots: map[slot]slotTarget{}}
	for _, e := range s.Edges {
		if !e.From.Is4() || !e.To.Is4() {
			return p, fmt.Errorf("edge %s to %s is not IPv4", e.From, e.To)
		}
		p.edges[e] = true
	}
	for _, v := range s.Services {
		if !v.IP.Is4() {
			return p, fmt.Errorf("service address %q is not IPv4", v.IP)
		}
		ends := v.Endpoints
		if len(ends) > slots {
			ends = ends[:slots]
		}
		for n := range uint32(slots) {
			if len(ends) == 0 {
				break
			}
			end := ends[int(n)%len(ends)]
			if !end.Addr().Is4() {
				return p, fmt.Errorf("endpoint %s of service %s is not IPv4", end, v.IP)
			}
			p.slots[slot{netip.AddrPortFrom(v.IP, v.Port), v.Proto, n}] = slotTarget(end)
		}
	}
	return p, nil
}

// departed lists the endpoints that are in was and not in want.
func departed(was, want programmed) map[backend]bool {
	gone := map[backend]bool{}
	for s, t := range was.slots {
		gone[backend{s.proto, s.to, netip.AddrPort(t)}] = true
	}
	for s, t := range want.slots {
		delete(gone, backend{s.proto, s.to, netip.AddrPort(t)})
	}
	return gone
}

// delta is the elements to add and to delete.
type delta struct {
	// rebuild says that the kernel's content is unknown: empty the sets first.
	rebuild            bool
	addEdges, delEdges []nftables.SetElement
	addSlots, delSlots []nftables.SetElement
}

func difference(now, want programmed) *delta {
	d := &delta{rebuild: now.edges == nil}
	for e := range want.edges {
		if !now.edges[e] {
			d.addEdges = append(d.addEdges, nftables.SetElement{Key: edgeKey(e)})
		}
	}
	for e := range now.edges {
		if !want.edges[e] {
			d.delEdges = append(d.delEdges, nftables.SetElement{Key: edgeKey(e)})
		}
	}
	for s, t := range want.slots {
		old, ok := now.slots[s]
		if ok && old == t {
			continue
		}
		if ok {
			d.delSlots = append(d.delSlots, slotElement(s, old))
		}
		d.addSlots = append(d.addSlots, slotElement(s, t))
	}
	for s, t := range now.slots {
		if _, ok := want.slots[s]; !ok {
			d.delSlots = append(d.delSlots, slotElement(s, t))
		}
	}
	return d
}

// send applies d: in one transaction, or, where the socket of an ordinary user
// is too small for that, in several that first add and then delete. Edges to
// new endpoints are there before a Service leads to them.
func (r *rules) send(d *delta) error {
	if d.rebuild {
		r.w.conn.FlushSet(r.sets.edges)
		r.w.conn.FlushSet(r.sets.services)
	}
	pending := 0
	for _, step := range []struct {
		set      *nftables.Set
		elements []nftables.SetElement
		change   func(*nftables.Set, []nftables.SetElement) error
	}{
		{r.sets.edges, d.addEdges, r.w.conn.SetAddElements},
		{r.sets.services, d.delSlots, r.w.conn.SetDeleteElements},
		{r.sets.services, d.addSlots, r.w.conn.SetAddElements},
		{r.sets.edges, d.delEdges, r.w.conn.SetDeleteElements},
	} {
		for rest := step.elements; len(rest) > 0; {
			n := min(chunk, len(rest))
			// A Service's old and new slots stay together.
			if pending > 0 && pending+n*elementSize > r.w.budget && step.set == r.sets.edges {
				if err := r.w.flush(); err != nil {
					return err
				}
				pending = 0
			}
			if err := step.change(step.set, rest[:n]); err != nil {
				return err
			}
			pending += n * elementSize
			rest = rest[n:]
		}
	}
	return r.w.flush()
}

// addPod lets a pod send from its address on its link; removePod forbids it.
func (r *rules) addPod(link int, ip netip.Addr) error {
	return r.changePod(link, ip, (*nftables.Conn).SetAddElements)
}

func (r *rules) removePod(link int, ip netip.Addr) error {
	return r.changePod(link, ip, (*nftables.Conn).SetDeleteElements)
}

func (r *rules) changePod(link int, ip netip.Addr, change func(*nftables.Conn, *nftables.Set, []nftables.SetElement) error) error {
	b := ip.As4()
	source := binary.NativeEndian.AppendUint32(nil, uint32(link))
	source = append(source, b[:]...)
	r.write.Lock()
	defer r.write.Unlock()
	if err := r.writer(); err != nil {
		return err
	}
	err := errors.Join(
		change(r.w.conn, r.sets.pods, []nftables.SetElement{{Key: source}}),
		change(r.w.conn, r.sets.hairpin, []nftables.SetElement{{Key: append(b[:], b[:]...)}}),
	)
	if err == nil {
		err = r.w.flush()
	}
	if err != nil {
		r.recover()
		return fmt.Errorf("set the pod's source address: %w", err)
	}
	return nil
}

// edgeKey is saddr . daddr . proto . port, each padded to four bytes.
func edgeKey(e Edge) []byte {
	k := make([]byte, keyLen)
	from, to := e.From.As4(), e.To.As4()
	copy(k, from[:])
	copy(k[4:], to[:])
	k[8] = byte(e.Proto)
	binary.BigEndian.PutUint16(k[12:], e.Port)
	return k
}

func parseEdgeKey(k []byte) (Edge, bool) {
	if len(k) < keyLen {
		return Edge{}, false
	}
	return Edge{
		From: netip.AddrFrom4([4]byte(k[0:4])), To: netip.AddrFrom4([4]byte(k[4:8])),
		Proto: Protocol(k[8]), Port: binary.BigEndian.Uint16(k[12:]),
	}, true
}

// slotElement maps daddr . proto . port . slot to an address and port.
func slotElement(s slot, t slotTarget) nftables.SetElement {
	k := make([]byte, keyLen)
	to := s.to.Addr().As4()
	copy(k, to[:])
	k[4] = byte(s.proto)
	binary.BigEndian.PutUint16(k[8:], s.to.Port())
	binary.NativeEndian.PutUint32(k[12:], s.n)
	end := netip.AddrPort(t)
	v := make([]byte, 8)
	ip := end.Addr().As4()
	copy(v, ip[:])
	binary.BigEndian.PutUint16(v[4:], end.Port())
	return nftables.SetElement{Key: k, Val: v}
}
