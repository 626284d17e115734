//go:build linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/writ-dev/writ/nodeagent/image"
	"github.com/writ-dev/writ/nodeagent/runtime"
)

var _ runtime.Runtime = (*Runtime)(nil)

const (
	// startTimeout bounds how long a container's root may take to build.
	startTimeout = 30 * time.Second
	// drainTimeout bounds how long the last output of an ended container may
	// take to reach its writers.
	drainTimeout = 10 * time.Second
)

// idPattern is what may name a sandbox or container: it names a directory too.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,200}$`)

// Runtime runs pods as children of this program. Make one with New; Close it.
type Runtime struct {
	dir    string
	images *image.Store
	log    *slog.Logger
	lock   *os.File
	guard  *guard

	// mu guards the maps and the closing flags of their members; it is never
	// held while something is started or waited for.
	mu         sync.Mutex
	closed     bool
	pods       map[string]*pod
	containers map[string]*container
}

// New checks that sandboxes can be made here and takes Options.Dir. The error
// says which setting of the system is in the way.
func New(o Options) (*Runtime, error) {
	if o.Dir == "" || o.Images == nil {
		return nil, errors.New("make sandbox runtime: Dir and Images must be set")
	}
	if !Privileged() {
		return nil, errors.New("make sandbox runtime: needs root, or a user namespace of its own")
	}
	if err := probe(); err != nil {
		return nil, fmt.Errorf("make sandbox runtime: %w: %s", err, explainUserNS("/proc/sys"))
	}
	dir, err := filepath.Abs(filepath.Join(o.Dir, "sandbox"))
	if err != nil {
		return nil, fmt.Errorf("make sandbox runtime: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make sandbox runtime: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make sandbox runtime: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("make sandbox runtime: another one is using %s", o.Dir)
	}
	if err := os.RemoveAll(filepath.Join(dir, "pods")); err != nil {
		lock.Close()
		return nil, fmt.Errorf("remove what an earlier run left: %w", err)
	}
	guard, err := startGuard()
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("make sandbox runtime: %w", err)
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Runtime{dir: dir, images: o.Images, log: log, lock: lock, guard: guard,
		pods: map[string]*pod{}, containers: map[string]*container{}}, nil
}

// probe tries on a thread of its own what every sandbox needs.
func probe() error {
	result := make(chan error)
	onThread(func() {
		err := unix.Unshare(namespaces)
		if err != nil {
			err = fmt.Errorf("make namespaces: %w", err)
		}
		result <- err
	})
	return <-result
}

// Image looks an image up and unpacks it.
func (r *Runtime) Image(ctx context.Context, ref string) (runtime.ImageInfo, error) {
	root, err := r.unpack(ctx, ref)
	if err != nil {
		return runtime.ImageInfo{}, err
	}
	return runtime.ImageInfo{ID: root.ConfigDigest, RepoDigest: root.Digest}, nil
}

func (r *Runtime) unpack(ctx context.Context, ref string) (image.Rootfs, error) {
	root, err := r.images.Unpack(ctx, ref)
	if errors.Is(err, image.ErrNotFound) {
		return root, fmt.Errorf("%s: %w", ref, runtime.ErrImageNotFound)
	}
	return root, err
}

// CreateSandbox makes a pod's namespaces.
func (r *Runtime) CreateSandbox(ctx context.Context, c runtime.SandboxConfig) (int, error) {
	if !idPattern.MatchString(c.ID) {
		return -1, fmt.Errorf("create sandbox: %q is not a valid ID", c.ID)
	}
	if err := ctx.Err(); err != nil {
		return -1, err
	}
	p := &pod{id: c.ID, hostname: c.Hostname, dir: filepath.Join(r.dir, "pods", c.ID),
		netNS: -1, work: make(chan func()),
		ready: make(chan struct{}), quit: make(chan struct{}), ended: make(chan struct{})}
	r.mu.Lock()
	_, exists := r.pods[c.ID]
	if !exists && !r.closed {
		r.pods[c.ID] = p
	}
	closed := r.closed
	r.mu.Unlock()
	if closed {
		return -1, fmt.Errorf("create sandbox %s: the runtime is closed", c.ID)
	}
	if exists {
		return -1, fmt.Errorf("create sandbox %s: it exists", c.ID)
	}
	err := p.start(c)
	close(p.ready)
	if err != nil {
		r.mu.Lock()
		delete(r.pods, c.ID)
		r.mu.Unlock()
		return -1, fmt.Errorf("create sandbox %s: %w", c.ID, err)
	}
	return p.netNS, nil
}

// RemoveSandbox kills what runs in a sandbox and frees it.
func (r *Runtime) RemoveSandbox(ctx context.Context, id string) error {
	r.mu.Lock()
	p := r.pods[id]
	var members []*container
	if p != nil {
		p.closing = true
		for _, c := range r.containers {
			if c.pod == p {
				members = append(members, c)
			}
		}
	}
	r.mu.Unlock()
	if p == nil {
		return nil
	}
	select {
	case <-p.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for _, c := range members {
		c.kill()
	}
	for _, c := range members {
		if err := r.RemoveContainer(ctx, c.id); err != nil {
			return err
		}
	}
	if err := p.stop(); err != nil {
		return fmt.Errorf("remove sandbox %s: %w", id, err)
	}
	r.mu.Lock()
	if r.pods[id] == p {
		delete(r.pods, id)
	}
	r.mu.Unlock()
	return nil
}

// Close removes every sandbox and gives Options.Dir back.
func (r *Runtime) Close() error {
	r.mu.Lock()
	r.closed = true
	var ids []string
	for id := range r.pods {
		ids = append(ids, id)
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout+drainTimeout)
	defer cancel()
	errs := make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() { errs[i] = r.RemoveSandbox(ctx, id) })
	}
	wg.Wait()
	err := errors.Join(errs...)
	if err == nil {
		err = os.RemoveAll(filepath.Join(r.dir, "pods"))
	}
	err = errors.Join(err, r.guard.stop())
	// A second Close finds the lock closed already, which is no error.
	_ = r.lock.Close()
	return err
}
