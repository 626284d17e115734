package registry

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/store"
)

// attempts bounds how often a write is worked out anew because others were
// faster. Each failed attempt means that somebody else made progress.
const attempts = 100

// tx works out one command: a snapshot, and over it what the operations so far
// have staged, so that later operations see earlier ones.
type tx struct {
	r      *Registry
	u      User
	snap   store.Snapshot
	now    time.Time
	staged map[object.Key]*staged
	order  []object.Key
	// relied holds objects that must not have changed although they are not
	// written: the namespaces of new objects.
	relied map[object.Key]uint64
	// warnings are for the client of the present operation.
	warnings []string
}

type staged struct {
	live object.Object // in the snapshot; zero when absent
	next object.Object // without resourceVersion; zero when deleted
}

func (c *Client) begin() *tx {
	r := c.r
	return &tx{r: r, u: c.u, snap: r.o.Store.View(), now: r.o.Now().UTC().Truncate(time.Second), staged: map[object.Key]*staged{}, relied: map[object.Key]uint64{}}
}

// get returns the object as the next operation sees it.
func (t *tx) get(k object.Key) (object.Object, bool) {
	if s, ok := t.staged[k]; ok {
		return s.next, !s.next.IsZero()
	}
	return t.snap.Get(k)
}

// revision returns the revision of the snapshot's object, 0 when it is not in
// the snapshot.
func (t *tx) revision(k object.Key) uint64 {
	if o, ok := t.snap.Get(k); ok {
		return revisionOf(o)
	}
	return 0
}

// each yields the objects as the next operation sees them, in no set order.
func (t *tx) each(group, kind, namespace string) iter.Seq[object.Object] {
	return func(yield func(object.Object) bool) {
		for o := range t.snap.List(group, kind, namespace) {
			if _, ok := t.staged[o.Key()]; !ok && !yield(o) {
				return
			}
		}
		for _, k := range t.order {
			s := t.staged[k]
			if k.Group == group && k.Kind == kind && (namespace == "" || k.Namespace == namespace) && !s.next.IsZero() && !yield(s.next) {
				return
			}
		}
	}
}

// stage makes next the object named k; a zero next removes it.
func (t *tx) stage(k object.Key, next object.Object) {
	s, ok := t.staged[k]
	if !ok {
		live, _ := t.snap.Get(k)
		s = &staged{live: live}
		t.staged[k] = s
		t.order = append(t.order, k)
	}
	s.next = next
}

// command returns what differs from the snapshot. Objects staged as they
// already are cause no mutation.
func (t *tx) command() (store.Command, error) {
	var c store.Command
	for _, k := range t.order {
		s := t.staged[k]
		m := store.Mutation{Key: k}
		switch {
		case s.live.IsZero() && s.next.IsZero():
			continue
		case s.live.IsZero():
			m.Object, m.ExpectAbsent = s.next.JSON(), true
		case s.next.IsZero():
			m.Delete, m.ExpectRevision = true, revisionOf(s.live)
		default:
			was, err := bare(s.live)
			if err != nil {
				return c, err
			}
			if slices.Equal(was, s.next.JSON()) {
				continue
			}
			m.Object, m.ExpectRevision = s.next.JSON(), revisionOf(s.live)
		}
		c.Mutations = append(c.Mutations, m)
	}
	if len(c.Mutations) == 0 {
		return c, nil
	}
	for k, revision := range t.relied {
		if _, written := t.staged[k]; !written {
			c.Mutations = append(c.Mutations, store.Mutation{Key: k, ExpectRevision: revision})
		}
	}
	return c, nil
}

// outcome is what one operation came to.
type outcome struct {
	key      object.Key
	object   object.Object // last state when removed
	removed  bool
	created  bool
	warnings []string
}

// op is one operation of a write. It may run several times, each time on a new
// tx, and must not keep anything between.
type op func(t *tx) (outcome, error)

// commit runs ops and proposes their result until the store accepts it. The
// errors are one per op; refused says whether there is any.
func (c *Client) commit(ctx context.Context, ops []op, dryRun bool) (outs []outcome, revision uint64, errs []error) {
	for attempt := range attempts {
		if err := ctx.Err(); err != nil {
			return nil, 0, []error{contextError(err)}
		}
		t := c.begin()
		outs, errs = t.run(ops)
		if errs != nil {
			return nil, 0, errs
		}
		cmd, err := t.command()
		if err != nil {
			return nil, 0, []error{apierrors.NewInternalError(err)}
		}
		revision = t.snap.Revision()
		if dryRun || len(cmd.Mutations) == 0 {
			return t.finish(outs, 0), revision, nil
		}
		res, err := c.r.o.Proposer.Propose(ctx, cmd)
		if err != nil {
			return nil, 0, []error{proposeError(ctx, err)}
		}
		if len(res.Failed) == 0 {
			return t.finish(outs, res.Revision), res.Revision, nil
		}
		c.r.o.Logger.Debug("write overtaken", "attempt", attempt, "key", cmd.Mutations[res.Failed[0]].Key.String())
		pause(ctx, attempt)
	}
	return nil, 0, []error{apierrors.NewConflict(anyResource, "", fmt.Errorf("overtaken by other writers %d times; please try again", attempts))}
}

// run returns an error slice as long as ops when any op was refused.
func (t *tx) run(ops []op) ([]outcome, []error) {
	outs, errs := make([]outcome, len(ops)), make([]error, len(ops))
	refused := false
	for i, f := range ops {
		t.warnings = nil
		outs[i], errs[i] = f(t)
		outs[i].warnings = t.warnings
		refused = refused || errs[i] != nil
	}
	for i, o := range outs {
		if errs[i] == nil {
			errs[i] = t.dependency(o)
		}
		if errs[i] == nil {
			errs[i] = t.escalation(o)
		}
		refused = refused || errs[i] != nil
	}
	if refused {
		return nil, errs
	}
	for i := range outs {
		if err := t.completeInventory(&outs[i]); err != nil {
			errs[i] = apierrors.NewInternalError(err)
			return nil, errs
		}
	}
	return outs, nil
}

// finish gives the outcomes' objects their resourceVersion: revision for what
// was written, what it was for the rest. revision 0 is for dry runs.
func (t *tx) finish(outs []outcome, revision uint64) []outcome {
	for i := range outs {
		o := &outs[i]
		s, ok := t.staged[o.key]
		if !ok || o.object.IsZero() {
			continue
		}
		rev := revision
		if was, err := bareOrNil(s.live); revision == 0 || (err == nil && slices.Equal(was, o.object.JSON()) && !o.removed) {
			rev = revisionOf(s.live)
		}
		o.object = withRevision(o.object, rev)
	}
	return outs
}

// pause waits a little, so that the same writers do not collide again.
func pause(ctx context.Context, attempt int) {
	if attempt < 2 {
		return
	}
	limit := time.Millisecond << min(attempt, 5)
	timer := time.NewTimer(rand.N(limit))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func revisionOf(o object.Object) uint64 {
	if o.IsZero() {
		return 0
	}
	n, _ := strconv.ParseUint(o.Meta().ResourceVersion, 10, 64)
	return n
}

// bare returns the document without resourceVersion, in canonical form.
func bare(o object.Object) ([]byte, error) {
	tree := o.Tree()
	delete(metadata(tree), "resourceVersion")
	return object.Marshal(tree)
}

// withRevision sets or, for 0, removes the resourceVersion.
func withRevision(o object.Object, revision uint64) object.Object {
	tree := o.Tree()
	if revision == 0 {
		delete(metadata(tree), "resourceVersion")
	} else {
		metadata(tree)["resourceVersion"] = strconv.FormatUint(revision, 10)
	}
	n, err := object.FromTree(tree)
	if err != nil {
		return o
	}
	return n
}

// metadata returns the tree's metadata, making it where it is missing.
func metadata(tree map[string]any) map[string]any { return child(tree, "metadata") }

// child returns the object under name, making it where it is missing.
func child(tree map[string]any, name string) map[string]any {
	m, ok := tree[name].(map[string]any)
	if !ok {
		m = map[string]any{}
		tree[name] = m
	}
	return m
}

// bareOrNil is bare for an object that may be zero.
func bareOrNil(o object.Object) ([]byte, error) {
	if o.IsZero() {
		return nil, nil
	}
	return bare(o)
}
