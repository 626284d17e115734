package apply

import (
	"cmp"
	"fmt"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/diff"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
)

// StaleError means that the cluster is no longer what the plan was computed
// against. Nothing was written.
type StaleError struct {
	Moved []Moved
}

// Moved is one object that is not as it was.
type Moved struct {
	Key object.Key
	// What says what happened: "was deleted", "was changed"; By who did it, as
	// far as it is known.
	What, By string
	Deltas   []Delta
}

// Delta is one field that moved, in three states: as it was when the plan was
// made, as it is, and as the plan wants it. nil is absent.
type Delta struct {
	Path               string
	Base, Live, Wanted any
	// By is who set it, empty when that is not known.
	By string
}

// Error names what moved.
func (e *StaleError) Error() string { return e.diagnostics().Error() }

// Unwrap gives the error as diagnostics, one for each object.
func (e *StaleError) Unwrap() error { return e.diagnostics() }

func (e *StaleError) diagnostics() diag.List {
	var list diag.List
	for _, m := range e.Moved {
		by := ""
		if m.By != "" {
			by = " by " + m.By
		}
		d := diag.Diagnostic{
			Code: "STALE", Object: m.Key.String(),
			Message: m.What + by + " since the plan was made; nothing was applied", Hint: "plan again",
		}
		for _, c := range m.Deltas {
			d.Notes = append(d.Notes, diag.Note{Text: c.text()})
		}
		list = append(list, d)
	}
	return list
}

func (d Delta) text() string {
	by := ""
	if d.By != "" {
		by = ", set by " + d.By
	}
	return fmt.Sprintf("%s: was %s, is now %s%s; the plan wants %s", d.Path, stateText(d.Base), stateText(d.Live), by, stateText(d.Wanted))
}

func stateText(v any) string {
	if v == nil {
		return "absent"
	}
	return valueText(v)
}

// deltas are the changes between a plan's base and the live object, with what
// the plan wants.
func deltas(kind api.Kind, o *ObjectPlan, changes []diff.Change, by func(path string) string) []Delta {
	wanted := o.Base.Object
	if !o.Object.IsZero() {
		wanted = o.Object
	}
	tree := wanted.Tree()
	var out []Delta
	for _, c := range changes {
		d := Delta{Path: c.Path, Base: c.Old, Live: c.New, By: by(c.Path)}
		if o.Action != Delete {
			d.Wanted, _ = diff.Get(kind, tree, c.Path)
		}
		out = append(out, d)
	}
	return out
}

// author says who set a live field: a release, where that was Writ.
func (r *release) author(live object.Object, path string) string {
	owner, ok := diff.OwnersOf(live).Of(path)
	if !ok {
		return ""
	}
	if owner.Manager != api.ManagerApply {
		return ownerText(owner)
	}
	if r.holds(live) {
		return r.text()
	}
	if h := r.others[live.Key()]; h != nil {
		return h.text()
	}
	return ownerText(owner)
}

// text names a release and who applied it last.
func (h *handover) text() string {
	return fmt.Sprintf("release %s, revision %d, applied by %s", h.name(), h.spec.Revision, cmp.Or(h.spec.AppliedBy, "somebody"))
}
