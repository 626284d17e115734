package dns

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
)

func addr(s string) netip.Addr         { return netip.MustParseAddr(s) }
func addrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// shopView is the view of a pod in namespace shop.
func shopView() View {
	return View{Namespace: "shop", Services: []Service{
		{Namespace: "shop", Name: "store", IP: addr("10.96.0.10"), Ports: []Port{{Name: "redis", Protocol: "tcp", Port: 6379}}},
		{Namespace: "bank", Name: "ledger", IP: addr("10.96.0.11")},
		{Namespace: "shop", Name: "peers", Ports: []Port{
			{Name: "gossip", Protocol: "udp", Endpoints: []netip.AddrPort{addrPort("10.64.0.7:7946"), addrPort("10.64.0.8:7946")}},
			{Name: "http", Protocol: "tcp", Endpoints: []netip.AddrPort{addrPort("10.64.0.7:80")}},
		}},
		{Namespace: "shop", Name: "empty"},
	}}
}

// start serves on local sockets and returns their address.
func start(t *testing.T, s *Server) string {
	t.Helper()
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp4", udp.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, udp, tcp) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return udp.LocalAddr().String()
}

func query(t *testing.T, network, server, name string, kind uint16) *dns.Msg {
	t.Helper()
	q := new(dns.Msg)
	q.SetQuestion(name, kind)
	q.SetEdns0(1232, false)
	c := dns.Client{Net: network, Timeout: 2 * time.Second}
	r, _, err := c.Exchange(q, server)
	if err != nil {
		t.Fatalf("%s %s: %v", network, name, err)
	}
	return r
}

// records lists the data of the answer, sorted.
func records(r *dns.Msg) []string {
	list := []string{}
	for _, rr := range r.Answer {
		list = append(list, strings.TrimPrefix(rr.String(), rr.Header().String()))
	}
	slices.Sort(list)
	return list
}

func TestAnswers(t *testing.T) {
	s := New(Options{})
	s.SetViews(map[netip.Addr]View{addr("127.0.0.1"): shopView()})
	server := start(t, s)
	none := []string{}
	for _, c := range []struct {
		name string
		kind uint16
		want []string // nil: refused
	}{
		{"store.", dns.TypeA, []string{"10.96.0.10"}},
		{"store.shop.", dns.TypeA, []string{"10.96.0.10"}},
		{"store.shop.svc.", dns.TypeA, []string{"10.96.0.10"}},
		{"store.shop.svc.cluster.local.", dns.TypeA, []string{"10.96.0.10"}},
		{"sToRe.SHOP.svc.cluster.local.", dns.TypeA, []string{"10.96.0.10"}},
		{"store.shop.svc.cluster.local.", dns.TypeAAAA, none},
		{"store.shop.svc.cluster.local.", dns.TypeTXT, none},
		{"ledger.bank.", dns.TypeA, []string{"10.96.0.11"}},
		{"ledger.bank.svc.cluster.local.", dns.TypeA, []string{"10.96.0.11"}},
		{"ledger.", dns.TypeA, nil},
		{"peers.", dns.TypeA, []string{"10.64.0.7", "10.64.0.8"}},
		{"empty.", dns.TypeA, none},
		{"_redis._tcp.store.shop.svc.cluster.local.", dns.TypeSRV, []string{"0 1 6379 store.shop.svc.cluster.local."}},
		{"_gossip._udp.peers.", dns.TypeSRV, []string{"0 1 7946 peers.shop.svc.cluster.local."}},
		{"_none._udp.peers.", dns.TypeSRV, none},
		{"_sql._tcp.vault.", dns.TypeSRV, nil},
		{"vault.shop.svc.cluster.local.", dns.TypeA, nil},
		{"vault.shop.svc.cluster.local.", dns.TypeAAAA, nil},
		{"example.com.", dns.TypeA, nil},
		{"1.0.64.10.in-addr.arpa.", dns.TypePTR, nil},
		{".", dns.TypeNS, nil},
	} {
		for _, network := range []string{"udp", "tcp"} {
			r := query(t, network, server, c.name, c.kind)
			if c.want == nil {
				checkRefused(t, r)
				continue
			}
			if r.Rcode != dns.RcodeSuccess {
				t.Errorf("%s %s: %s", c.name, dns.TypeToString[c.kind], dns.RcodeToString[r.Rcode])
			}
			if d := cmp.Diff(c.want, records(r)); d != "" {
				t.Errorf("%s %s: %s", c.name, dns.TypeToString[c.kind], d)
			}
			if len(r.Question) != 1 || r.Question[0].Name != c.name {
				t.Errorf("%s: question came back as %v", c.name, r.Question)
			}
		}
	}
}

func checkRefused(t *testing.T, r *dns.Msg) {
	t.Helper()
	if r.Rcode != dns.RcodeRefused || len(r.Answer) != 0 {
		t.Errorf("%v: got %s %v, want REFUSED", r.Question, dns.RcodeToString[r.Rcode], r.Answer)
	}
	o := r.IsEdns0()
	if o == nil || len(o.Option) != 1 {
		t.Fatalf("%v: no extended error", r.Question)
	}
	if e, ok := o.Option[0].(*dns.EDNS0_EDE); !ok || e.InfoCode != 18 || e.ExtraText != "undeclared dependency" {
		t.Errorf("%v: extended error %v", r.Question, o.Option[0])
	}
}

// A name of somebody else's view and one that nobody has give equal answers.
func TestNoExistenceLeak(t *testing.T) {
	s := New(Options{})
	s.SetViews(map[netip.Addr]View{
		addr("127.0.0.1"): {Namespace: "shop"},
		addr("10.64.0.9"): shopView(),
	})
	server := start(t, s)
	exists := query(t, "udp", server, "store.shop.svc.cluster.local.", dns.TypeA)
	absent := query(t, "udp", server, "nosuch.shop.svc.cluster.local.", dns.TypeA)
	exists.Id, exists.Question, absent.Id, absent.Question = 0, nil, 0, nil
	if d := cmp.Diff(exists.String(), absent.String()); d != "" {
		t.Error(d)
	}
	s.SetViews(nil)
	checkRefused(t, query(t, "udp", server, "store.shop.svc.cluster.local.", dns.TypeA))
}

func TestRefusedNamesAreCounted(t *testing.T) {
	now := time.Date(2026, 12, 1, 7, 0, 0, 0, time.UTC)
	s := New(Options{Now: func() time.Time { return now }})
	pod := addr("10.64.0.7")
	s.SetViews(map[netip.Addr]View{pod: shopView()})
	ask := func(name string, kind uint16) {
		q := new(dns.Msg)
		q.SetQuestion(name, kind)
		s.answer(pod, q)
	}
	// What resolvers make of one lookup.
	lookup := func(name string) {
		for _, suffix := range append(SearchList("shop"), "") {
			for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeA} {
				ask(dns.Fqdn(strings.TrimSuffix(name+"."+suffix, ".")), kind)
			}
		}
	}
	lookup("vault")
	now = now.Add(time.Second)
	lookup("vault")
	lookup("example.com")
	ask("store.", dns.TypeA)
	got := s.Refused()
	slices.SortFunc(got, func(a, b Refusal) int { return strings.Compare(a.Name, b.Name) })
	want := []Refusal{{pod, "example.com", 1}, {pod, "vault", 2}}
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" {
		t.Error(d)
	}
	if again := s.Refused(); len(again) != 0 {
		t.Errorf("counted twice: %v", again)
	}
	for i := range 2 * maxRefused {
		ask(strings.Repeat("x", i%60+1)+"."+strings.Repeat("y", i/60+1)+".", dns.TypeA)
	}
	if n := len(s.refused); n > maxRefused {
		t.Errorf("%d names remembered", n)
	}
}

func TestLargeAnswerIsTruncatedOverUDP(t *testing.T) {
	v := View{Namespace: "shop", Services: []Service{{Namespace: "shop", Name: "many", Ports: []Port{{}}}}}
	for i := range 200 {
		e := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 64, 1, byte(i)}), 80)
		v.Services[0].Ports[0].Endpoints = append(v.Services[0].Ports[0].Endpoints, e)
	}
	s := New(Options{})
	s.SetViews(map[netip.Addr]View{addr("127.0.0.1"): v})
	server := start(t, s)
	if r := query(t, "udp", server, "many.", dns.TypeA); !r.Truncated || len(r.Answer) == 200 {
		t.Errorf("UDP: truncated %v, %d answers", r.Truncated, len(r.Answer))
	}
	if r := query(t, "tcp", server, "many.", dns.TypeA); r.Truncated || len(r.Answer) != 200 {
		t.Errorf("TCP: truncated %v, %d answers", r.Truncated, len(r.Answer))
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	s := New(Options{})
	server := start(t, s)
	open := 0
	for range 2 * maxConnections {
		c, err := net.Dial("tcp", server)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil && strings.Contains(err.Error(), "timeout") {
			open++
		}
	}
	if open != maxConnections {
		t.Errorf("%d connections stayed open, want %d", open, maxConnections)
	}
}

// The resolver of the Go library finds every legitimate form of a name.
func TestResolvConf(t *testing.T) {
	want := "nameserver 169.254.1.1\nsearch shop.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:1\n"
	if d := cmp.Diff(want, ResolvConf(addr("169.254.1.1"), "shop")); d != "" {
		t.Error(d)
	}
}

func FuzzAnswer(f *testing.F) {
	q := new(dns.Msg)
	q.SetQuestion("_redis._tcp.store.shop.svc.cluster.local.", dns.TypeSRV)
	b, err := q.Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1})
	s := New(Options{})
	s.SetViews(map[netip.Addr]View{addr("10.64.0.7"): shopView()})
	f.Fuzz(func(t *testing.T, b []byte) {
		q := new(dns.Msg)
		if q.Unpack(b) != nil {
			return
		}
		if _, err := s.answer(addr("10.64.0.7"), q).Pack(); err != nil {
			t.Errorf("answer to %v: %v", q, err)
		}
	})
}
