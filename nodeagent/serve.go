package nodeagent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/nodeagent/logs"
	"github.com/writ-dev/writ/nodeagent/pod"
)

// logReader is the only name that may read logs here: the API server, which
// asks for those who may.
const logReader = "writ-apiserver"

// serveLogs serves /containerLogs, /exec and /attach of NAMESPACE/POD/CONTAINER,
// /portForward of NAMESPACE/POD, and /access, until ctx ends.
func (a *agent) serveLogs(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", a.containerLogs)
	for _, method := range []string{http.MethodGet, http.MethodPost} { // WebSocket and SPDY
		mux.HandleFunc(method+" /exec/{namespace}/{pod}/{container}", a.exec)
		mux.HandleFunc(method+" /attach/{namespace}/{pod}/{container}", a.attach)
		mux.HandleFunc(method+" /portForward/{namespace}/{pod}", a.portForward)
	}
	mux.HandleFunc("GET /access", a.accessReport)
	config := a.o.TLS.Clone()
	config.ClientAuth = tls.RequireAndVerifyClientCert
	config.MinVersion = tls.VersionTLS12
	server := &http.Server{
		Handler: onlyServer(mux), TLSConfig: config,
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	err := server.ServeTLS(l, "", "")
	if errors.Is(err, http.ErrServerClosed) {
		return ctx.Err()
	}
	return fmt.Errorf("serve logs: %w", err)
}

// onlyServer refuses every client but the API server.
func onlyServer(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 || r.TLS.PeerCertificates[0].Subject.CommonName != logReader {
			http.Error(w, "only the API server may ask", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func (a *agent) containerLogs(w http.ResponseWriter, r *http.Request) {
	namespace, name, container := r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")
	p := a.pods.find(namespace, name)
	if p == nil || !hasContainer(p, container) {
		http.Error(w, fmt.Sprintf("container %q in pod %q is not on this node", container, name), http.StatusNotFound)
		return
	}
	o, err := parseLogOptions(r.URL.Query(), time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	err = a.logs.Read(r.Context(), pod.LogName(string(p.UID), container), o, flusher{w, http.NewResponseController(w)})
	switch {
	case err == nil || r.Context().Err() != nil:
	case errors.Is(err, logs.ErrNotFound) && o.Previous:
		http.Error(w, fmt.Sprintf("previous terminated container %q in pod %q not found", container, name), http.StatusBadRequest)
	case errors.Is(err, logs.ErrNotFound):
		http.Error(w, fmt.Sprintf("container %q in pod %q is waiting to start", container, name), http.StatusBadRequest)
	default:
		a.log.Warn("send log", "pod", namespace+"/"+name, "error", err.Error())
	}
}

func hasContainer(p *corev1.Pod, name string) bool {
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for _, c := range list {
			if c.Name == name {
				return true
			}
		}
	}
	return false
}

// parseLogOptions reads the query parameters of a Kubernetes log request.
func parseLogOptions(q url.Values, now time.Time) (logs.ReadOptions, error) {
	o := logs.ReadOptions{Tail: -1}
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
	number := func(name string, least int64) (int64, bool) {
		if !q.Has(name) {
			return 0, false
		}
		n, err := strconv.ParseInt(q.Get(name), 10, 64)
		if err != nil || n < least {
			errs = append(errs, fmt.Errorf("%s must be a number, at least %d", name, least))
		}
		return n, true
	}
	o.Follow, o.Previous, o.Timestamps = flag("follow"), flag("previous"), flag("timestamps")
	if n, ok := number("tailLines", 0); ok {
		o.Tail = n
	}
	o.Limit, _ = number("limitBytes", 1)
	if n, ok := number("sinceSeconds", 1); ok {
		o.Since = now.Add(-time.Duration(n) * time.Second)
	}
	if s := q.Get("sinceTime"); s != "" {
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			errs = append(errs, errors.New("sinceTime must be a time like 2006-01-02T15:04:05Z"))
		}
		o.Since = t
	}
	return o, errors.Join(errs...)
}

// flusher sends each piece at once: a follower waits for it.
type flusher struct {
	w http.ResponseWriter
	c *http.ResponseController
}

func (f flusher) Write(b []byte) (int, error) {
	n, err := f.w.Write(b)
	if err == nil {
		err = f.c.Flush()
	}
	return n, err
}
