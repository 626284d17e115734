//go:build linux

package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// inUserNamespace is set in the environment of the test binary that runs
// inside a user namespace.
const inUserNamespace = "WRIT_TEST_IN_USER_NAMESPACE"

// TestMain runs the tests as they are and, if that is root, once more inside a
// user namespace as what is outside an ordinary user.
func TestMain(m *testing.M) {
	if os.Getenv(inUserNamespace) != "" {
		os.Exit(m.Run())
	}
	code := 0
	if os.Getuid() == 0 {
		fmt.Println("as root:")
		code = m.Run()
	}
	fmt.Println("as an ordinary user in a user namespace:")
	if err := rerun(); err != nil {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

func rerun() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// The files that go test asked for belong to the first run.
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(a string) bool {
		return strings.HasPrefix(a, "-test.testlogfile") || strings.HasPrefix(a, "-test.coverprofile")
	})
	cmd := exec.Command("/proc/self/fd/3", args...)
	file, err := os.Open(self)
	if err != nil {
		return err
	}
	defer file.Close()
	cmd.ExtraFiles = []*os.File{file}
	cmd.Env = append(os.Environ(), inUserNamespace+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	uid, gid := os.Getuid(), os.Getgid()
	attr := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}},
	}
	if uid == 0 {
		// Map an ordinary user's number instead of our own.
		const nobody = 65534
		attr.UidMappings[0].HostID, attr.GidMappings[0].HostID = nobody, nobody
		attr.GidMappingsEnableSetgroups = true
		attr.Credential = &syscall.Credential{Uid: 0, Gid: 0}
	}
	cmd.SysProcAttr = attr
	return cmd.Run()
}

// testPod is a pod namespace with nothing in it but what the test opens there.
type testPod struct {
	t    *testing.T
	ip   netip.Addr
	uid  string
	th   *thread
	ns   int
	link *netlink.Handle
}

func newFabric(t *testing.T) *Fabric {
	t.Helper()
	f, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// pod makes a namespace and attaches it as 10.64.0.n.
func pod(t *testing.T, f *Fabric, n int) *testPod {
	t.Helper()
	th, err := startThread()
	if err != nil {
		t.Fatal(err)
	}
	p := &testPod{t: t, th: th, ip: netip.AddrFrom4([4]byte{10, 64, 0, byte(n)}), uid: fmt.Sprint("pod-", n)}
	p.in(func() error {
		if p.ns, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return err
		}
		p.link, err = netlink.NewHandle(unix.NETLINK_ROUTE)
		return err
	})
	if err := f.Attach(t.Context(), PodNet{UID: p.uid, IP: p.ip, NetNS: p.ns}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Detach(p.uid); err != nil && !errors.Is(err, ErrNotAttached) {
			t.Error(err)
		}
		p.link.Close()
		unix.Close(p.ns)
		th.stop()
	})
	return p
}

func (p *testPod) in(f func() error) {
	p.t.Helper()
	if err := p.th.do(f); err != nil {
		p.t.Fatal(err)
	}
}

func (p *testPod) addr(port uint16) string { return netip.AddrPortFrom(p.ip, port).String() }

// dial connects from inside the pod. The dialer keeps to the calling thread
// until the socket exists, because the address is a literal.
func (p *testPod) dial(network, address string) (net.Conn, error) {
	var c net.Conn
	var dialErr error
	p.in(func() error {
		d := net.Dialer{Timeout: 2 * time.Second}
		c, dialErr = d.Dial(network, address)
		return nil
	})
	return c, dialErr
}

// echo serves TCP and UDP on a port until the test ends, and answers "IP of
// peer" to a line over TCP.
func (p *testPod) echo(port uint16) {
	p.t.Helper()
	var l net.Listener
	var u net.PacketConn
	p.in(func() error {
		var err error
		if l, err = net.Listen("tcp4", p.addr(port)); err != nil {
			return err
		}
		u, err = net.ListenPacket("udp4", p.addr(port))
		return err
	})
	p.t.Cleanup(func() { l.Close(); u.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	go func() {
		b := make([]byte, 1500)
		for {
			n, from, err := u.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = u.WriteTo(b[:n], from)
		}
	}()
}

// received is how many packets arrived on the pod's link so far.
func (p *testPod) received() uint64 {
	p.t.Helper()
	l, err := p.link.LinkByName(podLink)
	if err != nil {
		p.t.Fatal(err)
	}
	return l.Attrs().Statistics.RxPackets
}

// ask sends one message on c and waits for its echo.
func ask(c net.Conn, wait time.Duration) error {
	if err := c.SetDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("hello")); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, 5))
	return err
}

// works fails the test unless from can talk to address.
func (p *testPod) works(network, address string) net.Conn {
	p.t.Helper()
	c, err := p.dial(network, address)
	if err != nil {
		p.t.Fatalf("allowed %s from %s to %s: %v", network, p.ip, address, err)
	}
	p.t.Cleanup(func() { c.Close() })
	if err := ask(c, 2*time.Second); err != nil {
		p.t.Fatalf("allowed %s from %s to %s: %v", network, p.ip, address, err)
	}
	return c
}

// refused fails the test unless an attempt is answered with a refusal at once
// and no packet reaches the server.
func (p *testPod) refused(network, address string, server *testPod) {
	p.t.Helper()
	before := uint64(0)
	if server != nil {
		before = server.received()
	}
	start := time.Now()
	c, err := p.dial(network, address)
	if err == nil {
		defer c.Close()
		err = ask(c, 2*time.Second)
	}
	if took := time.Since(start); took > time.Second {
		p.t.Errorf("refused %s from %s to %s took %v", network, p.ip, address, took)
	}
	if !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, unix.EHOSTUNREACH) {
		p.t.Errorf("refused %s from %s to %s: got %v", network, p.ip, address, err)
	}
	if server != nil {
		if got := server.received() - before; got != 0 {
			p.t.Errorf("refused %s from %s to %s: %d packets reached the server", network, p.ip, address, got)
		}
	}
}

func program(t *testing.T, f *Fabric, s State) {
	t.Helper()
	if err := f.Program(s); err != nil {
		t.Fatal(err)
	}
}

func edge(from, to *testPod, proto Protocol, port uint16) Edge {
	return Edge{From: from.ip, To: to.ip, Proto: proto, Port: port}
}

// refusalTo polls for refusals until one matches.
func refusalTo(t *testing.T, f *Fabric, from *testPod, to string, proto Protocol) Refusal {
	t.Helper()
	want := netip.MustParseAddrPort(to)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		list, err := f.Refusals()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			if r.From == from.ip && r.To == want.Addr() && r.Port == want.Port() && r.Proto == proto {
				return r
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("no refusal from %s to %s was counted", from.ip, to)
	return Refusal{}
}
