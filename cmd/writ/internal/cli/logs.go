package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/cluster/object"
)

func (a *app) logsCmd() *cobra.Command {
	var (
		namespace string
		o         client.LogOptions
		since     time.Duration
		tail      int64
	)
	cmd := &cobra.Command{
		Use:   "logs POD | KIND/NAME",
		Short: "Print the logs of a pod, or of all pods of a workload",
		Example: `  writ logs web-5d9f7-x2x4k
  writ logs -f deployment/web`,
		ValidArgsFunction: a.completePods,
		Args:              cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if tail >= 0 {
				o.TailLines = &tail
			}
			if since > 0 {
				o.Since = time.Now().Add(-since)
			}
			c, err := a.connect()
			if err != nil {
				return err
			}
			defer c.Close()
			pods, err := podsOf(cmd.Context(), c, namespace, args[0])
			if err != nil {
				return err
			}
			return a.logs(cmd.Context(), c, pods, o)
		},
	}
	a.namespaceFlag(cmd, &namespace)
	f := cmd.Flags()
	f.BoolVarP(&o.Follow, "follow", "f", false, "go on until the containers end")
	f.BoolVarP(&o.Previous, "previous", "p", false, "the container's former instance")
	f.BoolVar(&o.Timestamps, "timestamps", false, "put the time before each line")
	f.StringVarP(&o.Container, "container", "c", "", "the container (default: all)")
	f.DurationVar(&since, "since", 0, "only lines newer than this, such as 5m")
	f.Int64Var(&tail, "tail", -1, "only the last lines of each container (-1: all)")
	return cmd
}

// podsOf resolves "POD", "pod/POD" and "KIND/NAME" of a workload to pods.
func podsOf(ctx context.Context, c api.Client, namespace, target string) ([]*corev1.Pod, error) {
	kind, name, ok := strings.Cut(target, "/")
	if !ok {
		kind, name = "pod", target
	}
	kinds, _, err := parseTargets([]string{kind})
	if err != nil {
		return nil, err
	}
	o, err := c.Get(ctx, kinds[0].Key(namespace, name))
	if err != nil {
		return nil, err
	}
	if kinds[0].Kind == api.Pod.Kind {
		pod, err := api.Decode[corev1.Pod](o)
		return []*corev1.Pod{pod}, err
	}
	owned, err := ownedPods(ctx, c, o)
	if err == nil && len(owned) == 0 {
		err = fmt.Errorf("%s has no pods", o.Key())
	}
	return owned, err
}

// ownedPods finds the pods that o controls, directly or through ReplicaSets.
func ownedPods(ctx context.Context, c api.Client, o object.Object) ([]*corev1.Pod, error) {
	owners := map[string]bool{o.Meta().UID: true}
	sets, err := c.List(ctx, api.ReplicaSet, api.ListOptions{Namespace: o.Namespace()})
	if err != nil {
		return nil, err
	}
	for _, rs := range sets.Items {
		if r := rs.Controller(); r != nil && owners[r.UID] {
			owners[rs.Meta().UID] = true
		}
	}
	list, err := c.List(ctx, api.Pod, api.ListOptions{Namespace: o.Namespace()})
	if err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	for _, p := range list.Items {
		if r := p.Controller(); r != nil && owners[r.UID] {
			pod, err := api.Decode[corev1.Pod](p)
			if err != nil {
				return nil, err
			}
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// logs copies the logs of every container asked for; with more than one, each
// line is prefixed with where it comes from, and lines are never torn.
func (a *app) logs(ctx context.Context, c *client.Client, pods []*corev1.Pod, o client.LogOptions) error {
	type source struct{ namespace, pod, container string }
	var sources []source
	for _, p := range pods {
		for _, ct := range p.Spec.Containers {
			if o.Container == "" || o.Container == ct.Name {
				sources = append(sources, source{p.Namespace, p.Name, ct.Name})
			}
		}
	}
	if len(sources) == 0 {
		return fmt.Errorf("no container named %q", o.Container)
	}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range sources {
		prefix := ""
		if len(sources) > 1 {
			prefix = paint(a.color, dim, s.pod+"/"+s.container+" ")
		}
		g.Go(func() error {
			o := o
			o.Container = s.container
			r, err := c.Logs(ctx, s.namespace, s.pod, o)
			if err != nil {
				return err
			}
			defer r.Close()
			return copyLines(a.out, r, prefix, &mu)
		})
	}
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func copyLines(w io.Writer, r io.Reader, prefix string, mu *sync.Mutex) error {
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := br.ReadString('\n')
		if line != "" {
			if !strings.HasSuffix(line, "\n") {
				line += "\n"
			}
			mu.Lock()
			_, werr := io.WriteString(w, prefix+line)
			mu.Unlock()
			if werr != nil {
				return werr
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
