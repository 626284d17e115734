package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/diff"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// Result is a committed plan. Objects are those that the plan created or
// changed, as committed.
type Result struct {
	Revision uint64
	Objects  []object.Object
}

// StaleError means that the cluster is no longer what the plan was computed
// against. Nothing was written.
type StaleError struct {
	Moved []Moved
}

// Moved is one object that is not as it was.
type Moved struct {
	Key object.Key
	// What says what happened: "was deleted", "was changed".
	What    string
	Changes []diff.Change
}

// Error names what moved.
func (e *StaleError) Error() string { return e.diagnostics().Error() }

// Unwrap gives the error as diagnostics, one for each object.
func (e *StaleError) Unwrap() error { return e.diagnostics() }

func (e *StaleError) diagnostics() diag.List {
	var list diag.List
	for _, m := range e.Moved {
		d := diag.Diagnostic{
			Code: "STALE", Object: m.Key.String(),
			Message: m.What + " since the plan was made; nothing was applied", Hint: "plan again",
		}
		for _, c := range m.Changes {
			d.Notes = append(d.Notes, diag.Note{Text: fmt.Sprintf("%s: %s", c.Path, changeText(c))})
		}
		list = append(list, d)
	}
	return list
}

// Apply commits p as one transaction. A StaleError means that the cluster has
// moved since and nothing was written. A plan that was read from a file needs
// its bundle again when it holds Secrets; otherwise b may be nil.
func Apply(ctx context.Context, c api.Client, p *Plan, b *render.Bundle) (*Result, error) {
	if b != nil && b.Digest != p.Digest {
		return nil, diag.List{{Code: "STALE", Message: fmt.Sprintf("the plan is for bundle %s, but the bundle is %s", p.Digest, b.Digest), Hint: "plan again"}}
	}
	var cm *commit
	var last error
	for range attempts {
		cm = &commit{client: c, plan: p, bundle: b}
		if err := cm.prepare(ctx); err != nil {
			return nil, err
		}
		if len(cm.ops) == 0 {
			return &Result{Revision: p.Revision}, nil
		}
		res, err := c.Transact(ctx, api.Transaction{Operations: cm.ops})
		if err == nil {
			return cm.done(ctx, res)
		}
		if !overtaken(err) {
			return nil, refusal(err, cm.items)
		}
		// Somebody was faster: look again at what they did.
		last = err
	}
	return nil, refusal(last, cm.items)
}

// overtaken reports whether a precondition failed at commit.
func overtaken(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// commit is one attempt to commit a plan.
type commit struct {
	client api.Client
	plan   *Plan
	bundle *render.Bundle
	ops    []api.Operation
	// items has, for every operation, what it belongs to.
	items []*item
	moved []Moved
}

// prepare compares the cluster with the plan and makes the operations.
func (cm *commit) prepare(ctx context.Context) error {
	for _, o := range cm.plan.Objects {
		if err := cm.object(ctx, o); err != nil {
			return err
		}
	}
	if err := cm.record(ctx); err != nil {
		return err
	}
	if len(cm.moved) > 0 {
		return &StaleError{Moved: cm.moved}
	}
	return nil
}

// object checks one object and adds its operations, with the live object's
// present version as precondition: a moved version is fine as long as nothing
// but the status moved.
func (cm *commit) object(ctx context.Context, o ObjectPlan) error {
	kind, ok := api.Lookup(o.Key.Group, o.Key.Kind)
	if !ok {
		return fmt.Errorf("read plan: the kind of %s is not served", o.Key)
	}
	if err := o.check(); err != nil {
		return err
	}
	live, err := get(ctx, cm.client, o.Key)
	if err != nil {
		return err
	}
	switch {
	case o.Base == nil && live.IsZero():
	case o.Base == nil:
		cm.moved = append(cm.moved, Moved{Key: o.Key, What: "was created"})
		return nil
	case live.IsZero():
		cm.moved = append(cm.moved, Moved{Key: o.Key, What: "was deleted"})
		return nil
	case live.Meta().UID != o.Base.UID:
		cm.moved = append(cm.moved, Moved{Key: o.Key, What: "was deleted and created anew"})
		return nil
	default:
		if drifted, err := cm.drift(kind, &o, live); drifted || err != nil {
			return err
		}
	}
	if o.Sealed {
		if o.Object, err = cm.unseal(ctx, kind, o, live); err != nil {
			return err
		}
	}
	it := &item{ObjectPlan: o, kind: kind, live: live}
	if cm.bundle != nil {
		if d, ok := cm.bundle.Find(o.Key); ok {
			it.origin = d.Origin
		}
	}
	for _, op := range o.operations() {
		cm.ops, cm.items = append(cm.ops, op), append(cm.items, it)
	}
	return nil
}

// drift records what differs between the live object and the one planned
// against. Marks that controllers put on their objects are carried over.
func (cm *commit) drift(kind api.Kind, o *ObjectPlan, live object.Object) (bool, error) {
	if live.Meta().ResourceVersion == o.Base.ResourceVersion {
		return false, nil
	}
	if isSecret(o.Key) {
		cm.moved = append(cm.moved, Moved{Key: o.Key, What: "was changed"})
		return true, nil
	}
	if live.Meta().DeletionTimestamp != "" {
		cm.moved = append(cm.moved, Moved{Key: o.Key, What: "was marked for deletion"})
		return true, nil
	}
	base, _ := splitMarks(own(kind, o.Base.Object.Tree()))
	now, marks := splitMarks(own(kind, live.Tree()))
	if changes := diff.Compare(kind, base, now); len(changes) > 0 {
		cm.moved = append(cm.moved, Moved{Key: o.Key, What: "was changed", Changes: changes})
		return true, nil
	}
	o.Base = &Base{UID: o.Base.UID, ResourceVersion: live.Meta().ResourceVersion, Object: o.Base.Object}
	if o.Action != Update {
		return false, nil
	}
	tree, _ := splitMarks(o.Object.Tree())
	var err error
	o.Object, err = withAnnotations(tree, marks)
	return false, err
}

// splitMarks takes the annotations out of a tree by which controllers keep
// their books on the objects they work for.
func splitMarks(tree map[string]any) (rest, marks map[string]any) {
	meta, _ := tree["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	marks = map[string]any{}
	kept := map[string]any{}
	for name, v := range annotations {
		if strings.HasPrefix(name, "deployment.kubernetes.io/") {
			marks[name] = v
		} else {
			kept[name] = v
		}
	}
	if len(marks) == 0 {
		return tree, marks
	}
	return with(tree, "metadata", with(meta, "annotations", kept)), marks
}

func withAnnotations(tree, values map[string]any) (object.Object, error) {
	if len(values) > 0 {
		meta, _ := tree["metadata"].(map[string]any)
		annotations, _ := meta["annotations"].(map[string]any)
		for name, v := range values {
			annotations = with(annotations, name, v)
		}
		tree = with(tree, "metadata", with(meta, "annotations", annotations))
	}
	return object.FromTree(tree)
}

// unseal makes a Secret to send from the bundle again.
func (cm *commit) unseal(ctx context.Context, kind api.Kind, o ObjectPlan, live object.Object) (object.Object, error) {
	k := o.Key
	if cm.bundle == nil {
		return object.Object{}, diag.List{{
			Code: "SEALED", Object: k.String(),
			Message: "the plan does not hold the values of Secrets, so it cannot be applied by itself",
			Hint:    "give the directory it was made from as well",
		}}
	}
	d, ok := cm.bundle.Find(k)
	if !ok {
		return object.Object{}, errors.New("apply: the bundle lacks " + k.String())
	}
	r, err := readRelease(ctx, cm.client, Options{Release: cm.plan.Release, Namespace: cm.plan.Namespace})
	if err != nil {
		return object.Object{}, err
	}
	if o.Action == Replace {
		live = object.Object{}
	}
	return desired(kind, r.previous[k], d.Object, live)
}

// record checks the Release object and adds its operation.
func (cm *commit) record(ctx context.Context) error {
	rec := cm.plan.Record
	if rec == nil {
		return nil
	}
	k := api.ReleaseKind.Key(cm.plan.Namespace, cm.plan.Release)
	if rec.Object.IsZero() || rec.Object.Key() != k {
		return fmt.Errorf("read plan: the record is not of %s", k)
	}
	live, err := get(ctx, cm.client, k)
	if err != nil {
		return err
	}
	op := api.Operation{Action: api.ActionCreate}
	if rec.UID != "" {
		op = api.Operation{Action: api.ActionUpdate, UID: rec.UID, ResourceVersion: rec.ResourceVersion}
	}
	uid, version := "", ""
	if !live.IsZero() {
		uid, version = live.Meta().UID, live.Meta().ResourceVersion
	}
	if uid != rec.UID || version != rec.ResourceVersion {
		cm.moved = append(cm.moved, Moved{Key: k, What: "was applied again"})
		return nil
	}
	if op.Object, err = rec.stamped(metav1.NewTime(time.Now().UTC().Truncate(time.Second))); err != nil {
		return err
	}
	it := &item{kind: api.ReleaseKind}
	it.Key, it.Object = k, op.Object
	cm.ops, cm.items = append(cm.ops, op), append(cm.items, it)
	return nil
}

// done takes the result of a committed transaction.
func (cm *commit) done(ctx context.Context, res *api.TransactionResult) (*Result, error) {
	if len(res.Objects) != len(cm.items) {
		return nil, fmt.Errorf("apply: committed at revision %d, but the server answered %d operations with %d objects", res.Revision, len(cm.items), len(res.Objects))
	}
	out := &Result{Revision: res.Revision}
	var written object.Object
	for i, o := range res.Objects {
		switch {
		case cm.items[i].Key.Kind == api.ReleaseKind.Kind && cm.items[i].Key.Group == api.Group:
			written = o
		case cm.items[i].Action != Delete && !isDeletion(cm.items, i):
			out.Objects = append(out.Objects, o)
		}
	}
	if !written.IsZero() {
		// The transaction is committed whatever happens here, and the next
		// application completes the inventory when this cannot.
		_, _ = fillUIDs(ctx, cm.client, written, out.Objects)
	}
	return out, nil
}
