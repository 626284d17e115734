package apply

import (
	"context"
	"fmt"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// keepRevisions is how many applications of a release are remembered.
const keepRevisions = 10

// records adds the operations on the Release, on those that objects are taken
// over from, and on the ReleaseRevisions.
func (cm *commit) records(ctx context.Context) error {
	rec := cm.plan.Record
	if rec == nil {
		return nil
	}
	k := api.ReleaseKind.Key(cm.plan.Namespace, cm.plan.Release)
	if rec.Object.IsZero() || rec.Object.Key() != k || rec.Object.APIVersion() != api.ReleaseKind.APIVersion() {
		return fmt.Errorf("read plan: the record is not of %s", k)
	}
	if !cm.same(rec, cm.release.object) {
		m := Moved{Key: k, What: "was applied again"}
		if !cm.release.object.IsZero() {
			m.By = fmt.Sprintf("%s (revision %d, at %s)", orSomebody(cm.release.spec.AppliedBy), cm.release.spec.Revision, cm.release.spec.AppliedAt.UTC().Format("2006-01-02 15:04:05"))
		}
		cm.moved = append(cm.moved, m)
		return nil
	}
	release, revision, err := rec.stamped(timestamp(), cm.transaction)
	if err != nil {
		return err
	}
	cm.add(api.ReleaseKind, rec.operation(release))
	cm.add(api.RevisionKind, api.Operation{Action: api.ActionCreate, Object: revision})
	for _, other := range cm.plan.Others {
		if other.Object.IsZero() || other.Object.Group() != api.Group || other.Object.Kind() != api.ReleaseKind.Kind || other.UID == "" {
			return fmt.Errorf("read plan: what objects are taken over from is no release")
		}
		live, err := get(ctx, cm.client, other.Object.Key())
		if err != nil {
			return err
		}
		if !cm.same(&other, live) {
			cm.moved = append(cm.moved, Moved{Key: other.Object.Key(), What: "was applied again or deleted"})
			continue
		}
		cm.add(api.ReleaseKind, other.operation(other.Object))
	}
	return cm.forget(ctx)
}

func orSomebody(name string) string {
	if name == "" {
		return "somebody"
	}
	return name
}

func (cm *commit) same(rec *Record, live object.Object) bool {
	if live.IsZero() {
		return rec.UID == ""
	}
	return rec.UID == live.Meta().UID && rec.ResourceVersion == live.Meta().ResourceVersion
}

func (r *Record) operation(o object.Object) api.Operation {
	if r.UID == "" {
		return api.Operation{Action: api.ActionCreate, Object: o}
	}
	return api.Operation{Action: api.ActionUpdate, Object: o, UID: r.UID, ResourceVersion: r.ResourceVersion}
}

func (cm *commit) add(kind api.Kind, op api.Operation) {
	it := &item{kind: kind}
	it.Key, it.Object = op.Object.Key(), op.Object
	if op.Action == api.ActionDelete {
		it.Action = Delete
	}
	cm.ops, cm.items = append(cm.ops, op), append(cm.items, it)
}

// forget removes the ReleaseRevisions beyond those that are kept.
func (cm *commit) forget(ctx context.Context) error {
	keep := cm.options.KeepRevisions
	if keep <= 0 {
		keep = keepRevisions
	}
	revisions, err := History(ctx, cm.client, cm.plan.Namespace, cm.plan.Release)
	if err != nil {
		return err
	}
	for i := range revisions {
		r := &revisions[i]
		if i < keep-1 && r.Spec.Revision <= cm.release.spec.Revision {
			continue
		}
		cm.add(api.RevisionKind, api.Operation{Action: api.ActionDelete, Object: identity(r.object), UID: string(r.UID)})
	}
	return nil
}
