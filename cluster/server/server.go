// Package server is a member of the control plane: it opens the store, puts the
// API in front of it, and runs the reconcilers and the scheduler behind it.
//
// It composes and decides nothing. What runs inside acts through the registry
// with the system identity; everybody else comes over HTTPS. If any part ends
// by itself, the whole server stops and says why.
//
// The data directory holds
//
//	raft/              the log and the snapshots, sealed; consensus owns it and locks it
//	encryption.key     the keys they are sealed with, unless kept elsewhere
//	pki/               the certificate authority and what it issued
//	admin.kubeconfig   for people
//	node.kubeconfig    for node agents that join
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/writ-dev/writ/cluster/apiserver"
	"github.com/writ-dev/writ/cluster/audit"
	"github.com/writ-dev/writ/cluster/auth"
	"github.com/writ-dev/writ/cluster/consensus"
	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/registry"
	"github.com/writ-dev/writ/cluster/seal"
	"github.com/writ-dev/writ/cluster/store"
)

const (
	// openTime bounds the opening of the store, which reads the whole log.
	openTime = 2 * time.Minute
	// eventsEvery and certificatesEvery pace the housekeeping.
	eventsEvery       = time.Minute
	certificatesEvery = time.Hour
)

// Options configure a Server. Data and Listen are required.
type Options struct {
	// Data is the directory of the cluster's state; it is made if absent.
	Data string
	// Listen is the TCP address of the API, host:port; port 0 picks a free one.
	Listen string
	// EncryptionKeyFile holds the keys that the log and the snapshots are sealed
	// with; see cluster/seal. Default: encryption.key in Data, made if absent.
	EncryptionKeyFile string
	// AuditPath is the file of the audit log; empty means none. Full files, of
	// AuditMaxSize bytes, are kept up to AuditMaxBackups; see cluster/audit.
	AuditPath       string
	AuditMaxSize    int64
	AuditMaxBackups int
	// Version is Writ's version, shown by the API.
	Version string
	// Logger may be nil.
	Logger *slog.Logger
}

// Server is a control plane of one member.
type Server struct {
	o     Options
	ready chan struct{}
	url   string     // set before ready is closed
	audit *audit.Log // set by Run; may be nil
}

// New checks o and makes a Server that does nothing until Run.
func New(o Options) (*Server, error) {
	if o.Data == "" || o.Listen == "" {
		return nil, errors.New("server: Data and Listen are required")
	}
	if _, _, err := net.SplitHostPort(o.Listen); err != nil {
		return nil, fmt.Errorf("listen on %q: want host:port: %w", o.Listen, err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Server{o: o, ready: make(chan struct{})}, nil
}

// Ready is closed when the API answers. It stays open if Run fails before.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// URL returns the API's address; it is known once Ready is closed.
func (s *Server) URL() string { return s.url }

// AdminKubeconfig returns the path of the administrator's kubeconfig.
func (s *Server) AdminKubeconfig() string { return filepath.Join(s.o.Data, "admin.kubeconfig") }

// NodeKubeconfig returns the path of the kubeconfig with which nodes join.
func (s *Server) NodeKubeconfig() string { return filepath.Join(s.o.Data, "node.kubeconfig") }

// Run serves until ctx ends, then stops everything and returns nil. It may be
// called once. A port that is taken, a data directory that is in use or was
// written by another version, and a part that failed are errors.
func (s *Server) Run(ctx context.Context) (err error) {
	// The port first: a server that cannot serve leaves its data alone.
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.o.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("listen on %s: the address is in use; stop what serves there or choose another with --listen", s.o.Listen)
	}
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.o.Listen, unwrapOp(err))
	}
	defer func() { _ = listener.Close() }() // Serve has closed it unless it was never reached

	if s.audit, err = s.openAudit(); err != nil {
		return err
	}
	keys, err := s.openKeys()
	if err != nil {
		return err
	}
	state := store.New(store.Options{})
	openCtx, cancel := context.WithTimeout(ctx, openTime)
	node, err := consensus.Open(openCtx, consensus.Options{
		Dir: s.raftDir(), Store: state, Keys: keys, Logger: s.o.Logger.With("component", "raft"),
	})
	cancel()
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	return s.serve(ctx, listener, state, node, keys)
}

// serve runs everything in front of and behind an open store.
func (s *Server) serve(ctx context.Context, l net.Listener, state *store.Store, node *consensus.Node, keys *seal.Ring) error {
	reg, err := registry.New(registry.Options{Store: state, Proposer: node, Logger: s.o.Logger})
	if err != nil {
		return err
	}
	system := reg.As(registry.System)
	if err := system.Bootstrap(ctx); err != nil {
		return err
	}
	reach := reachable(l.Addr())
	creds, err := auth.Open(auth.Options{Dir: filepath.Join(s.o.Data, "pki"), Hosts: reach.hosts})
	if err != nil {
		return err
	}
	if err := creds.WriteNodeKubeconfig(s.NodeKubeconfig(), reach.nodes); err != nil {
		return err
	}
	if err := creds.WriteAdminKubeconfig(s.AdminKubeconfig(), reach.local); err != nil {
		return err
	}
	front, err := apiserver.New(apiserver.Options{
		Registry: reg, Credentials: creds, Version: s.o.Version, Audit: s.audit,
		Ready: node.Barrier, Logger: s.o.Logger.With("component", "api"),
	})
	if err != nil {
		return err
	}
	loops, err := controllers(controller.Env{Client: system, Logger: s.o.Logger})
	if err != nil {
		return err
	}

	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		select {
		case <-node.Done():
			return node.Err()
		case <-ctx.Done():
			return nil
		}
	})
	auditCtx, audited := context.WithCancel(context.WithoutCancel(ctx))
	g.Go(func() error {
		defer audited() // after the last request
		return front.Serve(ctx, l)
	})
	if s.audit != nil {
		g.Go(func() error { return s.audit.Run(auditCtx) })
	}
	for _, c := range loops {
		g.Go(func() error {
			if err := c.Run(ctx); err != nil {
				return fmt.Errorf("controller %s: %w", c.Name(), err)
			}
			return nil
		})
	}
	g.Go(func() error { return s.keepHouse(ctx, system, creds) })
	g.Go(func() error { return s.keepSealed(ctx, node, keys) })
	s.url = reach.local
	close(s.ready)
	return g.Wait()
}

// openAudit opens the audit log; there is none without a path.
func (s *Server) openAudit() (*audit.Log, error) {
	if s.o.AuditPath == "" {
		return nil, nil
	}
	return audit.Open(audit.Options{Path: s.o.AuditPath, MaxSize: s.o.AuditMaxSize, MaxBackups: s.o.AuditMaxBackups, Logger: s.o.Logger})
}

// keepHouse removes old Events and renews certificates. What fails is tried
// again the next time.
func (s *Server) keepHouse(ctx context.Context, c *registry.Client, creds *auth.Credentials) error {
	events, certificates := time.NewTicker(eventsEvery), time.NewTicker(certificatesEvery)
	defer events.Stop()
	defer certificates.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-events.C:
			if err := c.ExpireEvents(ctx); err != nil && ctx.Err() == nil {
				s.o.Logger.Warn("remove old events", "error", err)
			}
		case <-certificates.C:
			if err := creds.Renew(); err != nil {
				s.o.Logger.Error("renew certificates", "error", err)
			}
		}
	}
}

// unwrapOp drops the words that net puts before what is wrong.
func unwrapOp(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
