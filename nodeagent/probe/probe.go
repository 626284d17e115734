// Package probe asks containers how they are: by HTTP, by connecting, or by
// running a command inside. Everything goes through the dialer and the exec
// function of the caller, so a probe reaches the pod and nothing else; a
// redirect to another host is taken as the answer and not followed.
//
// Check does one attempt. Run repeats it as the probe says and reports when
// the verdict changes; the counting of thresholds is Tally, which has no clock.
package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// maxOutput bounds what is kept of a body or a command's output, in bytes.
const maxOutput = 1 << 10

// Target is the container that a probe asks.
type Target struct {
	// IP is the pod's address, Ports the container's, for ports given by name.
	IP    string
	Ports []corev1.ContainerPort
	// Dial connects to the pod.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Exec runs a command in the container.
	Exec func(ctx context.Context, argv []string, output io.Writer) (int, error)
}

// Check makes one attempt, within the probe's timeout. A nil error is success;
// otherwise the error says what was wrong, for people.
func Check(ctx context.Context, p *corev1.Probe, t Target) error {
	timeout := time.Duration(p.TimeoutSeconds) * time.Second
	if timeout <= 0 {
		timeout = time.Second
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %v", timeout))
	defer cancel()
	err := Handle(ctx, handler(p.ProbeHandler), t)
	if err != nil && errors.Is(err, context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return err
}

func handler(h corev1.ProbeHandler) corev1.LifecycleHandler {
	return corev1.LifecycleHandler{Exec: h.Exec, HTTPGet: h.HTTPGet, TCPSocket: h.TCPSocket}
}

// Handle does what a probe or a lifecycle hook asks for, once.
func Handle(ctx context.Context, h corev1.LifecycleHandler, t Target) error {
	switch {
	case h.HTTPGet != nil:
		return httpGet(ctx, h.HTTPGet, t)
	case h.TCPSocket != nil:
		return tcpSocket(ctx, h.TCPSocket, t)
	case h.Exec != nil:
		return execCommand(ctx, h.Exec, t)
	case h.Sleep != nil:
		select {
		case <-time.After(time.Duration(h.Sleep.Seconds) * time.Second):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.New("this kind of probe is not supported")
}

func execCommand(ctx context.Context, a *corev1.ExecAction, t Target) error {
	out := &limited{}
	code, err := t.Exec(ctx, a.Command, out)
	if err != nil {
		return fmt.Errorf("run %s: %w", strings.Join(a.Command, " "), err)
	}
	if code != 0 {
		return fmt.Errorf("command exited with %d: %s", code, out)
	}
	return nil
}

func tcpSocket(ctx context.Context, a *corev1.TCPSocketAction, t Target) error {
	address, err := t.address(a.Host, a.Port)
	if err != nil {
		return err
	}
	c, err := t.Dial(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return c.Close()
}

// address refuses a host other than the pod: a probe must not be a way to
// reach what the pod may not (kubernetes/kubernetes#99425).
func (t Target) address(host string, port intstr.IntOrString) (string, error) {
	if host != "" && host != t.IP {
		return "", fmt.Errorf("probe of host %q: only the pod itself can be probed", host)
	}
	n, err := Port(port, t.Ports)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(t.IP, strconv.Itoa(n)), nil
}

// Port resolves a port by number or by name.
func Port(port intstr.IntOrString, ports []corev1.ContainerPort) (int, error) {
	n := port.IntValue()
	if port.Type == intstr.String {
		for _, p := range ports {
			if p.Name == port.StrVal {
				n = int(p.ContainerPort)
			}
		}
	}
	if n < 1 || n > 65535 {
		return 0, fmt.Errorf("container has no port %q", port.String())
	}
	return n, nil
}

func httpGet(ctx context.Context, a *corev1.HTTPGetAction, t Target) error {
	address, err := t.address(a.Host, a.Port)
	if err != nil {
		return err
	}
	scheme := strings.ToLower(string(a.Scheme))
	if scheme == "" {
		scheme = "http"
	}
	u, err := url.Parse(a.Path)
	if err != nil {
		u = &url.URL{Path: a.Path}
	}
	u = &url.URL{Scheme: scheme, Host: address, Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
	if !strings.HasPrefix(u.Path, "/") {
		u.Path = "/" + u.Path
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "writ-probe/1")
	req.Header.Set("Accept", "*/*")
	for _, h := range a.HTTPHeaders {
		if strings.EqualFold(h.Name, "Host") {
			req.Host = h.Value
			continue
		}
		req.Header.Add(h.Name, h.Value)
	}
	return t.get(req, address)
}

// get follows redirects only back to the same address.
func (t Target) get(req *http.Request, address string) error {
	transport := &http.Transport{
		DialContext:       t.Dial,
		DisableKeepAlives: true,
		// Certificates of pods are their own affair, as in Kubernetes.
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: true},
		MaxResponseHeaderBytes: 64 << 10,
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if next.URL.Host != address || len(via) >= 10 {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	out := &limited{}
	_, err = io.Copy(out, io.LimitReader(resp.Body, 10<<10))
	if resp.StatusCode < 200 || resp.StatusCode >= 400 {
		return fmt.Errorf("HTTP status %d: %s", resp.StatusCode, out)
	}
	return err
}

// limited keeps the beginning of what is written to it.
type limited struct{ b []byte }

func (l *limited) Write(b []byte) (int, error) {
	l.b = append(l.b, b[:min(len(b), maxOutput-len(l.b))]...)
	return len(b), nil
}

func (l *limited) String() string { return strings.TrimSpace(string(l.b)) }
