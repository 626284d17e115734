// Package admission decides whether an object may be stored, and in what
// form. It is pure: the API server and the compiler call the same functions
// and reach the same verdict.
//
// The order is Strict (is this JSON of that kind at all), Default (fill in
// what the author left out), Reserved (for writers other than the cluster
// itself), Validate. All of them report every problem they see, not the first.
//
// A field that Kubernetes has and Writ does not honour is refused by name and
// never dropped: honour_*.go hold the lists of what is honoured.
//
// Rules that need to see other objects are not here: dependency rules are in
// cluster/access, preconditions and allocation in cluster/registry.
package admission

import (
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// Problem is one reason to refuse an object.
type Problem = api.Problem

// Strict reports fields that k does not have (with the field probably meant)
// and values of the wrong JSON type, for the whole document.
func Strict(k api.Kind, o object.Object) []Problem { return nil }

// Default returns o as the API server would store it: with Kubernetes'
// defaults for k filled in and null fields removed (null means absent). It is
// idempotent. The error is for documents Strict would have refused.
func Default(k api.Kind, o object.Object) (object.Object, error) { return o, nil }

// Validate reports what is wrong with a defaulted object. old is the stored
// object on update and zero on create.
func Validate(k api.Kind, new, old object.Object) []Problem { return nil }

// ValidateStatus reports what is wrong with a status update; only the status
// of new counts.
func ValidateStatus(k api.Kind, new, old object.Object) []Problem { return nil }

// Reserved reports what only the cluster itself may write (rule DEP012):
// system kinds, writ.dev labels and annotations, controller owner references,
// a pod's node. Call it for every writer but the in-process system identity.
func Reserved(k api.Kind, new, old object.Object) []Problem { return nil }

// Warnings lists what is accepted but not enforced, or probably a mistake.
func Warnings(k api.Kind, o object.Object) []string { return nil }
