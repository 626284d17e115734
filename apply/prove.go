package apply

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/writ-dev/writ/apply/secret"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/diff"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
)

// prove finds out whether a plan that was read from a file does what it says,
// by a dry run: anybody can write a file, and what was reviewed is what it says.
func (cm *commit) prove(ctx context.Context) error {
	if !cm.plan.fromFile {
		return nil
	}
	res, err := cm.client.Transact(ctx, api.Transaction{Operations: cm.ops, DryRun: true})
	if overtaken(err) || unanswered(err) {
		return nil // the commit finds the same, and says it
	}
	if err != nil {
		return refusal(err, cm.items)
	}
	if len(res.Objects) != len(cm.items) {
		return fmt.Errorf("apply: the server answered %d operations with %d objects", len(cm.items), len(res.Objects))
	}
	for _, it := range cm.proof {
		if it.Action == Unchanged {
			it.result = it.live
		}
	}
	for i, it := range cm.items {
		if it.Action != Delete && !isDeletion(cm.items, i) {
			it.result = res.Objects[i]
		}
	}
	for _, it := range cm.proof {
		if it.Action == Update || it.Action == Replace {
			if path, ok := honest(it); !ok {
				return lie(it.Key.String(), path, "the plan does not say all that it would change")
			}
		}
	}
	p := &planner{client: cm.client, items: cm.proof}
	opened, closed, err := p.impact(ctx)
	if err != nil {
		return err
	}
	if !sameAccess(opened, cm.plan.Opened) || !sameAccess(closed, cm.plan.Closed) {
		return lie("", "", "the plan does not open and close the access that it says")
	}
	return cm.proveRecord()
}

func lie(object, path, message string) error {
	return diag.List{{Code: "PLAN", Object: object, Path: path, Message: message + "; nothing was applied", Hint: "plan again"}}
}

// honest compares the changes that an item's plan tells with those it makes,
// and returns a path where they differ. Values of Secrets are not in a plan.
func honest(it *item) (path string, ok bool) {
	made := diff.Compare(it.kind, own(it.kind, it.live.Tree()), own(it.kind, it.result.Tree()))
	for i := range max(len(made), len(it.Changes)) {
		switch {
		case i >= len(made):
			return it.Changes[i].Path, false
		case i >= len(it.Changes) || made[i].Path != it.Changes[i].Path:
			return made[i].Path, false
		case secret.Is(it.Key) && secret.Holds(made[i].Path):
		case !sameJSON(made[i].Old, it.Changes[i].Old) || !sameJSON(made[i].New, it.Changes[i].New):
			return made[i].Path, false
		}
	}
	return "", true
}

func sameJSON(a, b any) bool {
	x, err1 := object.Marshal(a)
	y, err2 := object.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

func sameAccess(a, b []Access) bool {
	return slices.EqualFunc(a, b, func(x, y Access) bool {
		return x.Namespace == y.Namespace && x.Consumer == y.Consumer && x.Target == y.Target
	})
}

// proveRecord holds the Release to be written against the plan: an inventory
// that names more would have the next application delete it.
func (cm *commit) proveRecord() error {
	if cm.plan.Record == nil {
		return nil
	}
	r, err := api.Decode[api.Release](cm.plan.Record.Object)
	if err != nil {
		return err
	}
	want := map[object.Key]bool{}
	for _, k := range cm.plan.Keys() {
		want[k] = true
	}
	for _, i := range r.Spec.Inventory {
		if !want[itemKey(i)] {
			return lie(itemKey(i).String(), "", "the plan's record names an object that the plan does not have")
		}
		delete(want, itemKey(i))
	}
	if len(want) > 0 {
		return lie("", "", "the plan's record leaves objects of the plan out")
	}
	docs, err := unpack(r.Spec.Documents)
	if err != nil {
		return lie("", "", err.Error())
	}
	if r.Spec.Digest != cm.plan.Digest || r.Spec.Revision != cm.release.spec.Revision+1 {
		return lie("", "", "the plan's record is of other documents or of another revision")
	}
	for _, d := range docs {
		want[d.Key()] = true
	}
	for _, o := range cm.plan.Objects {
		if o.Action == Create && !want[o.Key] {
			return lie(o.Key.String(), "", "the plan creates what is not among its documents")
		}
	}
	return nil
}
