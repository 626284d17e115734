package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/cluster/server"
	"github.com/writ-dev/writ/nodeagent/image"
)

// local is a cluster of one server and one node agent inside this process.
type local struct {
	client                *client.Client
	stopServer, stopAgent context.CancelFunc
	server, agent         *part
}

// part is something that runs until it is told to stop, or fails.
type part struct {
	done chan struct{}
	err  error
}

func runPart(ctx context.Context, run func(context.Context) error) *part {
	p := &part{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			p.err = err
		}
	}()
	return p
}

type localOptions struct {
	run    *runDir
	data   string
	listen string
	images *image.Store
	log    *slog.Logger
}

// startLocal returns when the API answers and the node is there. The contexts
// of server and agent are their own, so that stop can end them in order.
func startLocal(ctx context.Context, o localOptions) (*local, error) {
	if o.data == "" {
		o.data = filepath.Join(o.run.path, "server")
	}
	data, err := filepath.Abs(o.data)
	if err != nil {
		return nil, err
	}
	s, err := server.New(server.Options{Data: data, Listen: o.listen, Version: buildVersion(), Logger: o.log})
	if err != nil {
		return nil, err
	}
	l := &local{}
	var serverCtx, agentCtx context.Context
	serverCtx, l.stopServer = context.WithCancel(context.WithoutCancel(ctx))
	agentCtx, l.stopAgent = context.WithCancel(context.WithoutCancel(ctx))
	l.server = runPart(serverCtx, s.Run)
	select {
	case <-s.Ready():
	case <-l.server.done:
		return nil, errors.Join(l.server.err, l.stop())
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), l.stop())
	}
	if err := copyFile(s.AdminKubeconfig(), o.run.kubeconfig()); err != nil {
		return nil, errors.Join(err, l.stop())
	}
	if l.client, err = client.FromKubeconfig(o.run.kubeconfig()); err != nil {
		return nil, errors.Join(err, l.stop())
	}
	joined := make(chan struct{})
	l.agent = runPart(agentCtx, func(ctx context.Context) error {
		return runAgent(ctx, agentConfig{
			kubeconfig: s.NodeKubeconfig(), name: nodeName(), dir: filepath.Join(o.run.path, "node"),
			images: o.images, log: o.log, joined: joined,
		})
	})
	select {
	case <-joined:
	case <-l.agent.done:
		return nil, errors.Join(l.agent.err, l.stop())
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), l.stop())
	}
	// Else the first pods would be told that there is no node.
	watched, cancel := l.watch(ctx)
	defer cancel()
	if err := awaitNode(watched, l.client); err != nil {
		return nil, errors.Join(err, l.failure(), l.stop())
	}
	return l, nil
}

// nodeTime bounds how long the node may take to be ready.
const nodeTime = 20 * time.Second

// awaitNode returns when a node is ready.
func awaitNode(ctx context.Context, c *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, nodeTime)
	defer cancel()
	events, err := c.Watch(ctx, api.Node, 0, api.ListOptions{})
	if err != nil {
		return fmt.Errorf("wait for the node: %w", err)
	}
	for e := range events {
		if e.Object.IsZero() || e.Type == api.Deleted {
			continue
		}
		n, err := api.Decode[corev1.Node](e.Object)
		if err != nil {
			return err
		}
		for _, cond := range n.Status.Conditions {
			if cond.Type == corev1.NodeReady && cond.Status == corev1.ConditionTrue {
				return nil
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("wait for the node: %w", err)
	}
	return errors.New("wait for the node: the server ended the watch")
}

// watch returns a context that ends when ctx does, or when a part of the
// cluster fails; failure then tells why.
func (l *local) watch(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		select {
		case <-l.server.done:
		case <-l.agent.done:
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// failure is the error of a part that ended by itself.
func (l *local) failure() error {
	for _, p := range []*part{l.server, l.agent} {
		if p == nil {
			continue
		}
		select {
		case <-p.done:
			if p.err != nil {
				return p.err
			}
		default:
		}
	}
	return nil
}

// stop ends the agent with its pods first, then the server. It is bounded:
// what has not ended by then dies with the process.
func (l *local) stop() error {
	l.stopAgent()
	err := l.agent.wait("node agent", 15*time.Second)
	if l.client != nil {
		l.client.Close()
	}
	l.stopServer()
	return errors.Join(err, l.server.wait("server", 5*time.Second))
}

func (p *part) wait(what string, limit time.Duration) error {
	if p == nil {
		return nil
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("the %s did not stop within %s", what, limit)
	}
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}

func nodeName() string {
	if h, err := os.Hostname(); err == nil && h != "" {
		return h
	}
	return "node"
}
