package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/apply/diff"
	"github.com/writ-dev/writ/cluster/api"
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
	// By names who applies, for the record.
	By string
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
	p := &planner{client: c, bundle: b, options: o, release: r, sealer: newSealer()}
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
	bundle   *render.Bundle
	options  Options
	release  *release
	sealer   sealer
	items    []*item
	warnings []string
	revision uint64
}

// item is one object on its way into a plan.
type item struct {
	ObjectPlan
	kind   api.Kind
	origin render.Origin
	doc    object.Object
	live   object.Object
	// result is what the object becomes; zero when deleted.
	result object.Object
}

// documents plans every document of the bundle.
func (p *planner) documents(ctx context.Context) error {
	var errs diag.List
	for _, d := range p.bundle.Documents {
		k := d.Object.Key()
		it := &item{origin: d.Origin, doc: d.Object}
		it.Key, it.Pos = k, d.Origin.Pos
		kind, ok := api.Lookup(k.Group, k.Kind)
		if !ok || kind.APIVersion() != d.Object.APIVersion() {
			errs = append(errs, diag.Diagnostic{
				Code: "APPLY001", Pos: d.Origin.Pos, Object: k.String(),
				Message: fmt.Sprintf("kind %s of %s is not served by this cluster", k.Kind, d.Object.APIVersion()),
			})
			continue
		}
		it.kind = kind
		if other, ok := p.release.others[k]; ok {
			errs = append(errs, diag.Diagnostic{
				Code: "APPLY002", Pos: d.Origin.Pos, Object: k.String(),
				Message: "belongs to release " + other,
				Hint:    "remove it from one of the two releases",
			})
			continue
		}
		live, err := get(ctx, p.client, k)
		if err != nil {
			return err
		}
		if !live.IsZero() && live.Meta().DeletionTimestamp != "" {
			errs = append(errs, diag.Diagnostic{
				Code: "APPLY003", Pos: d.Origin.Pos, Object: k.String(),
				Message: "is being deleted", Hint: "plan again when it is gone",
			})
			continue
		}
		it.live = live
		if err := p.decide(it); err != nil {
			return err
		}
		p.items = append(p.items, it)
	}
	return errs.Err()
}

// decide finds out whether a document needs a change, before the server is
// asked what the change comes to.
func (p *planner) decide(it *item) error {
	sent, err := desired(it.kind, p.release.previous[it.Key], it.doc, it.live)
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
	if diff.Equal(it.kind, own(it.kind, it.live.Tree()), own(it.kind, sent.Tree())) {
		it.Action, it.result = Unchanged, it.live
		return nil
	}
	it.Action = Update
	if p.release.uid(it.Key) == "" && !slices.ContainsFunc(p.release.spec.Inventory, func(i api.InventoryItem) bool { return itemKey(i) == it.Key }) {
		it.Why = "exists already; the release takes it over"
	}
	return nil
}

// desired is the object to send: the document, merged into the live object
// when there is one.
func desired(k api.Kind, prev map[string]any, doc, live object.Object) (object.Object, error) {
	next := own(k, doc.Tree())
	if isSecret(doc.Key()) {
		next = foldStringData(next)
	}
	if live.IsZero() {
		return object.FromTree(next)
	}
	if prev != nil {
		prev = own(k, prev)
	}
	return object.FromTree(diff.Merge(k, prev, next, own(k, live.Tree())))
}

// serverOwned are the metadata fields that the server writes.
var serverOwned = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "managedFields", "selfLink",
}

// own returns a copy of a tree without what the server alone writes.
func own(k api.Kind, tree map[string]any) map[string]any {
	out := with(tree, "kind", k.Kind)
	if k.Status {
		delete(out, "status")
	}
	if meta, ok := out["metadata"].(map[string]any); ok {
		meta = with(meta, "name", meta["name"])
		for _, name := range serverOwned {
			delete(meta, name)
		}
		out["metadata"] = meta
	}
	return out
}

// base keeps a live object for the plan.
func (p *planner) base(live object.Object) (*Base, error) {
	k, _ := api.Lookup(live.Group(), live.Kind())
	tree := own(k, live.Tree())
	if isSecret(live.Key()) {
		tree = p.sealer.tree(tree)
	}
	o, err := object.FromTree(tree)
	if err != nil {
		return nil, err
	}
	return &Base{UID: live.Meta().UID, ResourceVersion: live.Meta().ResourceVersion, Object: o}, nil
}

// prune plans the deletion of what the release made and the bundle no longer
// holds.
func (p *planner) prune(ctx context.Context) error {
	var gone []*item
	for _, i := range p.release.spec.Inventory {
		k := itemKey(i)
		kind, ok := api.Lookup(k.Group, k.Kind)
		if _, held := p.bundle.Find(k); held || !ok || p.release.others[k] != "" {
			continue
		}
		live, err := get(ctx, p.client, k)
		if err != nil {
			return err
		}
		switch {
		case live.IsZero() || live.Meta().DeletionTimestamp != "":
			continue
		case i.UID != "" && i.UID != live.Meta().UID:
			p.warnings = append(p.warnings, fmt.Sprintf("%s is left alone: it is not the one this release made (UID %s, not %s)", k, live.Meta().UID, i.UID))
			continue
		}
		it := &item{kind: kind, live: live}
		it.Key, it.Action, it.Why = k, Delete, "no longer in the bundle"
		if it.Base, err = p.base(live); err != nil {
			return err
		}
		gone = append(gone, it)
	}
	slices.Reverse(gone)
	p.items = append(p.items, gone...)
	return nil
}

// rehearse lets the server do the plan as a dry run, and learns from the
// result what really changes. Fields that cannot be changed in place turn an
// update into a replacement, once.
func (p *planner) rehearse(ctx context.Context) error {
	p.revision = p.release.revision
	for attempt := range 2 {
		ops, items := p.operations()
		if len(ops) == 0 {
			return nil
		}
		res, err := p.client.Transact(ctx, api.Transaction{Operations: ops, DryRun: true})
		if err != nil {
			if attempt == 0 {
				if again, err := p.replaceImmutable(err, items); err != nil {
					return err
				} else if again {
					continue
				}
			}
			if apierrors.IsConflict(err) {
				return errMoved
			}
			return refusal(err, items)
		}
		p.revision = res.Revision
		return p.learn(res.Objects, items)
	}
	return nil
}

// learn takes over the results of a dry run.
func (p *planner) learn(results []object.Object, items []*item) error {
	if len(results) != len(items) {
		return fmt.Errorf("plan: the server answered %d operations with %d objects", len(items), len(results))
	}
	for i, it := range items {
		if it == nil || it.Action == Delete || isDeletion(items, i) {
			continue
		}
		it.result = results[i]
		if it.Action == Create {
			continue
		}
		before, after := own(it.kind, it.live.Tree()), own(it.kind, it.result.Tree())
		changes := diff.Compare(it.kind, before, after)
		if len(changes) == 0 {
			it.Action, it.Why = Unchanged, ""
			continue
		}
		it.Changes = p.changes(it, changes)
		if it.Why == "" && it.Action == Update {
			it.Why = restarts(it)
		}
	}
	return nil
}

// restarts tells when a change replaces a workload's pods.
func restarts(it *item) string {
	if it.kind.GVK() != api.Deployment.GVK() {
		return ""
	}
	for _, c := range it.Changes {
		if strings.HasPrefix(c.Path, ".spec.template") {
			return "its pods are replaced"
		}
	}
	return ""
}

// isDeletion reports whether operation i is the first half of a replacement.
func isDeletion(items []*item, i int) bool {
	return items[i].Action == Replace && i+1 < len(items) && items[i+1] == items[i]
}

// changes adds source positions, and takes the values of Secrets out.
func (p *planner) changes(it *item, changes []diff.Change) []FieldChange {
	out := make([]FieldChange, len(changes))
	for i, c := range changes {
		if isSecret(it.Key) {
			c.Old, c.New = p.hidden(c.Path, c.Old), p.hidden(c.Path, c.New)
		}
		out[i] = FieldChange{Change: c, Pos: it.origin.Field(c.Path)}
	}
	return out
}

// holdsSecret reports whether the value at a path of a Secret may be, or
// contain, a secret value.
func holdsSecret(path string) bool {
	return strings.HasPrefix(path, ".data") || strings.HasPrefix(path, ".stringData") ||
		strings.Contains(path, lastApplied) || path == ".metadata.annotations" || path == ".metadata"
}

// hidden seals a changed value of a Secret, unless it is plain metadata.
func (p *planner) hidden(path string, v any) any {
	if v == nil || !holdsSecret(path) {
		return v
	}
	if m, ok := v.(map[string]any); ok {
		out := make(map[string]any, len(m))
		for k, inner := range m {
			out[k] = p.hidden(path, inner)
		}
		return out
	}
	return p.sealer.seal(fmt.Sprint(v))
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
		Release: p.options.Release, Namespace: p.options.Namespace,
		Digest: p.bundle.Digest, Revision: p.revision, Created: time.Now().UTC().Truncate(time.Second),
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
	var err error
	if plan.Opened, plan.Closed, err = p.impact(ctx); err != nil {
		return nil, err
	}
	if plan.Record, err = p.release.record(p.bundle, p.options, plan.Objects); err != nil {
		return nil, err
	}
	plan.Warnings = p.warnings
	return plan, nil
}

// replaceImmutable turns the updates that err refuses, for fields that cannot
// be changed in place, into replacements. It reports whether all of err is
// answered by that.
func (p *planner) replaceImmutable(err error, items []*item) (bool, error) {
	causes := causesOf(err)
	if len(causes) == 0 || !apierrors.IsInvalid(err) {
		return false, nil
	}
	why := map[*item]string{}
	for _, c := range causes {
		i := c.operation
		if i < 0 || i >= len(items) || items[i].Action != Update || c.code != api.CodeImmutable || !replaceable(items[i].kind) || c.path == "" {
			return false, nil
		}
		if why[items[i]] == "" {
			why[items[i]] = c.path + " cannot be changed in place"
		}
	}
	for it, text := range why {
		it.Action, it.Why = Replace, text
		// What is made anew is the document, without what the old one had grown.
		if it.Object, err = desired(it.kind, nil, it.doc, object.Object{}); err != nil {
			return false, err
		}
	}
	return true, nil
}

// replaceable says whether an object can be deleted and made anew for a field's
// sake: not where that would take other things with it.
func replaceable(k api.Kind) bool {
	switch k.Kind {
	case api.Namespace.Kind, api.Node.Kind:
		return false
	}
	return !k.System
}
