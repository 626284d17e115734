// Package consensus makes transactions durable and gives them their order: it
// is the hashicorp/raft log in front of a store.Store, and the only package
// that knows Raft.
//
// One log entry is one store.Command; its index is the revision. Propose
// returns after the entry is on disk at a majority and applied here. A server
// that reads an entry or a snapshot that it does not understand, or cannot
// write its log, stops and says why (Done, Err): it never goes on with a gap.
//
// A data directory belongs to one process at a time and to one format version.
// A new directory becomes a cluster of one voter; the log, the snapshots and
// the configuration in them are those of a larger cluster already.
//
// With keys, everything that is somebody's data is sealed before it is written
// to disk; see cluster/seal.
//
// The package never looks into an object, and never decides what is proposed.
package consensus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/writ-dev/writ/cluster/seal"
	"github.com/writ-dev/writ/cluster/store"
)

// Options configure a Node. Dir and Store are required.
type Options struct {
	// Dir is the data directory. It is made if absent, readable by the owner.
	Dir string
	// Store is what committed commands are applied to. It must be new.
	Store *store.Store
	// Keys seal what is written to disk; nil leaves it readable. A directory that
	// was not sealed, or with another key, is read and can be resealed.
	Keys *seal.Ring
	// Logger gets Raft's messages and state changes. nil discards them.
	Logger *slog.Logger
	// MaxWaiting bounds the proposals in flight; more wait for a place until
	// their context ends. Default 1024.
	MaxWaiting int
	// MinFree is the free disk space in bytes below which proposals are refused
	// with store.ErrNoSpace, while the log can still be written and truncated.
	// Default 64 MiB.
	MinFree uint64
	// SnapshotEntries is how many entries the log may grow beyond the last
	// snapshot before the next is taken. Default 8192.
	SnapshotEntries uint64
	// SnapshotInterval is how often that is checked. Default 20 s.
	SnapshotInterval time.Duration
	// SegmentSize is the size in bytes of the log's files. Default 16 MiB.
	SegmentSize int
}

func (o Options) withDefaults() Options {
	o.MaxWaiting = cmp.Or(o.MaxWaiting, 1024)
	o.MinFree = cmp.Or(o.MinFree, 64<<20)
	o.SnapshotEntries = cmp.Or(o.SnapshotEntries, 8192)
	o.SnapshotInterval = cmp.Or(o.SnapshotInterval, 20*time.Second)
	o.SegmentSize = cmp.Or(o.SegmentSize, 16<<20)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// These hold while this server is the only voter: there is nobody to wait for,
// so an election is won as soon as it is called, and a start takes little more
// than reading the log. A larger cluster needs the library's own second.
const (
	soleTimeout   = 25 * time.Millisecond
	groupTimeout  = time.Second
	groupLease    = 500 * time.Millisecond
	maxBatch      = 256  // entries in one write to disk
	trailingLogs  = 4096 // entries kept behind a snapshot for slow followers
	keptSnapshots = 2
	maxDrain      = 10 * time.Second // for Raft to answer before it is stopped
)

// Node is a member of the cluster. It satisfies store.Proposer.
type Node struct {
	options Options
	dir     *directory
	log     *logStore
	raft    *raft.Raft
	// leading is set only after the barrier of this term.
	leading atomic.Bool
	ready   chan struct{} // closed when leading for the first time
	slots   chan struct{} // one token for each proposal in flight

	ended chan struct{} // closed when the Node stops, whatever the reason
	mu    sync.RWMutex
	err   error // why; guarded by mu

	sealed    atomic.Bool // see Sealed
	resealing sync.Mutex  // held by Reseal

	futures sync.WaitGroup // asked of Raft; Add only with mu held for reading and err nil
	stopped chan struct{}  // closed when Raft has stopped after the Node ended
	workers sync.WaitGroup
}

// Open opens or makes the data directory, and returns when this server leads
// and has applied all that was ever acknowledged. ctx bounds the opening only;
// Close ends the Node.
func Open(ctx context.Context, o Options) (*Node, error) {
	if o.Dir == "" || o.Store == nil {
		return nil, errors.New("open consensus: Dir and Store are required")
	}
	o = o.withDefaults()
	dir, err := openDirectory(o.Dir)
	if err != nil {
		return nil, err
	}
	n := &Node{
		options: o,
		dir:     dir,
		ready:   make(chan struct{}),
		slots:   make(chan struct{}, o.MaxWaiting),
		ended:   make(chan struct{}),
		stopped: make(chan struct{}),
	}
	if err := n.start(); err != nil {
		return nil, errors.Join(err, n.release())
	}
	select {
	case <-n.ready:
		// The barrier also passes when an entry before it could not be applied.
		if err = n.Err(); err == nil {
			return n, nil
		}
	case <-n.ended:
		err = n.Err()
	case <-ctx.Done():
		err = fmt.Errorf("wait to lead: %w", ctx.Err())
	}
	return nil, errors.Join(fmt.Errorf("open %s: %w", o.Dir, err), n.Close())
}

func (n *Node) start() error {
	logger := raftLogger(n.options.Logger)
	var err error
	if n.log, err = openLog(n.dir, n.options.SegmentSize, n.options.Keys, logger, n.fail); err != nil {
		return err
	}
	files, err := raft.NewFileSnapshotStoreWithLogger(n.dir.path, keptSnapshots, logger)
	if err != nil {
		return fmt.Errorf("open snapshots in %s: %w", n.dir.path, err)
	}
	snapshots := &sealedSnapshots{SnapshotStore: files, keys: n.options.Keys}
	existing, err := raft.HasExistingState(n.log, n.log, snapshots)
	if err != nil {
		return fmt.Errorf("read state in %s: %w", n.dir.path, err)
	}
	sealed, err := n.dir.checkSealed(n.options.Keys, !existing)
	if err != nil {
		return err
	}
	n.sealed.Store(sealed)
	transport := newTransport(n.dir.member)
	notify := make(chan bool, 8)
	config, err := n.config(logger, snapshots, transport)
	if err != nil {
		return err
	}
	config.NotifyCh = notify
	f := &fsm{store: n.options.Store, fail: n.fail}
	n.raft, err = raft.NewRaft(config, f, n.log, n.log, snapshots, transport)
	if err != nil {
		return fmt.Errorf("start raft in %s: %w", n.dir.path, err)
	}
	n.workers.Go(func() { n.followLeadership(notify) })
	n.workers.Go(n.stopRaft)
	return nil
}

// stopRaft waits until the Node has ended and stops Raft. Raft v1.8.0 never
// answers the futures that it has queued when it is shut down, so they are
// answered first; only if it does not come to that are they given up.
func (n *Node) stopRaft() {
	<-n.ended
	answered := make(chan struct{})
	go func() {
		n.futures.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(maxDrain):
		n.options.Logger.Error("raft does not answer; stopping it", "waited", maxDrain)
	}
	n.raft.Shutdown().Error()
	close(n.stopped)
}

// config makes the cluster of one if there is none yet, and returns Raft's
// configuration for as many voters as there are.
func (n *Node) config(logger hclog.Logger, snapshots raft.SnapshotStore, t raft.Transport) (*raft.Config, error) {
	c := raft.DefaultConfig()
	c.Logger = logger
	c.LocalID = raft.ServerID(n.dir.member)
	c.BatchApplyCh = true
	c.MaxAppendEntries = maxBatch
	c.TrailingLogs = trailingLogs
	c.SnapshotThreshold = n.options.SnapshotEntries
	c.SnapshotInterval = n.options.SnapshotInterval
	c.NoLegacyTelemetry = true
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = soleTimeout, soleTimeout, soleTimeout
	if err := n.bootstrap(c, snapshots, t); err != nil {
		return nil, err
	}
	reading := *c // GetConfiguration changes what it is given
	reading.NoSnapshotRestoreOnStart = true
	members, err := raft.GetConfiguration(&reading, discardFSM{}, n.log, n.log, snapshots, t)
	if err != nil {
		return nil, fmt.Errorf("read cluster configuration in %s: %w", n.dir.path, err)
	}
	if len(members.Servers) > 1 {
		c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = groupTimeout, groupTimeout, groupLease
	}
	return c, nil
}

func (n *Node) bootstrap(c *raft.Config, snapshots raft.SnapshotStore, t raft.Transport) error {
	exists, err := raft.HasExistingState(n.log, n.log, snapshots)
	if err != nil {
		return fmt.Errorf("read state in %s: %w", n.dir.path, err)
	}
	alone := raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: c.LocalID, Address: t.LocalAddr()}}}
	if exists {
		return n.checkExisting(snapshots, alone)
	}
	if err := raft.BootstrapCluster(c, n.log, n.log, snapshots, t, alone); err != nil {
		return fmt.Errorf("make a cluster in %s: %w", n.dir.path, err)
	}
	return nil
}

// checkExisting deals with a directory that has a term but neither log nor
// snapshot. In the first term a kill may have cut the making of the cluster
// short between the two writes, so the second is made now. In a later one the
// contents were lost, and to begin anew would hide that.
func (n *Node) checkExisting(snapshots raft.SnapshotStore, alone raft.Configuration) error {
	last, err := n.log.LastIndex()
	if err != nil {
		return fmt.Errorf("read log in %s: %w", n.dir.path, err)
	}
	kept, err := snapshots.List()
	if err != nil {
		return fmt.Errorf("list snapshots in %s: %w", n.dir.path, err)
	}
	if last != 0 || len(kept) != 0 {
		return nil
	}
	term, err := n.log.GetUint64([]byte("CurrentTerm"))
	if err != nil {
		return fmt.Errorf("read term in %s: %w", n.dir.path, err)
	}
	if term > 1 {
		return fmt.Errorf("open %s: the log is gone: it was begun, but holds no entry and no snapshot; restore the directory from a backup, or remove it to begin an empty cluster", n.dir.path)
	}
	return n.log.StoreLog(&raft.Log{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(alone)})
}

// followLeadership runs until Raft has stopped. A leader proposes only after a
// barrier in its term: before, the store may lack entries committed earlier.
func (n *Node) followLeadership(changes <-chan bool) {
	for {
		select {
		case <-n.ended:
			return
		case leader := <-changes:
			n.leading.Store(false)
			if !leader {
				continue
			}
			err := n.await(context.Background(), func() raft.Future { return n.raft.Barrier(0) }, func() {})
			if err != nil {
				n.options.Logger.Warn("lost leadership before the barrier", "err", err)
				continue
			}
			n.leading.Store(true)
			select {
			case <-n.ready:
			default:
				close(n.ready)
			}
		}
	}
}

// fail stops the Node because of err. Only the first error counts. It does not
// wait, so that Raft's own goroutines may call it.
func (n *Node) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err != nil {
		return
	}
	n.err = err
	n.leading.Store(false)
	if !errors.Is(err, store.ErrClosed) {
		n.options.Logger.Error("consensus stopped", "err", err)
	}
	close(n.ended)
}

// Done is closed when the Node has stopped by itself or was closed. Then it
// must be closed, and Err says why.
func (n *Node) Done() <-chan struct{} { return n.ended }

// Err returns nil while the Node runs, store.ErrClosed after Close, else what
// stopped it.
func (n *Node) Err() error {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.err
}

// Close stops the Node and releases the directory; another Open may follow in
// the same process. Proposals that wait are answered first.
func (n *Node) Close() error {
	n.fail(store.ErrClosed)
	return n.release()
}

func (n *Node) release() error {
	n.workers.Wait()
	var err error
	if n.log != nil {
		err = n.log.Close()
	}
	return errors.Join(err, n.dir.Close())
}
