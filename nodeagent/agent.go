// Package nodeagent runs the pods of one node: it registers the node, watches
// what is bound to it, hands each pod to a worker (nodeagent/pod), and keeps
// the node's network and names (nodeagent/network, nodeagent/dns) at what the
// cluster granted.
//
// Invariants: a pod's containers start only after its grants are in the packet
// rules and in its DNS view; rules are always the whole of the grants known,
// so that a lost watch leaves no stale edge behind; when the server is away,
// pods go on and nothing new is granted. The agent decides nothing about who
// may use what: it knows addresses, not declarations.
//
// Run returns when its context ends, with every pod stopped. Should the
// process die instead, the kernel takes network, rules and containers with it.
package nodeagent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/nodeagent/dns"
	"github.com/writ-dev/writ/nodeagent/logs"
	"github.com/writ-dev/writ/nodeagent/network"
	"github.com/writ-dev/writ/nodeagent/runtime"
)

// Options configure an agent. Name, Client, Runtime, Dir and TLS are required.
type Options struct {
	// Name is the node's.
	Name   string
	Client api.Client
	// Runtime stays the caller's: close it after Run.
	Runtime runtime.Runtime
	// Dir holds the pods' logs and volumes.
	Dir string
	// TLS is how the node serves logs: its certificate, and in ClientCAs the
	// cluster's authority.
	TLS *tls.Config
	// Listen is where logs are served; 127.0.0.1 and any port when empty.
	Listen string
	// Publish is the address on which node ports are published; 127.0.0.1
	// when empty.
	Publish string
	// MaxPods is what the node offers; 110 when 0.
	MaxPods int
	// StopGrace bounds how long a pod may take to stop when Run's context
	// ends; 2 s when 0.
	StopGrace time.Duration
	// Logger may be nil.
	Logger *slog.Logger
}

// agent is a running node agent.
type agent struct {
	o   Options
	log *slog.Logger

	fabric   *network.Fabric
	names    *dns.Server
	logs     *logs.Store
	pods     *podSet
	grants   *grantTable
	programs *programmer
	services *serviceTable
	events   *recorder
	node     *node
}

// Run runs the agent until ctx ends or something it cannot do without fails.
func Run(ctx context.Context, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return fmt.Errorf("node agent: %w", err)
	}
	a := &agent{o: o, log: o.Logger}
	if a.fabric, err = network.Open(network.Options{Logger: o.Logger}); err != nil {
		return fmt.Errorf("node agent: open network: %w", err)
	}
	err = a.run(ctx)
	if err = errors.Join(err, a.fabric.Close()); err != nil {
		return fmt.Errorf("node agent: %w", err)
	}
	return nil
}

func (o Options) withDefaults() (Options, error) {
	if o.Name == "" || o.Client == nil || o.Runtime == nil || o.Dir == "" || o.TLS == nil {
		return o, errors.New("nodeagent: Name, Client, Runtime, Dir and TLS are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Publish == "" {
		o.Publish = "127.0.0.1"
	}
	if o.MaxPods <= 0 {
		o.MaxPods = 110
	}
	return o, nil
}

// run opens what can fail at once, then starts every part and waits for them.
// The workers are waited for last, while nothing else runs any more.
func (a *agent) run(ctx context.Context) error {
	var err error
	if a.logs, err = logs.Open(filepath.Join(a.o.Dir, "logs"), logs.Options{}); err != nil {
		return err
	}
	logListener, err := net.Listen("tcp", a.o.Listen)
	if err != nil {
		return fmt.Errorf("listen for log readers: %w", err)
	}
	defer logListener.Close()
	gateway := net.JoinHostPort(network.Gateway().String(), "53")
	udp, err := a.fabric.ListenPacket(ctx, "udp4", gateway)
	if err != nil {
		return fmt.Errorf("listen for DNS: %w", err)
	}
	defer udp.Close()
	tcp, err := a.fabric.Listen(ctx, "tcp4", gateway)
	if err != nil {
		return fmt.Errorf("listen for DNS: %w", err)
	}
	defer tcp.Close()

	a.names = dns.New(dns.Options{Logger: a.log})
	a.events = newRecorder(a.o.Client, a.o.Name, a.log)
	a.node = &node{o: a.o, logs: logListener.Addr(), log: a.log}
	a.services = newServiceTable(a)
	a.pods = newPodSet(a)
	a.grants = newGrantTable(a.o.Client)
	a.programs = newProgrammer(a)
	// Pods and grants are what rules are made of.
	a.grants.changed, a.pods.changed = a.programs.poke, a.programs.poke

	if err := a.node.register(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, part := range []func(context.Context) error{
		a.node.heartbeat, a.events.run, a.programs.run, a.watchRefusals, a.services.run, a.pods.run,
		func(ctx context.Context) error { return a.names.Run(ctx, udp, tcp) },
		func(ctx context.Context) error { return a.serveLogs(ctx, logListener) },
		func(ctx context.Context) error {
			return a.follow(ctx, api.GrantKind, api.ListOptions{}, a.grants)
		},
	} {
		g.Go(func() error { return part(ctx) })
	}
	err = g.Wait()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
