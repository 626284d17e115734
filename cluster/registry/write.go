package registry

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// maxOperations bounds a transaction.
const maxOperations = 5000

// WriteOptions refine a write.
type WriteOptions struct {
	DryRun bool
	// Validation is Strict (the zero value too), Warn or Ignore: what happens
	// to fields that the kind does not have.
	Validation string
}

func (o WriteOptions) validation() string {
	if o.Validation == "" {
		return Strict
	}
	return o.Validation
}

// Outcome is what a write came to.
type Outcome struct {
	// Object as committed; its last state when Removed.
	Object  object.Object
	Removed bool
	// Created says that it is new.
	Created bool
	// Warnings are for the person who wrote.
	Warnings []string
}

func (c *Client) one(ctx context.Context, f op, dryRun bool) (Outcome, error) {
	outs, _, errs := c.commit(ctx, []op{f}, dryRun)
	if errs != nil {
		return Outcome{}, errs[0]
	}
	return Outcome{Object: outs[0].object, Removed: outs[0].removed, Created: outs[0].created, Warnings: outs[0].warnings}, nil
}

// Create stores a new object.
func (c *Client) Create(ctx context.Context, o object.Object) (object.Object, error) {
	out, err := c.CreateWith(ctx, o, WriteOptions{})
	return out.Object, err
}

// CreateWith stores a new object.
func (c *Client) CreateWith(ctx context.Context, o object.Object, w WriteOptions) (Outcome, error) {
	return c.one(ctx, func(t *tx) (outcome, error) { return t.create(o, w.validation()) }, w.DryRun)
}

// Update replaces all but the status of an object.
func (c *Client) Update(ctx context.Context, o object.Object) (object.Object, error) {
	out, err := c.UpdateWith(ctx, o, WriteOptions{})
	return out.Object, err
}

// UpdateWith replaces all but the status of an object.
func (c *Client) UpdateWith(ctx context.Context, o object.Object, w WriteOptions) (Outcome, error) {
	return c.one(ctx, func(t *tx) (outcome, error) { return t.update(o, preconditions{}, w.validation()) }, w.DryRun)
}

// UpdateStatus replaces the status of an object.
func (c *Client) UpdateStatus(ctx context.Context, o object.Object) (object.Object, error) {
	out, err := c.UpdateStatusWith(ctx, o, WriteOptions{})
	return out.Object, err
}

// UpdateStatusWith replaces the status of an object.
func (c *Client) UpdateStatusWith(ctx context.Context, o object.Object, w WriteOptions) (Outcome, error) {
	return c.one(ctx, func(t *tx) (outcome, error) { return t.updateStatus(o, preconditions{}, w.validation()) }, w.DryRun)
}

// Delete removes an object, or starts its removal.
func (c *Client) Delete(ctx context.Context, k object.Key, uid string) error {
	_, err := c.DeleteWith(ctx, k, DeleteOptions{UID: uid})
	return err
}

// DeleteWith removes an object, or starts its removal.
func (c *Client) DeleteWith(ctx context.Context, k object.Key, o DeleteOptions) (Outcome, error) {
	return c.one(ctx, func(t *tx) (outcome, error) { return t.delete(k, o) }, o.DryRun)
}

// DeleteCollection deletes all that o selects, each by itself, and returns
// what it deleted. What somebody else removes meanwhile is passed over.
func (c *Client) DeleteCollection(ctx context.Context, k api.Kind, o api.ListOptions, d DeleteOptions) (*api.List, error) {
	l, err := c.List(ctx, k, o)
	if err != nil {
		return nil, err
	}
	done := &api.List{Revision: l.Revision}
	for _, item := range l.Items {
		one := d
		one.UID = item.Meta().UID
		out, err := c.DeleteWith(ctx, item.Key(), one)
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		done.Items = append(done.Items, out.Object)
	}
	return done, nil
}

// Transact commits all operations at one revision, or none.
func (c *Client) Transact(ctx context.Context, t api.Transaction) (*api.TransactionResult, error) {
	out, _, err := c.TransactWith(ctx, t)
	return out, err
}

// TransactWith is Transact with the warnings for the person who wrote.
func (c *Client) TransactWith(ctx context.Context, t api.Transaction) (*api.TransactionResult, []string, error) {
	if len(t.Operations) > maxOperations {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("a transaction holds at most %d operations, not %d", maxOperations, len(t.Operations)))
	}
	ops := make([]op, len(t.Operations))
	for i, o := range t.Operations {
		ops[i] = operation(o)
	}
	outs, revision, errs := c.commit(ctx, ops, t.DryRun)
	if len(errs) == 1 && len(ops) != 1 {
		return nil, nil, errs[0] // It is about the whole.
	}
	if errs != nil {
		return nil, nil, transactionError(t.Operations, errs)
	}
	res := &api.TransactionResult{Revision: revision, Objects: make([]object.Object, len(outs))}
	var warnings []string
	for i, o := range outs {
		res.Objects[i] = o.object
		warnings = append(warnings, o.warnings...)
	}
	return res, warnings, nil
}

func operation(o api.Operation) op {
	p := preconditions{uid: o.UID, resourceVersion: o.ResourceVersion}
	return func(t *tx) (outcome, error) {
		if o.Object.IsZero() {
			return outcome{}, apierrors.NewBadRequest("the operation's object is missing")
		}
		switch o.Action {
		case api.ActionCreate:
			return t.create(o.Object, Strict)
		case api.ActionUpdate:
			return t.update(o.Object, p, Strict)
		case api.ActionUpdateStatus:
			return t.updateStatus(o.Object, p, Strict)
		case api.ActionDelete:
			return t.delete(o.Object.Key(), DeleteOptions{UID: o.UID, ResourceVersion: o.ResourceVersion, Propagation: o.Propagation})
		}
		return outcome{}, apierrors.NewBadRequest(fmt.Sprintf("action %q is not create, update, updateStatus or delete", o.Action))
	}
}

// Bind assigns a pod to a node. uid may be empty.
func (c *Client) Bind(ctx context.Context, namespace, name, uid, node string, w WriteOptions) (Outcome, error) {
	key := api.Pod.Key(namespace, name)
	return c.one(ctx, func(t *tx) (outcome, error) {
		live, ok := t.get(key)
		if !ok {
			return outcome{}, notFound(api.Pod, name)
		}
		if err := t.check(api.Pod, live, preconditions{uid: uid}); err != nil {
			return outcome{}, err
		}
		tree := live.Tree()
		delete(metadata(tree), "resourceVersion")
		spec := child(tree, "spec")
		if was, _ := spec["nodeName"].(string); was != "" {
			return outcome{}, conflict(api.Pod, name, fmt.Sprintf("pod %s is already assigned to node %q", name, was))
		}
		spec["nodeName"] = node
		next, err := object.FromTree(tree)
		if err != nil {
			return outcome{}, apierrors.NewInternalError(err)
		}
		if next, err = t.allocate(api.Pod, next, live); err != nil {
			return outcome{}, err
		}
		t.stage(key, next)
		return outcome{key: key, object: next}, nil
	}, w.DryRun)
}

// Bootstrap creates the namespaces that always exist and the default roles. It
// may be called again.
func (c *Client) Bootstrap(ctx context.Context) error {
	for _, name := range protected {
		o, err := object.FromTree(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}})
		if err != nil {
			return err
		}
		if _, err := c.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	return c.bootstrapRoles(ctx)
}

// ExpireEvents removes a bounded number of Events that are too old. The
// server calls it now and then; creating an Event does the same in passing.
func (c *Client) ExpireEvents(ctx context.Context) error {
	_, err := c.one(ctx, func(t *tx) (outcome, error) {
		t.trimEvents("", 1<<30)
		return outcome{}, nil
	}, false)
	return err
}
