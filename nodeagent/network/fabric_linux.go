package network

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Fabric is the network of one node. All methods are safe for concurrent use.
type Fabric struct {
	log    *slog.Logger
	thread *thread
	route  *netlink.Handle
	rules  *rules
	tracks *tracker

	mu     sync.Mutex // guards what follows
	closed bool
	serial uint64
	pods   map[string]*attachment
	owner  map[netip.Addr]string
}

// attachment is a pod on the fabric.
type attachment struct {
	ip    netip.Addr
	name  string
	index int
}

// Open makes the node's network namespace and loads the rules, which refuse
// everything. The caller must Close it.
func Open(o Options) (*Fabric, error) {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	t, err := startThread()
	if err != nil {
		return nil, err
	}
	f := &Fabric{log: log, thread: t, pods: map[string]*attachment{}, owner: map[netip.Addr]string{}}
	if err := f.setUp(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *Fabric) setUp() error {
	var err error
	err = f.thread.do(func() error {
		if err := nodeSysctls(); err != nil {
			return err
		}
		f.route, err = netlink.NewHandle(unix.NETLINK_ROUTE)
		return err
	})
	if err != nil {
		return fmt.Errorf("set up network namespace: %w", err)
	}
	if err := f.loopback(); err != nil {
		return fmt.Errorf("set up loopback: %w", err)
	}
	if f.tracks, err = newTracker(f.thread); err != nil {
		return fmt.Errorf("open connection tracking: %w", err)
	}
	if f.rules, err = loadRules(f.thread); err != nil {
		return fmt.Errorf("load packet rules: %w", err)
	}
	return nil
}

// loopback brings lo up and gives it the gateway's address, which the node
// then answers for on every link.
func (f *Fabric) loopback() error {
	lo, err := f.route.LinkByName("lo")
	if err != nil {
		return err
	}
	if err := f.route.LinkSetUp(lo); err != nil {
		return err
	}
	return f.route.AddrAdd(lo, &netlink.Addr{IPNet: host(Gateway())})
}

// Close detaches every pod and gives the namespace back. The links and rules
// go with it.
func (f *Fabric) Close() error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	f.closed = true
	f.mu.Unlock()
	var errs []error
	for _, uid := range f.attached() {
		errs = append(errs, f.Detach(uid))
	}
	if f.rules != nil {
		errs = append(errs, f.rules.close())
	}
	if f.tracks != nil {
		f.tracks.close()
	}
	if f.route != nil {
		f.route.Close()
	}
	f.thread.stop()
	return errors.Join(errs...)
}

func (f *Fabric) attached() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	uids := make([]string, 0, len(f.pods))
	for uid := range f.pods {
		uids = append(uids, uid)
	}
	return uids
}

// Attach connects a pod: it can answer the node's probes and ask for names,
// and reach what Program allows its address.
func (f *Fabric) Attach(ctx context.Context, p PodNet) error {
	if !p.IP.Is4() {
		return fmt.Errorf("attach pod %s: %q is not an IPv4 address", p.UID, p.IP)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	a, err := f.reserve(p)
	if err != nil {
		return fmt.Errorf("attach pod %s: %w", p.UID, err)
	}
	if err := f.connect(ctx, p, a); err != nil {
		f.release(p.UID)
		return fmt.Errorf("attach pod %s: %w", p.UID, errors.Join(err, f.disconnect(a)))
	}
	f.log.Info("attached pod to network", "pod", p.UID, "ip", p.IP.String(), "link", a.name)
	return nil
}

// reserve takes the address for the pod.
func (f *Fabric) reserve(p PodNet) (*attachment, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errClosed
	}
	if f.pods[p.UID] != nil {
		return nil, errors.New("it is attached already")
	}
	if other, ok := f.owner[p.IP]; ok {
		return nil, fmt.Errorf("address %s belongs to pod %s", p.IP, other)
	}
	f.serial++
	a := &attachment{ip: p.IP, name: fmt.Sprintf("w%x", f.serial)}
	f.pods[p.UID], f.owner[p.IP] = a, p.UID
	return a, nil
}

func (f *Fabric) release(uid string) *attachment {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.pods[uid]
	if a != nil {
		delete(f.pods, uid)
		delete(f.owner, a.ip)
	}
	return a
}

// connect makes the veth pair. The pod's end is born in the pod's namespace.
// The rules know the link before it comes up.
func (f *Fabric) connect(ctx context.Context, p PodNet, a *attachment) error {
	// A new holder of an address must not inherit its predecessor's flows.
	if err := f.tracks.forget(p.IP); err != nil {
		return err
	}
	inside, err := podHandle(p.NetNS)
	if err != nil {
		return err
	}
	defer inside.Close()
	veth := &netlink.Veth{
		LinkAttrs:        netlink.LinkAttrs{Name: a.name, HardwareAddr: hardware(0, a.ip)},
		PeerName:         podLink,
		PeerHardwareAddr: hardware(1, a.ip),
		PeerNamespace:    netlink.NsFd(p.NetNS),
	}
	if err := f.route.LinkAdd(veth); err != nil {
		return fmt.Errorf("make veth: %w", err)
	}
	link, err := f.route.LinkByName(a.name)
	if err != nil {
		return err
	}
	a.index = link.Attrs().Index
	if err := f.rules.addPod(a.index, a.ip); err != nil {
		return err
	}
	if err := f.nodeSide(link, a.ip); err != nil {
		return fmt.Errorf("set up the node's end: %w", err)
	}
	if err := podSide(inside, a.ip); err != nil {
		return fmt.Errorf("set up the pod's end: %w", err)
	}
	return errors.Join(awaitCarrier(ctx, f.route, a.name), awaitCarrier(ctx, inside, podLink))
}

// Detach removes a pod from the fabric. ErrNotAttached if it is not there.
func (f *Fabric) Detach(uid string) error {
	a := f.release(uid)
	if a == nil {
		return fmt.Errorf("detach pod %s: %w", uid, ErrNotAttached)
	}
	if err := f.disconnect(a); err != nil {
		return fmt.Errorf("detach pod %s: %w", uid, err)
	}
	f.log.Info("detached pod from network", "pod", uid, "ip", a.ip.String())
	return nil
}

// disconnect undoes what connect did so far. The kernel may have been faster:
// a pair goes when the pod's namespace goes.
func (f *Fabric) disconnect(a *attachment) error {
	var errs []error
	if a.index != 0 {
		errs = append(errs, f.rules.removePod(a.index, a.ip))
	}
	if link, err := f.route.LinkByName(a.name); err == nil {
		if err := f.route.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
			errs = append(errs, fmt.Errorf("remove link: %w", err))
		}
	} else if !errors.As(err, new(netlink.LinkNotFoundError)) {
		errs = append(errs, err)
	}
	errs = append(errs, f.tracks.forget(a.ip))
	return errors.Join(errs...)
}

// Program makes s what the fabric allows, in one transaction.
func (f *Fabric) Program(s State) error {
	gone, err := f.rules.program(s)
	if err != nil {
		return fmt.Errorf("program network: %w", err)
	}
	if err := f.tracks.forgetBackends(gone); err != nil {
		return fmt.Errorf("program network: %w", err)
	}
	return nil
}

// Counters returns the traffic of every programmed edge.
func (f *Fabric) Counters() (map[Edge]Count, error) { return f.rules.counters() }

// Refusals returns what was refused since the last call. It costs a dump of a
// set that is nearly empty; call it a few times a second.
func (f *Fabric) Refusals() ([]Refusal, error) { return f.rules.refusals() }

func writeSysctl(path, value string) error {
	return os.WriteFile("/proc/sys/net/"+path, []byte(value), 0o644)
}
