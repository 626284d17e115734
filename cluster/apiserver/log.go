package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/auth"
)

// nodeClient calls node agents. Their certificates are checked against their
// names, wherever they listen.
func nodeClient(c *auth.Credentials) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSClientConfig:       c.NodeTLS(),
		TLSHandshakeTimeout:   5 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		MaxIdleConnsPerHost:   2,
		IdleConnTimeout:       time.Minute,
	}}
}

// log streams a container's log from the agent of the pod's node.
func (s *Server) log(w http.ResponseWriter, r *http.Request, c *call) error {
	o, err := s.client(c).Get(r.Context(), api.Pod.Key(c.info.namespace, c.info.name))
	if err != nil {
		return err
	}
	pod, err := api.Decode[corev1.Pod](o)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	container, err := containerOf(pod, c.info.query.Get("container"))
	if err != nil {
		return err
	}
	address, err := s.agentAddress(r.Context(), pod)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	q := url.Values{}
	for _, name := range []string{"follow", "previous", "sinceSeconds", "sinceTime", "tailLines", "limitBytes", "timestamps"} {
		if v := c.info.query.Get(name); v != "" {
			q.Set(name, v)
		}
	}
	u := url.URL{Scheme: "https", Host: address, Path: "/containerLogs/" + pod.Namespace + "/" + pod.Name + "/" + container, RawQuery: q.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	resp, err := s.nodes.Do(req)
	if err != nil {
		return apierrors.NewServiceUnavailable(fmt.Sprintf("read log of %s/%s from node %s: %v", pod.Namespace, pod.Name, pod.Spec.NodeName, err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return agentError(resp)
	}
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusOK)
	stream(w, resp.Body)
	return nil
}

// stream copies what comes as it comes.
func stream(w http.ResponseWriter, body io.Reader) {
	ctl := http.NewResponseController(w)
	if ctl.Flush() != nil {
		return
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			_ = ctl.SetWriteDeadline(time.Now().Add(writeTime))
			if _, werr := w.Write(buf[:n]); werr != nil || ctl.Flush() != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// containerOf finds the container meant: the one named, the one marked as
// default, or the only one.
func containerOf(pod *corev1.Pod, name string) (string, error) {
	var names []string
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		names = append(names, c.Name)
	}
	if name == "" {
		name = pod.Annotations["kubectl.kubernetes.io/default-container"]
	}
	if name == "" {
		if len(pod.Spec.Containers) == 1 {
			return pod.Spec.Containers[0].Name, nil
		}
		return "", apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s, choose one of: [%s]", pod.Name, strings.Join(names, " ")))
	}
	if !slices.Contains(names, name) {
		return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s, choose one of: [%s]", name, pod.Name, strings.Join(names, " ")))
	}
	return name, nil
}

// agentAddress finds where the agent of a pod's node serves logs.
func (s *Server) agentAddress(ctx context.Context, pod *corev1.Pod) (string, error) {
	if pod.Spec.NodeName == "" {
		return "", apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", pod.Name))
	}
	return s.nodeAddress(ctx, pod.Spec.NodeName)
}

// nodeAddress finds where the agent of a node listens.
func (s *Server) nodeAddress(ctx context.Context, name string) (string, error) {
	o, err := s.client(callOfContext(ctx)).Get(ctx, api.Node.Key("", name))
	if err != nil {
		return "", err
	}
	node, err := api.Decode[corev1.Node](o)
	if err != nil {
		return "", apierrors.NewInternalError(err)
	}
	port := node.Status.DaemonEndpoints.KubeletEndpoint.Port
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP && port > 0 && port < 1<<16 && net.ParseIP(a.Address) != nil {
			return net.JoinHostPort(a.Address, strconv.Itoa(int(port))), nil
		}
	}
	return "", apierrors.NewServiceUnavailable(fmt.Sprintf("node %s has not said where its agent listens", node.Name))
}

// agentError passes on what an agent answered.
func agentError(resp *http.Response) error {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var st metav1.Status
	if json.Unmarshal(b, &st) == nil && st.Kind == "Status" && st.Status == metav1.StatusFailure {
		st.Code = int32(resp.StatusCode)
		return &apierrors.StatusError{ErrStatus: st}
	}
	e := apierrors.NewGenericServerResponse(resp.StatusCode, http.MethodGet, anyResource, "", "", 0, false)
	e.ErrStatus.Message = "the node's agent answered: " + strings.TrimSpace(string(b))
	return e
}
