package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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
	merged := diff.Merge(k, prev, next, own(k, live.Tree()))
	if k.GVK() == api.Service.GVK() {
		dropNodePorts(merged, next)
	}
	return object.FromTree(merged)
}

// dropNodePorts removes the node ports that the server gave a Service which
// is no longer of a type to have any. They would be the only part of the old
// type left, and be refused. Node ports that the document writes are its own
// mistake, for the server to refuse.
func dropNodePorts(service, doc map[string]any) {
	spec, _ := service["spec"].(map[string]any)
	if written, _ := doc["spec"].(map[string]any); written != nil {
		ports, _ := written["ports"].([]any)
		for _, p := range ports {
			if m, ok := p.(map[string]any); ok && m["nodePort"] != nil {
				return
			}
		}
	}
	if spec == nil || spec["type"] == "NodePort" || spec["type"] == "LoadBalancer" {
		return
	}
	ports, _ := spec["ports"].([]any)
	bare := make([]any, len(ports))
	for i, p := range ports {
		bare[i] = p
		if m, ok := p.(map[string]any); ok && m["nodePort"] != nil {
			m = with(m, "nodePort", nil)
			delete(m, "nodePort")
			bare[i] = m
		}
	}
	if ports != nil {
		service["spec"] = with(spec, "ports", bare)
	}
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
