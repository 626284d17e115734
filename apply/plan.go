// Package apply brings a cluster to what a bundle says, in two steps that can
// be days and machines apart: a Plan is computed and read, then applied as one
// transaction, all of it or nothing. It is the only client-side package that
// changes a cluster.
//
// A release owns what its bundle writes and nothing else: fields that others
// set stay, and only objects in the release's own inventory are ever deleted,
// found by UID and never by label. Values of Secrets are never part of a
// plan's text, nor of the Release kept in the cluster.
package apply

import (
	"time"

	"github.com/writ-dev/writ/cluster/diff"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
)

// Action is what a plan does with one object.
type Action string

// The actions. Replace deletes the object and creates it anew, because a field
// that cannot be changed in place differs. Orphan lets go of an object that the
// bundle no longer has, and Keep holds on to one that cannot go yet.
const (
	Create    Action = "create"
	Update    Action = "update"
	Replace   Action = "replace"
	Delete    Action = "delete"
	Orphan    Action = "orphan"
	Keep      Action = "keep"
	Unchanged Action = "unchanged"
)

// Plan is what an apply would do, computed against one state of the cluster.
// It is a value: JSON in, JSON out.
type Plan struct {
	Release   string `json:"release"`
	Namespace string `json:"namespace"`
	// Cluster is the cluster's identity, empty when it could not be read.
	Cluster string `json:"cluster,omitempty"`
	// Digest is the bundle's.
	Digest string `json:"digest"`
	// Source and Rollback are as in Options.
	Source   string `json:"source,omitempty"`
	Rollback int64  `json:"rollback,omitempty"`
	// Revision is the cluster's revision that the plan was computed against.
	Revision uint64    `json:"revision"`
	Created  time.Time `json:"created"`
	// Objects is every object of the bundle in apply order, then every one to
	// be deleted in the opposite order.
	Objects []ObjectPlan `json:"objects"`
	// Opened and Closed are the connections that the plan allows and cuts.
	Opened []Access `json:"opened,omitempty"`
	Closed []Access `json:"closed,omitempty"`
	// Rollouts are the workloads of which pods start or stop, and Capacity what
	// the pods ask for where that changes.
	Rollouts []Rollout  `json:"rollouts,omitempty"`
	Capacity []Capacity `json:"capacity,omitempty"`
	// Warnings are what the reader of a plan should know besides.
	Warnings []string `json:"warnings,omitempty"`
	// Held is how many objects the release has before.
	Held int `json:"held,omitempty"`
	// Conflicts keep the plan from being applied.
	Conflicts []Conflict `json:"conflicts,omitempty"`
	// Drift is how the live objects differ from what the release applied
	// before. Defaulted counts the defaults that are not listed in it.
	Drift     []Drift `json:"drift,omitempty"`
	Defaulted int     `json:"defaulted,omitempty"`
	// Record is the Release object to write, absent when there is nothing new
	// to record.
	Record *Record `json:"record,omitempty"`
	// Others are the Releases that objects are taken over from, as they will be.
	Others []Record `json:"others,omitempty"`

	// fromFile says that what the plan tells has to be proven.
	fromFile bool
}

// ObjectPlan is what happens to one object.
type ObjectPlan struct {
	Key    object.Key `json:"key"`
	Action Action     `json:"action"`
	// Pos is where the document was written.
	Pos diag.Position `json:"pos,omitzero"`
	// Why explains an action that the bundle alone does not: a replacement, a
	// deletion, an adoption.
	Why string `json:"why,omitempty"`
	// From is the release that the object is taken over from.
	From string `json:"from,omitempty"`
	// Lost is what a replacement loses for good.
	Lost []string `json:"lost,omitempty"`
	// Cascade names what disappears together with the object.
	Cascade []object.Key  `json:"cascade,omitempty"`
	Changes []FieldChange `json:"changes,omitempty"`
	// Base is the live object that the plan was computed against; nil when
	// there is none.
	Base *Base `json:"base,omitempty"`
	// Object is what is sent, for Create, Update and Replace. In JSON the
	// values of a Secret are digests, and Sealed is set.
	Object object.Object `json:"object,omitzero"`
	Sealed bool          `json:"sealed,omitempty"`
}

// FieldChange is a changed field with the position of its new value.
type FieldChange struct {
	diff.Change
	Pos diag.Position `json:"pos,omitzero"`
	// By is who set the live value, when that was not Writ.
	By *diff.Owner `json:"by,omitempty"`
}

// Base is a live object as it was, without status and values of Secrets.
type Base struct {
	UID             string        `json:"uid"`
	ResourceVersion string        `json:"resourceVersion"`
	Object          object.Object `json:"object"`
}

// Access is one connection: Consumer "Deployment/web" in Namespace may reach
// Target "default/store:6379"; a target without a port means all ports.
type Access struct {
	Namespace string        `json:"namespace"`
	Consumer  string        `json:"consumer"`
	Target    string        `json:"target"`
	Pos       diag.Position `json:"pos,omitzero"`
}

// Record is the Release object to write; Base is the present one's identity.
type Record struct {
	UID             string        `json:"uid,omitempty"`
	ResourceVersion string        `json:"resourceVersion,omitempty"`
	Object          object.Object `json:"object"`
}

// Empty reports whether applying p changes no object. A plan that changes
// nothing may still have something to record.
func (p *Plan) Empty() bool {
	return p.Count(Unchanged)+p.Count(Keep) == len(p.Objects)
}

// Count returns the number of objects with an action.
func (p *Plan) Count(a Action) int {
	n := 0
	for _, o := range p.Objects {
		if o.Action == a {
			n++
		}
	}
	return n
}

// Keys returns the objects that there will be, in apply order.
func (p *Plan) Keys() []object.Key {
	var keys []object.Key
	for _, o := range p.Objects {
		if o.Action != Delete && o.Action != Orphan {
			keys = append(keys, o.Key)
		}
	}
	return keys
}
