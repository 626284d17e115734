package network

import (
	"net/netip"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// tracker removes connection tracking entries that outlived what they were
// made for. The rules need no such help; address translation does, because it
// is decided once per connection.
type tracker struct {
	mu     sync.Mutex
	handle *netlink.Handle
}

func newTracker(t *thread) (*tracker, error) {
	var h *netlink.Handle
	err := t.do(func() error {
		var err error
		h, err = netlink.NewHandle(unix.NETLINK_NETFILTER)
		return err
	})
	return &tracker{handle: h}, err
}

func (t *tracker) close() { t.handle.Close() }

// forget removes the connections from and to an address.
func (t *tracker) forget(ip netip.Addr) error {
	return t.remove(matchFlow(func(f *netlink.ConntrackFlow) bool {
		for _, a := range [][]byte{f.Forward.SrcIP, f.Forward.DstIP, f.Reverse.SrcIP, f.Reverse.DstIP} {
			if addr, ok := netip.AddrFromSlice(a); ok && addr.Unmap() == ip {
				return true
			}
		}
		return false
	}))
}

// backend is one endpoint behind one virtual address.
type backend struct {
	proto    Protocol
	virtual  netip.AddrPort
	endpoint netip.AddrPort
}

// forgetBackends removes connections translated to an endpoint that is no
// longer behind the virtual address. A UDP client with a fixed port would
// otherwise keep its old endpoint for ever.
func (t *tracker) forgetBackends(gone map[backend]bool) error {
	if len(gone) == 0 {
		return nil
	}
	return t.remove(matchFlow(func(f *netlink.ConntrackFlow) bool {
		to, ok1 := netip.AddrFromSlice(f.Forward.DstIP)
		by, ok2 := netip.AddrFromSlice(f.Reverse.SrcIP)
		return ok1 && ok2 && gone[backend{
			proto:    Protocol(f.Forward.Protocol),
			virtual:  netip.AddrPortFrom(to.Unmap(), f.Forward.DstPort),
			endpoint: netip.AddrPortFrom(by.Unmap(), f.Reverse.SrcPort),
		}]
	}))
}

func (t *tracker) remove(m matchFlow) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := t.handle.ConntrackDeleteFilters(netlink.ConntrackTable, unix.AF_INET, m)
	return err
}

// matchFlow is a netlink.CustomConntrackFilter.
type matchFlow func(*netlink.ConntrackFlow) bool

// MatchConntrackFlow calls m.
func (m matchFlow) MatchConntrackFlow(f *netlink.ConntrackFlow) bool { return m(f) }
