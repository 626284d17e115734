package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// Attribute keys of log lines.
const (
	logController = "controller"
	logKey        = "key"
	logKind       = "kind"
	logError      = "error"
)

// Env is what every controller of one server is given.
type Env struct {
	// Client reads and writes; required. It must see its own writes.
	Client api.Client
	// Now is the clock; nil means time.Now. Timers always use package time.
	Now func() time.Time
	// Logger may be nil: then nothing is logged.
	Logger *slog.Logger
}

// WithDefaults returns e with its nil fields, but the Client, filled in.
func (e Env) WithDefaults() Env {
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.Logger == nil {
		e.Logger = slog.New(slog.DiscardHandler)
	}
	return e
}

// Result says when a key wants to be looked at again.
type Result struct {
	// RequeueAfter, if positive, reconciles the key again after that time, even
	// when nothing changes until then. A later result for the key replaces it.
	RequeueAfter time.Duration
}

// Reconciler brings one object closer to what it asks for.
type Reconciler interface {
	// Reconcile looks at the object named k, which may not exist, and acts. An
	// error makes it run again after a growing delay; a Conflict is an ordinary
	// outcome that is retried without noise.
	Reconcile(ctx context.Context, k object.Key) (Result, error)
}

// Func is a Reconciler made of a function.
type Func func(ctx context.Context, k object.Key) (Result, error)

// Reconcile calls f.
func (f Func) Reconcile(ctx context.Context, k object.Key) (Result, error) { return f(ctx, k) }

// Change is one step in an object's life as seen by a watch. Old is zero for
// an object not seen before, New is zero for one that is gone; steps in between
// may have been skipped.
type Change struct {
	Old, New object.Object
}

// Object returns New, or Old when the object is gone.
func (c Change) Object() object.Object {
	if c.New.IsZero() {
		return c.Old
	}
	return c.New
}

// Watch is one kind that a controller follows.
type Watch struct {
	Kind api.Kind
	// Namespace and the selectors narrow the watch; see api.ListOptions.
	api.ListOptions
	// Map returns the keys that a change may concern: the object's own key if
	// nil. It is called by one goroutine per watch and should be quick; it may
	// read through the client.
	Map func(ctx context.Context, c Change) []object.Key
}

// Options configure a Controller.
type Options struct {
	// Name appears in logs and errors; required.
	Name string
	Env
	// Watches must not be empty.
	Watches []Watch
	// Reconciler is required.
	Reconciler Reconciler
	// Workers is how many keys are reconciled at once; 0 means 1.
	Workers int
	// MinBackoff and MaxBackoff bound the delay before a key that failed is
	// tried again; it doubles with each failure. 0 means 5 ms and 30 s.
	MinBackoff, MaxBackoff time.Duration
}

// Controller runs one Reconciler.
type Controller struct {
	o Options
	q *queue
}

// New checks o and makes a Controller that does nothing until Run.
func New(o Options) (*Controller, error) {
	switch {
	case o.Name == "":
		return nil, errors.New("make controller: it has no name")
	case o.Client == nil:
		return nil, fmt.Errorf("make controller %s: it has no client", o.Name)
	case o.Reconciler == nil:
		return nil, fmt.Errorf("make controller %s: it has no reconciler", o.Name)
	case len(o.Watches) == 0:
		return nil, fmt.Errorf("make controller %s: it watches nothing", o.Name)
	}
	o.Env = o.Env.WithDefaults()
	o.Logger = o.Logger.With(logController, o.Name)
	if o.Workers <= 0 {
		o.Workers = 1
	}
	if o.MinBackoff <= 0 {
		o.MinBackoff = 5 * time.Millisecond
	}
	if o.MaxBackoff <= 0 {
		o.MaxBackoff = 30 * time.Second
	}
	o.MaxBackoff = max(o.MaxBackoff, o.MinBackoff)
	return &Controller{o: o, q: newQueue(o.MinBackoff, o.MaxBackoff)}, nil
}

// Name returns the controller's name.
func (c *Controller) Name() string { return c.o.Name }

// Enqueue asks for k to be reconciled soon.
func (c *Controller) Enqueue(k object.Key) { c.q.add(k) }

// Run reconciles until ctx ends, then waits for the workers and returns nil.
// It may be called once.
func (c *Controller) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, w := range c.o.Watches {
		wg.Go(func() { newWatcher(c, w).run(ctx) })
	}
	for range c.o.Workers {
		wg.Go(func() { c.work(ctx) })
	}
	<-ctx.Done()
	c.q.close()
	wg.Wait()
	return nil
}

func (c *Controller) work(ctx context.Context) {
	for {
		k, ok := c.q.get()
		if !ok {
			return
		}
		res, err := c.o.Reconciler.Reconcile(ctx, k)
		switch {
		case ctx.Err() != nil:
			c.q.done(k)
		case err != nil:
			c.logFailure(ctx, k, err)
			c.q.fail(k, apierrors.IsConflict(err))
		default:
			c.q.succeed(k, res.RequeueAfter)
		}
	}
}

func (c *Controller) logFailure(ctx context.Context, k object.Key, err error) {
	level := slog.LevelWarn
	if apierrors.IsConflict(err) {
		level = slog.LevelDebug
	}
	c.o.Logger.Log(ctx, level, "reconcile again", logKey, k.String(), logError, err)
}
