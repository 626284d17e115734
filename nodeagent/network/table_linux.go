package network

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Bounds of the table.
const (
	// kernelTimeout bounds every exchange with the kernel.
	kernelTimeout = 5 * time.Second
	// maxRefused is how many different refused targets are kept, refusedAge for
	// how long after the last attempt.
	maxRefused = 8192
	refusedAge = 10 * time.Minute
	// slots is over how many equal shares a Service spreads its endpoints, and
	// so the most that it can have.
	slots = 64
	// sendBuffer is what we ask for; an ordinary user gets less.
	sendBuffer = 16 << 20
)

// rules is the nftables table of the node.
type rules struct {
	thread *thread
	table  *nftables.Table
	sets   sets

	write sync.Mutex // serialises transactions and guards what follows
	w     *channel
	now   programmed
	dirty bool

	read sync.Mutex // serialises dumps and guards what follows
	r    *channel
	seen map[[keyLen]byte]uint64
}

// sets are the table's sets and maps.
type sets struct {
	// pods holds who may send from which link: iif . ip saddr.
	pods *nftables.Set
	// hairpin holds every pod's address twice: ip saddr . ip daddr.
	hairpin *nftables.Set
	// edges holds what is allowed: ip saddr . ip daddr . proto . port.
	edges *nftables.Set
	// services maps ip daddr . proto . port . slot to an endpoint.
	services *nftables.Set
	// refused is filled by the rules: ip saddr . original ip daddr . proto . port.
	refused *nftables.Set
}

// channel is a netlink socket with the options we need.
type channel struct {
	conn   *nftables.Conn
	socket *netlink.Conn
	// budget is the number of bytes one transaction may have.
	budget int
}

func openChannel(t *thread) (*channel, error) {
	c := &channel{}
	err := t.do(func() error {
		var err error
		c.conn, err = nftables.New(nftables.AsLasting(), nftables.WithSockOptions(func(s *netlink.Conn) error {
			c.socket = s
			return nil
		}))
		return err
	})
	if err != nil {
		return nil, err
	}
	// Asking for more than an ordinary user may have gets what they may have.
	if err := c.socket.SetWriteBuffer(sendBuffer); err != nil {
		return nil, err
	}
	if err := c.socket.SetReadBuffer(sendBuffer); err != nil {
		return nil, err
	}
	raw, err := c.socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	err2 := raw.Control(func(fd uintptr) {
		c.budget, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF)
	})
	if err2 != nil {
		return nil, err2
	}
	// The kernel refuses a message larger than its buffer; stay well below.
	c.budget = c.budget * 3 / 4
	return c, err
}

// flush sends the buffered messages as one transaction, in bounded time.
func (c *channel) flush() error {
	if err := c.socket.SetDeadline(time.Now().Add(kernelTimeout)); err != nil {
		return err
	}
	return c.conn.Flush()
}

func (c *channel) dump(s *nftables.Set) ([]nftables.SetElement, error) {
	if err := c.socket.SetDeadline(time.Now().Add(kernelTimeout)); err != nil {
		return nil, err
	}
	return c.conn.GetSetElements(s)
}

func (c *channel) close() error { return c.conn.CloseLasting() }

// loadRules makes the table, empty of pods and edges.
func loadRules(t *thread) (*rules, error) {
	r := &rules{
		thread: t, seen: map[[keyLen]byte]uint64{},
		now:   programmed{edges: map[Edge]bool{}, slots: map[slot]slotTarget{}},
		table: &nftables.Table{Family: nftables.TableFamilyIPv4, Name: "writ"},
	}
	var err error
	if r.w, err = openChannel(t); err != nil {
		return nil, err
	}
	if r.r, err = openChannel(t); err != nil {
		return nil, err
	}
	r.w.conn.AddTable(r.table)
	if err := r.addSets(); err != nil {
		return nil, err
	}
	r.addChains()
	r.dropIPv6()
	return r, r.w.flush()
}

func (r *rules) close() error {
	r.write.Lock()
	defer r.write.Unlock()
	r.read.Lock()
	defer r.read.Unlock()
	var errs []error
	for _, c := range []**channel{&r.w, &r.r} {
		if *c != nil {
			errs = append(errs, (*c).close())
			*c = nil
		}
	}
	return errors.Join(errs...)
}

func (r *rules) addSets() error {
	concat := func(name string, types ...nftables.SetDatatype) *nftables.Set {
		return &nftables.Set{
			Table: r.table, Name: name, Concatenation: true,
			KeyType: nftables.MustConcatSetType(types...),
		}
	}
	ip, proto, port := nftables.TypeIPAddr, nftables.TypeInetProto, nftables.TypeInetService
	r.sets.pods = concat("pods", nftables.TypeIFIndex, ip)
	r.sets.hairpin = concat("hairpin", ip, ip)
	r.sets.edges = concat("edges", ip, ip, proto, port)
	r.sets.edges.Counter = true
	r.sets.services = concat("services", ip, proto, port, nftables.TypeInteger)
	r.sets.services.IsMap = true
	r.sets.services.DataType = nftables.MustConcatSetType(ip, port)
	r.sets.refused = concat("refused", ip, ip, proto, port)
	r.sets.refused.Counter, r.sets.refused.Dynamic = true, true
	r.sets.refused.HasTimeout, r.sets.refused.Timeout, r.sets.refused.Size = true, refusedAge, maxRefused
	for _, s := range []*nftables.Set{r.sets.pods, r.sets.hairpin, r.sets.edges, r.sets.services, r.sets.refused} {
		if err := r.w.conn.AddSet(s, nil); err != nil {
			return fmt.Errorf("add set %s: %w", s.Name, err)
		}
	}
	return nil
}

// writer opens the write channel if there is none. A closed nftables.Conn
// would open sockets in whatever namespace its caller happens to be: it must
// not be used again.
func (r *rules) writer() (err error) {
	if r.w == nil {
		r.w, err = openChannel(r.thread)
	}
	return err
}

// recover drops the write channel after an error: what is left of the failed
// exchange must not be read as the answer to the next.
func (r *rules) recover() {
	r.dirty = true
	_ = r.w.close()
	r.w = nil
}
