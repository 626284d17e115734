// Package stream speaks the protocols by which kubectl exec, attach, cp and
// port-forward carry several streams over one connection: WebSocket
// (v5.channel.k8s.io and v4, and SPDY tunnelled through it for ports) and
// SPDY/3.1 (v4.channel.k8s.io, portforward.k8s.io). It knows nothing of pods:
// what is at the other end is given as a function.
package stream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// The bounds of a connection.
const (
	// openTime is how long a client may take to open its streams.
	openTime = 30 * time.Second
	// writeTime is how long one write may take.
	writeTime = 30 * time.Second
	// pings find out that a client has gone without a word.
	pings = 30 * time.Second
)

// Size is that of a terminal, in characters.
type Size struct {
	Width, Height uint16
}

// Session is the client's side of a command. Streams that the client did not
// ask for are nil.
type Session struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	TTY            bool
	// Resize are the sizes of the client's terminal; it is closed when the
	// client is gone.
	Resize <-chan Size
}

// Run does what a session is for. It returns the command's exit code, or an
// error when there was no command to end.
type Run func(ctx context.Context, s Session) (code int, err error)

// wanted is what the client asks for in the query.
type wanted struct {
	stdin, stdout, stderr, tty bool
}

func read(r *http.Request) (wanted, error) {
	q := r.URL.Query()
	var errs []error
	flag := func(name string) bool {
		if !q.Has(name) {
			return false
		}
		on, err := strconv.ParseBool(q.Get(name))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s must be true or false", name))
		}
		return on
	}
	w := wanted{stdin: flag("stdin"), stdout: flag("stdout"), stderr: flag("stderr"), tty: flag("tty")}
	if err := errors.Join(errs...); err != nil {
		return w, err
	}
	if w.tty {
		w.stderr = false // a terminal shows both as one
	}
	if !w.stdin && !w.stdout && !w.stderr {
		return w, errors.New("you must specify at least one of stdin, stdout, stderr")
	}
	return w, nil
}

// Serve upgrades a request and runs the session, whose result the client is
// told. It returns when the session has ended and the connection is closed.
func Serve(w http.ResponseWriter, r *http.Request, run Run) {
	want, err := read(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	var c *connection
	if wsstream.IsWebSocketRequest(r) {
		c, err = openWebSocket(w, r, want)
	} else {
		c, err = openSPDY(w, r, want)
	}
	if err != nil || c == nil {
		return // The client was told, or is gone.
	}
	defer c.close()
	go func() {
		select {
		case <-c.gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	s := c.session
	s.TTY = want.tty
	if c.resize != nil {
		s.Resize = resizes(ctx, c.resize)
	}
	code, err := run(ctx, s)
	_ = c.finish(code, err)
}

// connection is an upgraded one with the streams that were asked for.
type connection struct {
	session Session
	resize  io.Reader
	status  io.Writer
	// gone says that the client is.
	gone  <-chan struct{}
	close func()
}

// finish tells the client how the command ended: its stream of errors carries
// one Status.
func (c *connection) finish(code int, err error) error {
	st := metav1.Status{Status: metav1.StatusSuccess}
	switch {
	case err != nil:
		st = metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonInternalError, Code: http.StatusInternalServerError, Message: err.Error()}
	case code != 0:
		st = metav1.Status{
			Status: metav1.StatusFailure, Reason: remotecommand.NonZeroExitCodeReason,
			Message: fmt.Sprintf("command terminated with non-zero exit code: %d", code),
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: remotecommand.ExitCodeCauseType, Message: strconv.Itoa(code)}}},
		}
	}
	b, err := json.Marshal(st)
	if err != nil {
		return err
	}
	_, err = c.status.Write(b)
	return err
}

// resizes reads sizes until the stream ends.
func resizes(ctx context.Context, in io.Reader) <-chan Size {
	out := make(chan Size, 1)
	go func() {
		defer close(out)
		d := json.NewDecoder(in)
		for {
			var s Size
			if d.Decode(&s) != nil {
				return
			}
			select {
			case out <- s:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// The channels of a WebSocket.
const (
	stdinChannel = iota
	stdoutChannel
	stderrChannel
	errorChannel
	resizeChannel
)

func openWebSocket(w http.ResponseWriter, r *http.Request, want wanted) (*connection, error) {
	// The library logs every client that goes away; nobody reads that.
	r = r.WithContext(klog.NewContext(r.Context(), klog.Logger{}))
	mode := func(on bool, m wsstream.ChannelType) wsstream.ChannelType {
		if on {
			return m
		}
		return wsstream.IgnoreChannel
	}
	channels := []wsstream.ChannelType{
		mode(want.stdin, wsstream.ReadChannel), mode(want.stdout, wsstream.WriteChannel), mode(want.stderr, wsstream.WriteChannel),
		wsstream.WriteChannel, mode(want.tty, wsstream.ReadChannel),
	}
	protocol := wsstream.ChannelProtocolConfig{Binary: true, Channels: channels}
	conn := wsstream.NewConn(map[string]wsstream.ChannelProtocolConfig{
		remotecommand.StreamProtocolV5Name: protocol, "v4." + wsstream.ChannelWebSocketProtocol: protocol,
	})
	gone := make(chan struct{})
	_, streams, err := conn.Open(&watched{ResponseWriter: w, closed: sync.OnceFunc(func() { close(gone) })}, r)
	if err != nil {
		return nil, err
	}
	conn.SetWriteDeadline(writeTime)
	c := &connection{status: streams[errorChannel], gone: gone, close: func() { _ = conn.Close() }}
	write := func(i int) io.Writer { return deadline{conn, streams[i]} }
	if want.stdin {
		c.session.Stdin = streams[stdinChannel]
	}
	if want.stdout {
		c.session.Stdout = write(stdoutChannel)
	}
	if want.stderr {
		c.session.Stderr = write(stderrChannel)
	}
	if want.tty {
		c.resize = streams[resizeChannel]
	}
	c.status = write(errorChannel)
	return c, nil
}

// watched tells when the connection that a handler takes over is closed: the
// library closes it when it can read no more.
type watched struct {
	http.ResponseWriter
	closed func()
}

// Hijack is of http.Hijacker.
func (w *watched) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, b, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return &watchedConn{Conn: c, closed: w.closed}, b, nil
}

type watchedConn struct {
	net.Conn
	closed func()
}

func (c *watchedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// deadline gives every write its time.
type deadline struct {
	conn *wsstream.Conn
	w    io.Writer
}

func (d deadline) Write(b []byte) (int, error) {
	d.conn.SetWriteDeadline(writeTime)
	return d.w.Write(b)
}

func openSPDY(w http.ResponseWriter, r *http.Request, want wanted) (*connection, error) {
	if _, err := httpstream.Handshake(r, w, []string{remotecommand.StreamProtocolV4Name}); err != nil {
		return nil, err
	}
	count := 1
	for _, on := range []bool{want.stdin, want.stdout, want.stderr, want.tty} {
		if on {
			count++
		}
	}
	opened := make(chan httpstream.Stream, count)
	conn := spdy.NewResponseUpgraderWithPings(pings).UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		select {
		case opened <- s:
			return nil
		default:
			return errors.New("more streams than were asked for")
		}
	})
	if conn == nil {
		return nil, errors.New("not upgraded")
	}
	gone := make(chan struct{})
	go func() { <-conn.CloseChan(); close(gone) }()
	var once sync.Once
	c := &connection{gone: gone, close: func() { once.Do(func() { _ = conn.Close() }) }}
	timer := time.NewTimer(openTime)
	defer timer.Stop()
	for range count {
		select {
		case s := <-opened:
			if err := c.take(s, want); err != nil {
				c.close()
				return nil, err
			}
		case <-gone:
			return nil, io.EOF
		case <-timer.C:
			c.close()
			return nil, errors.New("the client did not open its streams")
		}
	}
	if c.status == nil {
		c.close()
		return nil, errors.New("the client opened no stream of errors")
	}
	return c, nil
}

// take puts a stream where its header says.
func (c *connection) take(s httpstream.Stream, want wanted) error {
	switch kind := s.Headers().Get("streamType"); {
	case kind == "error" && c.status == nil:
		c.status = s
	case kind == "stdin" && want.stdin && c.session.Stdin == nil:
		c.session.Stdin = s
	case kind == "stdout" && want.stdout && c.session.Stdout == nil:
		c.session.Stdout = s
	case kind == "stderr" && want.stderr && c.session.Stderr == nil:
		c.session.Stderr = s
	case kind == "resize" && want.tty && c.resize == nil:
		c.resize = s
	default:
		return fmt.Errorf("unexpected stream %q", kind)
	}
	return nil
}
