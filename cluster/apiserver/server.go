// Package apiserver serves the cluster over HTTPS in the conventions of the
// Kubernetes API: kubectl, client-go and controllers written for Kubernetes
// work with it. It authenticates, authorizes, and translates between HTTP and
// cluster/registry; it has no rules about objects of its own.
//
// Everything is bounded: bodies, requests at once, watches at once, the time
// of a request, and the time that a client may take to read what it asked for.
// All open watches end, cleanly, when the server stops.
package apiserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/writ-dev/writ/cluster/audit"
	"github.com/writ-dev/writ/cluster/auth"
	"github.com/writ-dev/writ/cluster/fair"
	"github.com/writ-dev/writ/cluster/registry"
)

// The bounds of the server.
const (
	maxBody        = 3 << 20 // bytes of a request's body
	requestTime    = 60 * time.Second
	writeTime      = 30 * time.Second // for one write of a watch's or log's event
	shutdownTime   = 5 * time.Second
	retryAfterBusy = 1 // seconds

	// Requests at once, how many of them one user may have (in percent), and how
	// many more may wait for how long. Reading costs computing time, so what
	// reads is counted by itself and by processors; what writes waits for the
	// disk most of its time. Watches and the like last, and are counted apart.
	readsPerCPU      = 8
	writesAtOnce     = 128
	ofOneUser        = 75
	waiting          = 2048
	waitTime         = 15 * time.Second
	watchesAtOnce    = 10000
	watchesOfOneUser = 2500
)

// Options configure a Server. Registry and Credentials are required.
type Options struct {
	Registry    *registry.Registry
	Credentials *auth.Credentials
	// Version is Writ's version, shown in /version.
	Version string
	// Ready says whether the server can serve; nil means always. It is asked
	// for /readyz and its error is shown.
	Ready func(context.Context) error
	// Audit is told of every request but those for health; it may be nil.
	Audit *audit.Log
	// Logger may be nil.
	Logger *slog.Logger
}

// Server handles the API's requests.
type Server struct {
	o            Options
	mux          *http.ServeMux
	descriptions descriptions
	nodes        *http.Client
	agents       *tls.Config
	reads        *fair.Limiter
	writes       *fair.Limiter
	watches      *fair.Counter
	// stop ends what would go on for long: watches and followed logs.
	stopping context.Context
	stop     context.CancelFunc
}

// New makes a server.
func New(o Options) (*Server, error) {
	if o.Registry == nil || o.Credentials == nil {
		return nil, errors.New("apiserver: Registry and Credentials are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	limit := func(seats int) *fair.Limiter {
		return fair.New(fair.Options{Seats: seats, PerFlow: seats * ofOneUser / 100, Queue: waiting, Wait: waitTime})
	}
	s := &Server{
		o:       o,
		reads:   limit(readsPerCPU * runtime.GOMAXPROCS(0)),
		writes:  limit(writesAtOnce),
		watches: fair.NewCounter(watchesAtOnce, watchesOfOneUser),
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.descriptions.registry = o.Registry
	if _, err := s.descriptions.now(); err != nil {
		return nil, fmt.Errorf("describe what is served: %w", err)
	}
	s.nodes = nodeClient(o.Credentials)
	s.agents = o.Credentials.NodeTLS()
	s.routes()
	return s, nil
}

func (s *Server) routes() {
	s.mux = http.NewServeMux()
	for _, p := range []string{"/healthz", "/livez"} {
		s.mux.HandleFunc(p, s.live)
	}
	s.mux.HandleFunc("/readyz", s.ready)
	s.mux.HandleFunc("/version", s.version)
	s.mux.HandleFunc("/api", s.described(func(d *description, w http.ResponseWriter, r *http.Request) { d.discovery.core(w, r) }))
	s.mux.HandleFunc("/apis", s.described(func(d *description, w http.ResponseWriter, r *http.Request) { d.discovery.groups(w, r) }))
	s.mux.HandleFunc("/openapi/v2", s.described(func(d *description, w http.ResponseWriter, r *http.Request) { d.openapi.v2(w, r) }))
	s.mux.HandleFunc("/openapi/v3", s.described(func(d *description, w http.ResponseWriter, r *http.Request) { d.openapi.index(w, r) }))
	s.mux.HandleFunc("/openapi/v3/", s.described(func(d *description, w http.ResponseWriter, r *http.Request) { d.openapi.v3(w, r) }))
	s.mux.HandleFunc("/openid/v1/jwks", s.keySet)
	s.mux.HandleFunc("/.well-known/openid-configuration", s.openIDConfiguration)
	s.mux.HandleFunc("/writ/v1/join", s.join)
	s.mux.HandleFunc("/api/", s.resources)
	s.mux.HandleFunc("/apis/", s.resources)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, apierrors.NewGenericServerResponse(http.StatusNotFound, r.Method, schema.GroupResource{}, "", "the server could not find the requested resource", 0, false))
	})
}

// ServeHTTP handles one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-cache, private")
	// Health is asked by those who have no credential; it tells nothing else.
	if r.URL.Path == "/healthz" || r.URL.Path == "/livez" || r.URL.Path == "/readyz" {
		defer s.recover(w, r, nil)
		s.mux.ServeHTTP(w, r)
		return
	}
	a := s.begin(w, r)
	if a != nil {
		w = a
	}
	defer s.recover(w, r, a)
	if err := s.serve(w, r, a); err != nil {
		s.fail(w, r, err)
	}
}

// serve does all that comes before a request's handler: who asks, in whose
// name, whether it is their turn, and whether they may.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, a *record) error {
	info := parseRequest(r)
	a.about(info)
	// Nobody holds a place for long by not sending, or not reading.
	ctl := http.NewResponseController(w)
	_ = ctl.SetReadDeadline(time.Now().Add(requestTime))
	_ = ctl.SetWriteDeadline(time.Now().Add(requestTime + waitTime))
	u, err := s.authenticate(r)
	if err != nil || u.Name == registry.System.Name { // which no credential stands for
		w.Header().Set("WWW-Authenticate", `Bearer realm="writ"`)
		return apierrors.NewUnauthorized("Unauthorized")
	}
	a.by(u)
	release, err := s.place(r.Context(), u, info)
	if err != nil {
		return err
	}
	defer release()
	if u, err = s.impersonate(u, r, a); err != nil {
		return err
	}
	a.as(u)
	c := &call{user: u, info: info, record: a, manager: managerOf(r, info)}
	if err := s.authorize(c); err != nil {
		return err
	}
	ctx := withCall(r.Context(), c)
	if info.long() {
		_ = ctl.SetReadDeadline(time.Time{})
	} else {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTime)
		defer cancel()
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	s.mux.ServeHTTP(w, r.WithContext(ctx))
	return nil
}

// place waits for the user's turn among the requests at once.
func (s *Server) place(ctx context.Context, u auth.User, info *requestInfo) (release func(), err error) {
	switch {
	case info.long():
		release, err = s.watches.Acquire(u.Name)
	case info.computes():
		release, err = s.reads.Acquire(ctx, u.Name)
	default:
		release, err = s.writes.Acquire(ctx, u.Name)
	}
	switch {
	case errors.Is(err, fair.ErrBusy):
		return nil, apierrors.NewTooManyRequests("too many requests, please try again later", retryAfterBusy)
	case err != nil:
		return nil, apierrors.NewTimeoutError("the client went away while the request waited for its turn", 0)
	}
	return release, nil
}

// recover keeps a bug in one request from ending the server.
func (s *Server) recover(w http.ResponseWriter, r *http.Request, a *record) {
	v := recover()
	defer a.end(v != nil)
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v) // net/http's own way to cut a connection
	}
	s.o.Logger.Error("request panicked", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	s.fail(w, r, apierrors.NewInternalError(errors.New("the server failed on this request; its log says why")))
}

// Serve answers on l, over TLS, until ctx ends; then it ends the watches, lets
// requests finish for a few seconds, and returns nil.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler:           s,
		TLSConfig:         s.o.Credentials.ServerTLS(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 1000,
			SendPingTimeout:      30 * time.Second, PingTimeout: 15 * time.Second,
			WriteByteTimeout: writeTime,
		},
	}
	done := make(chan error, 1)
	go func() { done <- h.Serve(tls.NewListener(l, h.TLSConfig)) }()
	select {
	case err := <-done:
		s.stop()
		return fmt.Errorf("serve API on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	s.stop()
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if err := h.Shutdown(stopCtx); err != nil {
		_ = h.Close()
	}
	<-done
	s.nodes.CloseIdleConnections()
	return nil
}
