package nodeagent

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/nodeagent/logs"
	"github.com/writ-dev/writ/nodeagent/pod"
	"github.com/writ-dev/writ/nodeagent/runtime"
	"github.com/writ-dev/writ/nodeagent/stream"
)

// exec runs a command in a container.
func (a *agent) exec(w http.ResponseWriter, r *http.Request) {
	p, id := a.running(w, r)
	if p == nil {
		return
	}
	argv := r.URL.Query()["command"]
	if len(argv) == 0 {
		http.Error(w, "you must specify at least 1 command for the container", http.StatusBadRequest)
		return
	}
	stream.Serve(w, r, func(ctx context.Context, s stream.Session) (int, error) {
		c := runtime.ExecConfig{Argv: argv, Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr, TTY: s.TTY}
		if s.Resize != nil {
			sizes := make(chan runtime.Size)
			go func() {
				defer close(sizes)
				for z := range s.Resize {
					select {
					case sizes <- runtime.Size(z):
					case <-ctx.Done():
						return
					}
				}
			}()
			c.Resize = sizes
		}
		return a.o.Runtime.Exec(ctx, id, c)
	})
}

// attach shows what a container writes from now on. Containers have no input.
func (a *agent) attach(w http.ResponseWriter, r *http.Request) {
	p, _ := a.running(w, r)
	if p == nil {
		return
	}
	container := r.PathValue("container")
	stream.Serve(w, r, func(ctx context.Context, s stream.Session) (int, error) {
		out := s.Stdout
		if out == nil {
			out = s.Stderr
		}
		if out == nil {
			return 0, fmt.Errorf("container %q has no input to attach to", container)
		}
		return 0, a.logs.Read(ctx, pod.LogName(string(p.UID), container), logs.ReadOptions{Follow: true, Tail: 0}, out)
	})
}

// portForward connects to ports inside a pod.
func (a *agent) portForward(w http.ResponseWriter, r *http.Request) {
	p := a.pods.find(r.PathValue("namespace"), r.PathValue("pod"))
	if p == nil {
		http.Error(w, fmt.Sprintf("pod %q is not on this node", r.PathValue("pod")), http.StatusNotFound)
		return
	}
	stream.Forward(w, r, func(ctx context.Context, port uint16) (net.Conn, error) {
		return a.o.Runtime.Dial(ctx, string(p.UID), port)
	})
}

// running finds a running container and its ID; nil when the client was told
// that there is none.
func (a *agent) running(w http.ResponseWriter, r *http.Request) (*corev1.Pod, string) {
	name, container := r.PathValue("pod"), r.PathValue("container")
	p := a.pods.find(r.PathValue("namespace"), name)
	if p == nil || !hasContainer(p, container) {
		http.Error(w, fmt.Sprintf("container %q in pod %q is not on this node", container, name), http.StatusNotFound)
		return nil, ""
	}
	for _, list := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
		for _, s := range list {
			if s.Name == container && s.State.Running != nil {
				return p, strings.TrimPrefix(s.ContainerID, pod.IDPrefix)
			}
		}
	}
	http.Error(w, fmt.Sprintf("container %q in pod %q is not running", container, name), http.StatusBadRequest)
	return nil, ""
}
