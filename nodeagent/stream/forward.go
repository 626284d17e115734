package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/websocket"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

const (
	portProtocol = "portforward.k8s.io"
	// tunnelProtocol is SPDY in the messages of a WebSocket.
	tunnelProtocol = "SPDY/3.1+" + portProtocol
	// maxForwards bounds the connections at once through one.
	maxForwards = 256
)

// Dial connects to a port of whatever is at the other end.
type Dial func(ctx context.Context, port uint16) (net.Conn, error)

// Forward upgrades a request and connects what the client opens to ports. It
// returns when the client is gone.
func Forward(w http.ResponseWriter, r *http.Request, dial Dial) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	f := &forwarder{ctx: ctx, dial: dial, waiting: map[string]half{}}
	defer f.running.Wait()
	defer cancel()
	if wsstream.IsWebSocketRequest(r) {
		f.tunnel(w, r)
		return
	}
	if _, err := httpstream.Handshake(r, w, []string{portProtocol}); err != nil {
		return
	}
	if conn := spdy.NewResponseUpgraderWithPings(pings).UpgradeResponse(w, r, f.stream); conn != nil {
		f.until(conn)
	}
}

// tunnel speaks SPDY through the messages of a WebSocket.
func (f *forwarder) tunnel(w http.ResponseWriter, r *http.Request) {
	server := websocket.Server{
		Handshake: func(c *websocket.Config, _ *http.Request) error {
			if !slices.Contains(c.Protocol, tunnelProtocol) {
				return fmt.Errorf("unable to upgrade: only %s is served", tunnelProtocol)
			}
			c.Protocol = []string{tunnelProtocol}
			return nil
		},
		Handler: func(ws *websocket.Conn) {
			ws.PayloadType = websocket.BinaryFrame
			conn, err := spdy.NewServerConnectionWithPings(ws, f.stream, pings)
			if err == nil {
				f.until(conn)
			}
		},
	}
	server.ServeHTTP(w, r)
}

// forwarder pairs the streams of one client: of each connection one carries
// data and one an error.
type forwarder struct {
	ctx     context.Context
	dial    Dial
	running sync.WaitGroup

	mu      sync.Mutex // guards what follows
	waiting map[string]half
	open    int
	closed  bool
}

// half is a stream whose fellow has not come.
type half struct {
	stream httpstream.Stream
	kind   string
	since  time.Time
}

// until waits for the end of the client or of the server.
func (f *forwarder) until(conn httpstream.Connection) {
	select {
	case <-conn.CloseChan():
	case <-f.ctx.Done():
	}
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	_ = conn.Close()
}

// stream takes a new stream. It must not block.
func (f *forwarder) stream(s httpstream.Stream, _ <-chan struct{}) error {
	kind := s.Headers().Get("streamType")
	if kind != "data" && kind != "error" {
		return fmt.Errorf("invalid stream type %q", kind)
	}
	port, err := strconv.ParseUint(s.Headers().Get("port"), 10, 16)
	if err != nil || port == 0 {
		return fmt.Errorf("invalid port %q", s.Headers().Get("port"))
	}
	id := s.Headers().Get("requestID")
	if id == "" {
		return errors.New("the stream has no requestID")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errors.New("the connection is closing")
	}
	now := time.Now()
	for old, h := range f.waiting {
		if now.Sub(h.since) > openTime {
			delete(f.waiting, old)
			_ = h.stream.Reset()
			f.open--
		}
	}
	first, ok := f.waiting[id]
	if !ok {
		if f.open >= maxForwards {
			return fmt.Errorf("more than %d connections at once", maxForwards)
		}
		f.open++
		f.waiting[id] = half{stream: s, kind: kind, since: now}
		return nil
	}
	if first.kind == kind {
		return fmt.Errorf("request %s has two streams of type %s", id, kind)
	}
	delete(f.waiting, id)
	data, failed := s, first.stream
	if kind == "error" {
		data, failed = first.stream, s
	}
	f.running.Go(func() {
		f.connect(uint16(port), data, failed)
		f.mu.Lock()
		f.open--
		f.mu.Unlock()
	})
	return nil
}

// connect copies between a port and a stream until both sides have ended.
func (f *forwarder) connect(port uint16, data, failed httpstream.Stream) {
	defer failed.Close()
	defer data.Reset()
	conn, err := f.dial(f.ctx, port)
	if err != nil {
		_, _ = fmt.Fprintf(failed, "%v", err)
		return
	}
	defer conn.Close()
	stop := context.AfterFunc(f.ctx, func() { _ = conn.Close() })
	defer stop()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.Copy(conn, data)
		if c, ok := conn.(*net.TCPConn); ok {
			_ = c.CloseWrite()
		}
	}()
	_, err = io.Copy(data, conn)
	_ = data.Close()
	if err != nil && f.ctx.Err() == nil {
		_, _ = fmt.Fprintf(failed, "read from port %d: %v", port, err)
	}
	select {
	case <-sent:
	case <-f.ctx.Done():
	case <-time.After(time.Second): // the port has ended; what else comes is lost
	}
}
