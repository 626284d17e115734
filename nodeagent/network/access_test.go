//go:build linux

package network

import (
	"net/netip"
	"testing"
	"time"
)

var vip = netip.MustParseAddr("10.96.0.10")

// Cases 1, 16, 22: a pod's address directly; UDP; the server calling back.
func TestEdgesAreDirectedAndExact(t *testing.T) {
	f := newFabric(t)
	web, store, intruder := pod(t, f, 1), pod(t, f, 2), pod(t, f, 3)
	store.echo(6379)
	store.echo(6380)
	web.echo(6379)
	program(t, f, State{Edges: []Edge{edge(web, store, TCP, 6379), edge(web, store, UDP, 6379)}})

	web.works("tcp", store.addr(6379))
	web.works("udp", store.addr(6379))
	intruder.refused("tcp", store.addr(6379), store)
	intruder.refused("udp", store.addr(6379), store)
	web.refused("tcp", store.addr(6380), store)
	store.refused("tcp", web.addr(6379), web)
	if r := refusalTo(t, f, intruder, store.addr(6379), TCP); r.Packets != 1 {
		t.Errorf("one attempt was counted %d times", r.Packets)
	}
	counts, err := f.Counters()
	if err != nil {
		t.Fatal(err)
	}
	if c := counts[edge(web, store, TCP, 6379)]; c.Packets < 5 || c.Bytes == 0 {
		t.Errorf("counters of a used edge: %+v", c)
	}
}

// Cases 2, 5, 48: virtual addresses, changing endpoints, a pod calling itself.
func TestServices(t *testing.T) {
	f := newFabric(t)
	web, one, two, intruder := pod(t, f, 1), pod(t, f, 2), pod(t, f, 3), pod(t, f, 4)
	one.echo(8080)
	two.echo(8080)
	service := func(endpoints ...*testPod) State {
		s := State{Services: []Service{{IP: vip, Proto: TCP, Port: 80}, {IP: vip, Proto: UDP, Port: 80}}}
		for _, e := range endpoints {
			for _, other := range endpoints {
				s.Edges = append(s.Edges, edge(e, other, TCP, 8080), edge(e, other, UDP, 8080))
			}
			for i, proto := range []Protocol{TCP, UDP} {
				s.Edges = append(s.Edges, edge(web, e, proto, 8080))
				s.Services[i].Endpoints = append(s.Services[i].Endpoints, netip.AddrPortFrom(e.ip, 8080))
			}
		}
		return s
	}
	const address = "10.96.0.10:80"
	program(t, f, service(one, two))
	web.works("tcp", address)
	one.works("tcp", address)
	one.works("udp", address)
	before := one.received() + two.received()
	intruder.refused("tcp", address, nil)
	if got := one.received() + two.received() - before; got != 0 {
		t.Errorf("%d packets of an undeclared consumer reached a server", got)
	}
	refusalTo(t, f, intruder, address, TCP)

	flow := web.works("udp", address)
	for _, only := range []*testPod{one, two, one} {
		program(t, f, service(only))
		other := two
		if only == two {
			other = one
		}
		before := other.received()
		if err := ask(flow, 2*time.Second); err != nil {
			t.Errorf("a UDP flow did not move to the remaining endpoint: %v", err)
		}
		web.works("tcp", address)
		if got := other.received() - before; got != 0 {
			t.Errorf("%d packets reached an endpoint that had left", got)
		}
	}
	program(t, f, service())
	web.refused("tcp", address, nil)
}

// Cases 17, 24, 39, 41: revocation of live flows, and what a new grant revives.
func TestRevocationStopsLiveFlows(t *testing.T) {
	f := newFabric(t)
	web, store := pod(t, f, 1), pod(t, f, 2)
	store.echo(6379)
	granted := State{Edges: []Edge{edge(web, store, TCP, 6379), edge(web, store, UDP, 6379)}}
	program(t, f, granted)
	tcp, udp := web.works("tcp", store.addr(6379)), web.works("udp", store.addr(6379))
	program(t, f, State{})
	before := store.received()
	start := time.Now()
	if err := ask(tcp, 2*time.Second); err == nil {
		t.Error("a revoked TCP connection still works")
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("a revoked TCP connection took %v to fail", took)
	}
	if err := ask(udp, 2*time.Second); err == nil {
		t.Error("a revoked UDP flow still works")
	}
	if got := store.received() - before; got != 0 {
		t.Errorf("%d packets reached the server after revocation", got)
	}
	program(t, f, granted)
	web.works("tcp", store.addr(6379))
	if err := ask(tcp, time.Second); err == nil {
		t.Error("a revoked TCP connection revived")
	}
}

// Case 45: a program change keeps what is in both states, at every moment.
func TestProgramKeepsWhatStays(t *testing.T) {
	f := newFabric(t)
	web, store := pod(t, f, 1), pod(t, f, 2)
	store.echo(6379)
	bulk := func(subnet byte, n int) State {
		s := State{Edges: []Edge{edge(web, store, TCP, 6379)}}
		for i := range n {
			s.Edges = append(s.Edges, Edge{
				From:  netip.AddrFrom4([4]byte{10, subnet, byte(i >> 8), byte(i)}),
				To:    netip.AddrFrom4([4]byte{10, 99, 0, 1}),
				Proto: TCP, Port: 80,
			})
		}
		return s
	}
	program(t, f, bulk(70, 10000))
	live := web.works("tcp", store.addr(6379))
	stop, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(failed)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := ask(live, 2*time.Second); err != nil {
				failed <- err
				return
			}
		}
	}()
	for i := range 4 {
		start := time.Now()
		program(t, f, bulk(byte(71+i), 10000))
		t.Logf("replaced 10000 edges in %v", time.Since(start))
	}
	close(stop)
	if err := <-failed; err != nil {
		t.Errorf("a connection allowed by every program broke: %v", err)
	}
	counts, err := f.Counters()
	if err != nil {
		t.Fatal(err)
	}
	if len(counts) != 10001 {
		t.Errorf("got %d edges, want 10001", len(counts))
	}
}
