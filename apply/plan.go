// Package apply brings a cluster to what a bundle says, in two steps that can
// be days and machines apart: a Plan is computed and read, then applied as one
// transaction, all of it or nothing. It is the only client-side package that
// changes a cluster.
//
// A release owns what its bundle writes and nothing else: fields that others
// set stay, and only objects in the release's own inventory are ever deleted.
// Values of Secrets are never part of a plan's text, nor of a Release.
package apply

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/writ-dev/writ/apply/diff"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// Action is what a plan does with one object.
type Action string

// The actions. Replace deletes the object and creates it anew, because a field
// that cannot be changed in place differs.
const (
	Create    Action = "create"
	Update    Action = "update"
	Replace   Action = "replace"
	Delete    Action = "delete"
	Unchanged Action = "unchanged"
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

// Plan is what an apply would do, computed against one state of the cluster.
// It is a value: JSON in, JSON out.
type Plan struct {
	Release   string `json:"release"`
	Namespace string `json:"namespace"`
	By        string `json:"by,omitempty"`
	// Digest is the bundle's.
	Digest string `json:"digest"`
	// Revision is the cluster's revision that the plan was computed against.
	Revision uint64    `json:"revision"`
	Created  time.Time `json:"created"`
	// Objects is every object of the bundle and every one to be deleted, in
	// apply order.
	Objects []ObjectPlan `json:"objects"`
	// Opened and Closed are the connections that the plan allows and cuts.
	Opened []Access `json:"opened,omitempty"`
	Closed []Access `json:"closed,omitempty"`
	// Warnings come from the server.
	Warnings []string `json:"warnings,omitempty"`
	// Record is the operation on the Release object itself, absent when there
	// is nothing to record.
	Record *Record `json:"record,omitempty"`
}

// ObjectPlan is what happens to one object.
type ObjectPlan struct {
	Key    object.Key `json:"key"`
	Action Action     `json:"action"`
	// Pos is where the document was written.
	Pos diag.Position `json:"pos,omitzero"`
	// Why explains an action that the bundle alone does not: a replacement, a
	// deletion, an adoption.
	Why     string        `json:"why,omitempty"`
	Changes []FieldChange `json:"changes,omitempty"`
	// Base is the live object that the plan was computed against.
	Base *Base `json:"base,omitempty"`
	// Object is what is sent: for Create, Update and Replace.
	Object object.Object `json:"object,omitzero"`
}

// FieldChange is a changed field with the position of its new value.
type FieldChange struct {
	diff.Change
	Pos diag.Position `json:"pos,omitzero"`
}

// Base identifies a live object as it was.
type Base struct {
	UID             string `json:"uid"`
	ResourceVersion string `json:"resourceVersion"`
	// Object is the live object without status.
	Object object.Object `json:"object"`
}

// Access is one connection: "Deployment/web" in Namespace to "default/store:6379".
type Access struct {
	Namespace string        `json:"namespace"`
	Consumer  string        `json:"consumer"`
	Target    string        `json:"target"`
	Pos       diag.Position `json:"pos,omitzero"`
}

// Record is the Release object to write; Base is the present one.
type Record struct {
	Base   *Base         `json:"base,omitempty"`
	Object object.Object `json:"object"`
}

// Compute plans the application of b. It writes nothing. Refusals by the
// server are a diag.List with source positions.
func Compute(ctx context.Context, c api.Client, b *render.Bundle, o Options) (*Plan, error) {
	return nil, errors.New("not yet")
}

// Empty reports whether applying p changes no object.
func (p *Plan) Empty() bool {
	for _, o := range p.Objects {
		if o.Action != Unchanged {
			return false
		}
	}
	return true
}

// Result is a committed plan. Objects are as committed, without deleted ones.
type Result struct {
	Revision uint64
	Objects  []object.Object
}

// Apply commits p as one transaction. A StaleError means that the cluster has
// moved since and nothing was written. A plan that was read from a file needs
// its bundle again when it holds Secrets; otherwise b may be nil.
func Apply(ctx context.Context, c api.Client, p *Plan, b *render.Bundle) (*Result, error) {
	return nil, errors.New("not yet")
}

// Print writes p for people; colour adds ANSI colours.
func (p *Plan) Print(w io.Writer, colour bool) {}
