package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/apply/secret"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/diff"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// Options say for which release a bundle is planned.
type Options struct {
	// Release is the release's name, required.
	Release string
	// Namespace is where the Release object lives; empty means "default".
	Namespace string
	// By names who applies, and Source where the documents come from, for the
	// record.
	By, Source string
	// Rollback is the revision that the bundle was, when it is brought back.
	Rollback int64
	// Adopt takes over objects that exist already, be they nobody's or another
	// release's. Without it they are refused.
	Adopt bool
	// ForceFields are paths of fields to set although another program has set
	// them otherwise; "all" is every field. Without it they are conflicts.
	ForceFields []string
	// Orphan lets go of what the bundle no longer has instead of deleting it.
	Orphan bool
	// Defaulted lists every default among the drift, instead of counting them.
	Defaulted bool
}

// Compute plans the application of b. It writes nothing: what the server would
// make of the changes, and whether it would take them, is learnt by a dry run.
// Refusals are a diag.List with source positions.
func Compute(ctx context.Context, c api.Client, b *render.Bundle, o Options) (*Plan, error) {
	if o.Release == "" {
		return nil, errors.New("plan: the release has no name")
	}
	if o.Namespace == "" {
		o.Namespace = "default"
	}
	for range attempts {
		plan, err := compute(ctx, c, b, o)
		if !errors.Is(err, errMoved) {
			return plan, err
		}
	}
	return nil, fmt.Errorf("plan: %w: %d attempts", errMoved, attempts)
}

// attempts bounds how often a plan is computed, or committed, anew because the
// cluster moved in between. Status updates alone make that happen.
const attempts = 8

// errMoved means that objects changed between reading them and the rehearsal.
var errMoved = errors.New("the cluster changes faster than it can be read")

func compute(ctx context.Context, c api.Client, b *render.Bundle, o Options) (*Plan, error) {
	r, err := readRelease(ctx, c, o)
	if err != nil {
		return nil, err
	}
	p := &planner{client: c, live: newReader(c), bundle: b, options: o, release: r, sealer: secret.NewSealer(), others: map[object.Key]*handover{}}
	if p.cluster, err = clusterID(ctx, c); err != nil {
		return nil, err
	}
	if err := p.live.expect(ctx, p.keys()); err != nil {
		return nil, err
	}
	if err := p.documents(ctx); err != nil {
		return nil, err
	}
	if err := p.prune(ctx); err != nil {
		return nil, err
	}
	if err := p.rehearse(ctx); err != nil {
		return nil, err
	}
	return p.finish(ctx)
}

// planner is one computation of a plan.
type planner struct {
	client   api.Client
	live     *reader
	bundle   *render.Bundle
	options  Options
	release  *release
	sealer   secret.Sealer
	items    []*item
	warnings []string
	revision uint64
	cluster  string
	// others are the releases that objects are taken over from.
	others    map[object.Key]*handover
	conflicts []Conflict
	drift     []Drift
	defaulted int
}

// item is one object on its way into a plan.
type item struct {
	ObjectPlan
	kind   api.Kind
	origin render.Origin
	doc    object.Object
	live   object.Object
	// previous is the document as applied before, if it was.
	previous map[string]any
	// result is what the object becomes; zero when deleted.
	result object.Object
}

// keys are all objects that the plan is about.
func (p *planner) keys() []object.Key {
	var keys []object.Key
	for _, d := range p.bundle.Documents {
		keys = append(keys, d.Object.Key())
	}
	for _, i := range p.release.spec.Inventory {
		keys = append(keys, itemKey(i))
	}
	return keys
}

// documents plans every document of the bundle.
func (p *planner) documents(ctx context.Context) error {
	var errs diag.List
	for _, d := range p.bundle.Documents {
		k := d.Object.Key()
		it := &item{origin: d.Origin, doc: d.Object}
		it.Key, it.Pos = k, d.Origin.Pos
		refuse := func(code, message, hint string) {
			errs = append(errs, diag.Diagnostic{Code: code, Pos: d.Origin.Pos, Object: k.String(), Message: message, Hint: hint})
		}
		kind, ok := api.Lookup(k.Group, k.Kind)
		if !ok || kind.APIVersion() != d.Object.APIVersion() {
			refuse("APPLY001", fmt.Sprintf("kind %s of %s is not served by this cluster", k.Kind, d.Object.APIVersion()), "")
			continue
		}
		it.kind = kind
		holder := p.release.others[k]
		if holder != nil && !p.options.Adopt {
			refuse("APPLY002", "belongs to release "+holder.name(), "remove it from one of the two releases; --adopt takes it over from the other")
			continue
		}
		live, err := p.live.get(ctx, k)
		if err != nil {
			return err
		}
		if !live.IsZero() && live.Meta().DeletionTimestamp != "" {
			refuse("APPLY003", "is being deleted", "plan again when it is gone")
			continue
		}
		if live.IsZero() && secret.Is(k) && secret.Blank(d.Object) && p.options.Rollback > 0 {
			refuse("APPLY005", "cannot be brought back: a release does not keep the values of Secrets", "apply the sources that it was rendered from")
			continue
		}
		it.live, it.previous = live, p.release.previous[k]
		if !live.IsZero() && !p.release.holds(live) {
			if !p.options.Adopt {
				refuse("APPLY004", "exists already, and is not of this release"+madeBy(live), "--adopt takes it over; else give it another name, or delete it")
				continue
			}
			if it.Why = "exists already; the release takes it over"; holder != nil {
				it.Why, it.From, it.previous = "taken over from release "+holder.name(), holder.name(), holder.document(k)
				p.others[holder.object.Key()] = holder
			}
		}
		if err := p.decide(it); err != nil {
			return err
		}
		p.items = append(p.items, it)
	}
	return errs.Err()
}

// madeBy says by whom an object was made, as far as it tells.
func madeBy(o object.Object) string {
	owners := diff.OwnersOf(o)
	var first diff.Owner
	for _, owner := range owners {
		if first.Manager == "" || owner.Time.Before(first.Time) {
			first = owner
		}
	}
	if first.Manager == "" {
		return ""
	}
	return "; " + ownerText(first) + " made it"
}

// decide finds out whether a document needs a change, before the server is
// asked what the change comes to.
func (p *planner) decide(it *item) error {
	if p.options.Rollback > 0 && secret.Is(it.Key) && !it.live.IsZero() {
		var err error
		if it.doc, err = p.keepValues(it.doc, it.live); err != nil {
			return err
		}
	}
	sent, err := desired(it.kind, it.previous, it.doc, it.live)
	if err != nil {
		return err
	}
	it.Object = sent
	if it.live.IsZero() {
		it.Action = Create
		return nil
	}
	if it.Base, err = p.base(it.live); err != nil {
		return err
	}
	p.findDrift(it)
	if diff.Equal(it.kind, own(it.kind, it.live.Tree()), own(it.kind, sent.Tree())) {
		it.Action, it.result = Unchanged, it.live
		return nil
	}
	it.Action = Update
	return nil
}

// base keeps a live object for the plan.
func (p *planner) base(live object.Object) (*Base, error) {
	k, _ := api.Lookup(live.Group(), live.Kind())
	tree := own(k, live.Tree())
	if secret.Is(live.Key()) {
		tree = p.sealer.Tree(tree)
	}
	o, err := object.FromTree(tree)
	if err != nil {
		return nil, err
	}
	return &Base{UID: live.Meta().UID, ResourceVersion: live.Meta().ResourceVersion, Object: o}, nil
}

// operations are the plan's, and for each the item it belongs to. A
// replacement is two. The Release itself is not part of a rehearsal.
func (p *planner) operations() ([]api.Operation, []*item) {
	var ops []api.Operation
	var items []*item
	for _, it := range p.items {
		for _, op := range it.operations() {
			ops, items = append(ops, op), append(items, it)
		}
	}
	return ops, items
}

// finish makes the plan of the items.
func (p *planner) finish(ctx context.Context) (*Plan, error) {
	plan := &Plan{
		Release: p.options.Release, Namespace: p.options.Namespace, Cluster: p.cluster,
		Digest: p.bundle.Digest, Source: p.options.Source, Rollback: p.options.Rollback,
		Revision: p.revision, Created: time.Now().UTC().Truncate(time.Second),
		Held: len(p.release.spec.Inventory), Conflicts: p.conflicts, Drift: p.drift, Defaulted: p.defaulted,
	}
	if err := p.cascades(ctx); err != nil {
		return nil, err
	}
	for _, it := range p.items {
		if it.Action == Unchanged || it.Action == Delete {
			it.Object = object.Object{}
		}
		plan.Objects = append(plan.Objects, it.ObjectPlan)
	}
	plan.Rollouts, plan.Capacity = p.rollouts()
	p.readers()
	var err error
	if plan.Opened, plan.Closed, err = p.impact(ctx); err != nil {
		return nil, err
	}
	if plan.Record, err = p.release.record(p.bundle, p.options, plan); err != nil {
		return nil, err
	}
	for _, h := range p.others {
		rec, err := h.without(plan)
		if err != nil {
			return nil, err
		}
		plan.Others = append(plan.Others, *rec)
	}
	slices.SortFunc(plan.Others, func(a, b Record) int { return compareKeys(a.Object.Key(), b.Object.Key()) })
	plan.Warnings = p.warnings
	return plan, nil
}

// clusterID identifies a cluster as is usual: by the UID of its namespace
// kube-system. It is empty where one may not read that.
func clusterID(ctx context.Context, c api.Client) (string, error) {
	o, err := get(ctx, c, api.Namespace.Key("", "kube-system"))
	if apierrors.IsForbidden(err) || err == nil && o.IsZero() {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return o.Meta().UID, nil
}
