package apply

import (
	"fmt"
	"slices"
	"time"

	"github.com/writ-dev/writ/apply/secret"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/diff"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
)

// Conflict is a field that the bundle and another program want to be
// different.
type Conflict struct {
	Key    object.Key    `json:"key"`
	Path   string        `json:"path"`
	Live   any           `json:"live,omitempty"`
	Wanted any           `json:"wanted,omitempty"`
	By     diff.Owner    `json:"by"`
	Pos    diag.Position `json:"pos,omitzero"`
}

// Class says why a live field is not as the release applied it.
type Class string

// The classes of drift.
const (
	// Edited fields were changed or removed by somebody.
	Edited Class = "edited"
	// Controlled fields are those that a controller of the cluster keeps.
	Controlled Class = "controller"
	// DefaultedField fields were left out and have got a default.
	DefaultedField Class = "defaulted"
)

// Drift is one live field that is not as the release applied it.
type Drift struct {
	Key     object.Key  `json:"key"`
	Path    string      `json:"path"`
	Applied any         `json:"applied,omitempty"`
	Live    any         `json:"live,omitempty"`
	Class   Class       `json:"class"`
	By      *diff.Owner `json:"by,omitempty"`
}

// ownerText is an owner for people.
func ownerText(o diff.Owner) string {
	if o.Time.IsZero() {
		return o.Manager
	}
	return o.Manager + " at " + o.Time.UTC().Format(time.DateTime)
}

// foreign is the owner of a field, if that is not Writ.
func foreign(owners diff.Owners, path string) *diff.Owner {
	if o, ok := owners.Of(path); ok && o.Manager != api.ManagerApply {
		return &o
	}
	return nil
}

// claim says who set the live values that a plan changes. It collects those
// that were set by another program, unless the object or the field is to be
// taken over.
func (p *planner) claim(it *item) {
	owners := diff.OwnersOf(it.live)
	for i := range it.Changes {
		c := &it.Changes[i]
		if c.By = foreign(owners, c.Path); c.By == nil || c.Old == nil {
			continue
		}
		adopted := !p.release.holds(it.live)
		if adopted || it.Action != Update || slices.Contains(p.options.ForceFields, c.Path) || slices.Contains(p.options.ForceFields, "all") {
			continue
		}
		p.conflicts = append(p.conflicts, Conflict{Key: it.Key, Path: c.Path, Live: c.Old, Wanted: c.New, By: *c.By, Pos: c.Pos})
	}
}

// refused is a plan's conflicts as an error.
func (p *Plan) refused() error {
	var list diag.List
	for _, c := range p.Conflicts {
		list = append(list, diag.Diagnostic{
			Code: "CONFLICT", Pos: c.Pos, Object: c.Key.String(), Path: c.Path,
			Message: fmt.Sprintf("was set to %s by %s; the documents want %s", valueText(c.Live), ownerText(c.By), wantedText(c.Wanted)),
			Hint:    "plan with --force-field " + c.Path + " to take it over, or leave it out of the documents",
		})
	}
	return list.Err()
}

func wantedText(v any) string {
	if v == nil {
		return "it gone"
	}
	return valueText(v)
}

// findDrift compares a live object with what the release applied before.
func (p *planner) findDrift(it *item) {
	if it.previous == nil || it.live.Meta().UID != p.release.uids[it.Key] {
		return
	}
	prev, live := own(it.kind, it.previous), own(it.kind, it.live.Tree())
	var owners diff.Owners
	for _, c := range diff.Compare(it.kind, prev, live) {
		if secret.Is(it.Key) && secret.Holds(c.Path) {
			continue // the values applied before are not kept
		}
		if owners == nil {
			owners = diff.OwnersOf(it.live)
		}
		d := Drift{Key: it.Key, Path: c.Path, Applied: c.Old, Live: c.New, Class: Edited}
		owner, ok := owners.Of(c.Path)
		switch {
		case ok && owner.Manager == api.ManagerApply && c.New != nil:
			continue // another application of Writ's
		case ok && owner.Manager == api.ManagerSystem:
			d.Class, d.By = Controlled, &owner
		case ok && c.New != nil:
			d.By = &owner
		case c.Old == nil:
			if p.defaulted++; !p.options.Defaulted {
				continue
			}
			d.Class = DefaultedField
		}
		p.drift = append(p.drift, d)
	}
}
