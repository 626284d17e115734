package apply

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/apply/secret"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/diff"
	"github.com/writ-dev/writ/cluster/object"
)

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
		if it.Action == Delete || isDeletion(items, i) {
			continue
		}
		it.result = results[i]
		if it.Action == Create {
			continue
		}
		before, after := own(it.kind, it.live.Tree()), own(it.kind, it.result.Tree())
		changes := diff.Compare(it.kind, before, after)
		if len(changes) == 0 && it.Action == Update {
			it.Action, it.Object = Unchanged, object.Object{}
			if it.From == "" {
				it.Why = ""
			}
			continue
		}
		it.Changes = p.changes(it, changes)
		p.claim(it)
		if it.Why == "" && it.Action == Update {
			it.Why = restarts(it)
		}
	}
	return nil
}

// inPlace ends the reason of a replacement, after the field's path.
const inPlace = " cannot be changed in place"

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
		if secret.Is(it.Key) {
			c.Old, c.New = p.sealer.Value(c.Path, c.Old), p.sealer.Value(c.Path, c.New)
		}
		out[i] = FieldChange{Change: c, Pos: it.origin.Field(c.Path)}
	}
	return out
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
			why[items[i]] = c.path + inPlace
		}
	}
	for it, text := range why {
		it.Action, it.Why, it.Lost = Replace, text, lost(it)
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
