package cli

import (
	"bufio"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/apply"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/cluster/object"
)

// What is shown of logs when something does not become ready.
const (
	failingPods  = 3
	failingLines = 10
)

// explain shows the last words of containers that fail below objects that are
// not ready. It is help: what cannot be read is left out.
func (a *app) explain(ctx context.Context, c *client.Client, pending []apply.Progress) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	wanted := map[object.Key]bool{}
	for _, p := range pending {
		wanted[p.Key] = true
	}
	list, err := c.List(ctx, api.Pod, api.ListOptions{})
	if err != nil {
		return
	}
	shown := 0
	for _, o := range list.Items {
		if shown == failingPods {
			return
		}
		if pod, err := api.Decode[corev1.Pod](o); err == nil && isBelow(ctx, c, o, wanted) {
			for _, s := range pod.Status.ContainerStatuses {
				if failing(s) && a.lastWords(ctx, c, pod, s) {
					shown++
				}
			}
		}
	}
}

// isBelow reports whether o is one of the objects, or controlled by one.
func isBelow(ctx context.Context, c *client.Client, o object.Object, wanted map[object.Key]bool) bool {
	for range 3 { // a Pod, its ReplicaSet, its Deployment
		if wanted[o.Key()] {
			return true
		}
		owner := o.Controller()
		if owner == nil {
			return false
		}
		kind, ok := kindOf(owner)
		if !ok {
			return false
		}
		var err error
		if o, err = c.Get(ctx, kind.Key(o.Namespace(), owner.Name)); err != nil {
			return false
		}
	}
	return false
}

func kindOf(r *object.OwnerReference) (api.Kind, bool) {
	for _, k := range api.Kinds {
		if k.Kind == r.Kind && k.APIVersion() == r.APIVersion {
			return k, true
		}
	}
	return api.Kind{}, false
}

func failing(s corev1.ContainerStatus) bool {
	t := s.State.Terminated
	return s.RestartCount > 0 && !s.Ready || t != nil && t.ExitCode != 0
}

// lastWords prints the end of a container's log, or of its former instance's.
func (a *app) lastWords(ctx context.Context, c *client.Client, pod *corev1.Pod, s corev1.ContainerStatus) bool {
	tail := int64(failingLines)
	log, err := c.Logs(ctx, pod.Namespace, pod.Name, client.LogOptions{
		Container: s.Name, TailLines: &tail, LimitBytes: 16 << 10, Previous: s.State.Waiting != nil && s.RestartCount > 0,
	})
	if err != nil {
		return false
	}
	defer log.Close()
	exit := ""
	for _, t := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
		if t != nil {
			exit = fmt.Sprintf(", exit code %d", t.ExitCode)
			break
		}
	}
	fmt.Fprintf(a.err, "  the last lines of pod/%s, container %s%s, started %d times:\n", pod.Name, s.Name, exit, s.RestartCount+1)
	for lines := bufio.NewScanner(log); lines.Scan(); {
		fmt.Fprintf(a.err, "    %s\n", printable(lines.Text()))
	}
	return true
}
