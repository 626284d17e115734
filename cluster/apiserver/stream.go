package apiserver

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
)

// The subresources of a pod that take the connection over.
const (
	subExec        = "exec"
	subAttach      = "attach"
	subPortForward = "portforward"
)

// upgrades says whether a request is for one of them.
func (i *requestInfo) upgrades() bool {
	return i.group == "" && i.resource == api.Pod.Resource && (i.sub == subExec || i.sub == subAttach || i.sub == subPortForward)
}

// connect hands a client's connection to the agent of the pod's node, which
// speaks WebSocket or SPDY with it; the server only copies.
func (s *Server) connect(w http.ResponseWriter, r *http.Request, c *call) error {
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		return noSuchMethod(c.info)
	}
	if !strings.EqualFold(r.Header.Get("Connection"), "upgrade") || r.Header.Get("Upgrade") == "" || r.ProtoMajor != 1 {
		return apierrors.NewBadRequest("Upgrade request required: use WebSocket or SPDY/3.1 over HTTP/1.1")
	}
	o, err := s.client(c).Get(r.Context(), api.Pod.Key(c.info.namespace, c.info.name))
	if err != nil {
		return err
	}
	pod, err := api.Decode[corev1.Pod](o)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return apierrors.NewBadRequest(fmt.Sprintf("cannot %s into a container in a completed pod; current phase is %s", c.info.sub, pod.Status.Phase))
	}
	path := map[string]string{subExec: "/exec/", subAttach: "/attach/", subPortForward: "/portForward/"}[c.info.sub] + pod.Namespace + "/" + pod.Name
	if c.info.sub != subPortForward {
		container, err := containerOf(pod, c.info.query.Get("container"))
		if err != nil {
			return err
		}
		path += "/" + container
	}
	address, err := s.agentAddress(r.Context(), pod)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	return s.splice(ctx, w, r, address, path)
}

// splice asks the agent for an upgraded connection and joins it to the
// client's. Once the client's is taken over there is nobody to tell of errors.
func (s *Server) splice(ctx context.Context, w http.ResponseWriter, r *http.Request, address, path string) error {
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: 5 * time.Second}, Config: s.agents.Clone()}
	agent, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return apierrors.NewServiceUnavailable(fmt.Sprintf("reach the agent of the node: %v", err))
	}
	defer agent.Close()
	defer context.AfterFunc(ctx, func() { _ = agent.Close() })()
	out := (&http.Request{Method: r.Method, URL: &url.URL{Scheme: "https", Host: address, Path: path, RawQuery: r.URL.RawQuery}, Host: address, Header: http.Header{}}).WithContext(ctx)
	for name, values := range r.Header {
		if name == "Upgrade" || name == "Connection" || name == "X-Stream-Protocol-Version" || strings.HasPrefix(name, "Sec-Websocket-") {
			out.Header[name] = values
		}
	}
	_ = agent.SetDeadline(time.Now().Add(30 * time.Second))
	if err := out.Write(agent); err != nil {
		return apierrors.NewServiceUnavailable(fmt.Sprintf("ask the agent of the node: %v", err))
	}
	reader := bufio.NewReader(agent)
	resp, err := http.ReadResponse(reader, out)
	if err != nil {
		return apierrors.NewServiceUnavailable(fmt.Sprintf("ask the agent of the node: %v", err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return agentError(resp)
	}
	_ = agent.SetDeadline(time.Time{})
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("take the connection over: %w", err))
	}
	defer client.Close()
	defer context.AfterFunc(ctx, func() { _ = client.Close() })()
	_ = client.SetDeadline(time.Time{})
	if err := writeHead(client, resp); err != nil {
		return nil
	}
	s.copyBoth(client, buffered, agent, reader)
	return nil
}

// writeHead writes the head of an answer; its body follows by itself.
func writeHead(w io.Writer, resp *http.Response) error {
	if _, err := fmt.Fprintf(w, "HTTP/1.1 %s\r\n", resp.Status); err != nil {
		return err
	}
	if err := resp.Header.Write(w); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\r\n")
	return err
}

// copyBoth copies until one side ends.
func (s *Server) copyBoth(client net.Conn, fromClient io.Reader, agent net.Conn, fromAgent io.Reader) {
	done := make(chan struct{}, 2)
	copyTo := func(to net.Conn, from io.Reader) {
		_, err := io.Copy(to, from)
		if err != nil && !errors.Is(err, net.ErrClosed) {
			s.o.Logger.Debug("connection to a pod ended", "error", err.Error())
		}
		done <- struct{}{}
	}
	go copyTo(agent, fromClient)
	go copyTo(client, fromAgent)
	<-done
	_, _ = client.Close(), agent.Close()
	<-done
}
