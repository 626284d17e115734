package api

import (
	"context"

	"github.com/writ-dev/writ/cluster/object"
)

// EventType is the kind of a watch event, as in metav1.WatchEvent.
type EventType string

// The event types.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	Bookmark EventType = "BOOKMARK"
)

// Event is one change seen by a watch. For Deleted, Object is the last state
// with the revision of the deletion. For Bookmark, Object is zero and Revision
// says how far the watch has come.
type Event struct {
	Type     EventType
	Object   object.Object
	Revision uint64
}

// ListOptions select objects of one kind.
type ListOptions struct {
	// Namespace limits the list to one namespace; empty means all.
	Namespace string
	// LabelSelector and FieldSelector are in the Kubernetes string syntax.
	LabelSelector string
	FieldSelector string
}

// List is the objects of one kind at one revision, sorted by namespace and name.
type List struct {
	Items    []object.Object
	Revision uint64
}

// Action is what a transaction's operation does.
type Action string

// The actions. Update replaces all but the status and what the server owns.
const (
	ActionCreate       Action = "create"
	ActionUpdate       Action = "update"
	ActionUpdateStatus Action = "updateStatus"
	ActionDelete       Action = "delete"
)

// Operation is one object's part of a transaction. For a deletion, Object
// needs only its identity. UID and ResourceVersion, where set, are
// preconditions on the live object.
type Operation struct {
	Action          Action        `json:"action"`
	Object          object.Object `json:"object"`
	UID             string        `json:"uid,omitempty"`
	ResourceVersion string        `json:"resourceVersion,omitempty"`
	// Propagation is for deletions: Background (default), Foreground, Orphan.
	Propagation string `json:"propagation,omitempty"`
}

// Transaction commits all of its operations at one revision, or none. The
// operations see one another: a namespace created by the first can hold the
// object created by the second.
type Transaction struct {
	Operations []Operation `json:"operations"`
	DryRun     bool        `json:"dryRun,omitempty"`
}

// TransactionResult holds the objects as committed, in the order of the
// operations; deleted ones are the last state.
type TransactionResult struct {
	Revision uint64          `json:"revision"`
	Objects  []object.Object `json:"objects"`
}

// Client reads and writes objects. It is satisfied by cluster/registry, in
// process, and by cluster/client, over HTTPS. Errors satisfy
// k8s.io/apimachinery/pkg/api/errors: NotFound, AlreadyExists, Conflict,
// Invalid, Gone, Forbidden. A transaction's error names every refused
// operation in its Status causes, field "operations[i]" and the object's path.
type Client interface {
	Get(ctx context.Context, k object.Key) (object.Object, error)
	List(ctx context.Context, k Kind, o ListOptions) (*List, error)
	// Watch sends the changes of one kind after revision from, until ctx ends
	// or the watcher falls behind; then the channel is closed. from 0 sends
	// the present objects as Added first. The error is Gone when from is older
	// than the history kept.
	Watch(ctx context.Context, k Kind, from uint64, o ListOptions) (<-chan Event, error)
	Create(ctx context.Context, o object.Object) (object.Object, error)
	// Update replaces all but the status; UpdateStatus only the status. When o
	// carries a resourceVersion it is a precondition.
	Update(ctx context.Context, o object.Object) (object.Object, error)
	UpdateStatus(ctx context.Context, o object.Object) (object.Object, error)
	Delete(ctx context.Context, k object.Key, uid string) error
	Transact(ctx context.Context, t Transaction) (*TransactionResult, error)
}
