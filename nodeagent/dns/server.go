// Package dns answers the names of a node's pods. Who asks is known by the
// source address, which the network vouches for; each pod has a View, and
// names outside it do not exist for that pod: whether they are undeclared or
// unknown to everybody, the answer is the same, REFUSED with the extended
// error 18 (RFC 8914, "prohibited") and the text "undeclared dependency".
//
// Every answer comes from memory. The server asks nobody else, so it is no
// path out of the node.
package dns

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

// Bounds of the server.
const (
	// maxConnections is how many TCP connections one pod may hold.
	maxConnections = 8
	idleTimeout    = 5 * time.Second
	// maxRefused is how many different refused names are remembered between two
	// calls of Refused.
	maxRefused = 4096
	// attemptWindow is how long repetitions of a query count as the same
	// attempt: resolvers repeat what is refused at once.
	attemptWindow = 250 * time.Millisecond
)

// Options configure a Server.
type Options struct {
	// Logger may be nil.
	Logger *slog.Logger
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Refusal is a name that a pod asked for and was refused.
type Refusal struct {
	From netip.Addr
	// Name is what the program asked for, without the search list.
	Name string
	// Attempts counts lookups, not the queries each of them makes.
	Attempts uint64
}

// Server answers DNS queries. It is safe for concurrent use.
type Server struct {
	log *slog.Logger
	now func() time.Time
	// views is replaced as a whole and never changed.
	views atomic.Pointer[map[netip.Addr]*zone]

	mu      sync.Mutex
	refused map[refusedName]*attempts
}

type refusedName struct {
	from netip.Addr
	name string
}

type attempts struct {
	count uint64
	since time.Time
}

// New makes a server in which nobody can resolve anything.
func New(o Options) *Server {
	s := &Server{log: o.Logger, now: o.Now, refused: map[refusedName]*attempts{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.views.Store(&map[netip.Addr]*zone{})
	return s
}

// SetViews replaces the views of all pods at once.
func (s *Server) SetViews(views map[netip.Addr]View) {
	zones := make(map[netip.Addr]*zone, len(views))
	for ip, v := range views {
		zones[ip] = newZone(v)
	}
	s.views.Store(&zones)
}

// Run serves both sockets, which it closes, until ctx ends.
func (s *Server) Run(ctx context.Context, udp net.PacketConn, tcp net.Listener) error {
	handler := dns.HandlerFunc(s.serve)
	servers := []*dns.Server{
		{PacketConn: udp, Handler: handler, UDPSize: dns.DefaultMsgSize},
		{Listener: newLimiter(tcp), Handler: handler, IdleTimeout: func() time.Duration { return idleTimeout }, ReadTimeout: idleTimeout, WriteTimeout: idleTimeout},
	}
	ended := make(chan error, len(servers))
	for _, d := range servers {
		go func() { ended <- d.ActivateAndServe() }()
	}
	var errs []error
	running := len(servers)
	select {
	case <-ctx.Done():
	case err := <-ended:
		errs = append(errs, err)
		running--
	}
	// Closing the sockets ends a server whether it has begun to serve or not.
	udp.Close()
	tcp.Close()
	for range running {
		if err := <-ended; err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Refused returns the refused names since the last call.
func (s *Server) Refused() []Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Refusal
	for k, a := range s.refused {
		if a.count > 0 {
			list = append(list, Refusal{From: k.from, Name: k.name, Attempts: a.count})
			a.count = 0
		}
		if s.now().Sub(a.since) > attemptWindow {
			delete(s.refused, k)
		}
	}
	return list
}

// count notes a refused query. Only A queries count: a lookup makes one of
// each type.
func (s *Server) count(from netip.Addr, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := refusedName{from, name}
	a := s.refused[k]
	if a == nil {
		if len(s.refused) >= maxRefused {
			return
		}
		a = &attempts{}
		s.refused[k] = a
	}
	if now := s.now(); now.Sub(a.since) > attemptWindow {
		a.count, a.since = a.count+1, now
	}
}

// limiter bounds the connections of each source.
type limiter struct {
	net.Listener
	mu    sync.Mutex
	count map[netip.Addr]int
}

func newLimiter(l net.Listener) *limiter {
	return &limiter{Listener: l, count: map[netip.Addr]int{}}
}

// Accept closes a connection beyond the source's share at once.
func (l *limiter) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := source(c.RemoteAddr())
		l.mu.Lock()
		full := l.count[from] >= maxConnections
		if !full {
			l.count[from]++
		}
		l.mu.Unlock()
		if full {
			c.Close()
			continue
		}
		return &limited{Conn: c, free: sync.OnceFunc(func() { l.free(from) })}, nil
	}
}

func (l *limiter) free(from netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count[from]--; l.count[from] == 0 {
		delete(l.count, from)
	}
}

// limited gives its place back when it is closed.
type limited struct {
	net.Conn
	free func()
}

// Close closes the connection.
func (l *limited) Close() error {
	l.free()
	return l.Conn.Close()
}

func source(a net.Addr) netip.Addr {
	ap, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap()
}
