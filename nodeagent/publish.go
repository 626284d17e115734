package nodeagent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxProxied bounds the connections through one published port.
	maxProxied = 1024
	// dialTimeout bounds an attempt to reach one endpoint.
	dialTimeout = 3 * time.Second
)

// publication forwards connections from a host port to ready endpoints.
type publication struct {
	key      string
	listener net.Listener
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
	log      *slog.Logger

	ends atomic.Pointer[[]string]
	next atomic.Uint64
}

func newPublication(key string, l net.Listener, dial func(context.Context, string, string) (net.Conn, error), log *slog.Logger) *publication {
	p := &publication{key: key, listener: l, dial: dial, log: log}
	p.ends.Store(&[]string{})
	return p
}

// offer replaces the endpoints of future connections.
func (p *publication) offer(list []endpoint) {
	ready := []string{}
	for _, e := range list {
		if e.ready {
			ready = append(ready, e.address.String())
		}
	}
	p.ends.Store(&ready)
}

func (p *publication) close() { p.listener.Close() }

// run accepts until close is called, and waits for the connections, which end
// with ctx or with close.
func (p *publication) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	places := make(chan struct{}, maxProxied)
	pause := time.Millisecond
	for {
		c, err := p.listener.Accept()
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			continue
		}
		if err != nil {
			if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
				return
			}
			// Out of descriptors, perhaps: others may give some back.
			p.log.Warn("accept on published port", "error", err.Error())
			sleep(ctx, pause)
			pause = min(2*pause, time.Second)
			continue
		}
		pause = time.Millisecond
		select {
		case places <- struct{}{}:
			all.Go(func() {
				defer func() { <-places }()
				p.forward(ctx, c)
			})
		default:
			c.Close()
		}
	}
}

// forward connects c to an endpoint, the next one if one does not answer.
func (p *publication) forward(ctx context.Context, c net.Conn) {
	defer c.Close()
	ends := *p.ends.Load()
	start := p.next.Add(1)
	for i := range uint64(len(ends)) {
		end := ends[(start+i)%uint64(len(ends))]
		attempt, cancel := context.WithTimeout(ctx, dialTimeout)
		to, err := p.dial(attempt, "tcp", end)
		cancel()
		if err != nil {
			p.log.Debug("reach endpoint", "endpoint", end, "error", err.Error())
			continue
		}
		stop := context.AfterFunc(ctx, func() { c.Close(); to.Close() })
		splice(c, to)
		stop()
		to.Close()
		return
	}
}

// splice copies both ways until both sides have said all, or one is gone.
func splice(a, b net.Conn) {
	var both sync.WaitGroup
	one := func(to, from net.Conn) {
		_, err := io.Copy(to, from)
		if err != nil {
			a.Close()
			b.Close()
			return
		}
		if w, ok := to.(interface{ CloseWrite() error }); ok {
			_ = w.CloseWrite()
		}
	}
	both.Go(func() { one(a, b) })
	one(b, a)
	both.Wait()
}
