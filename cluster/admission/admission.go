// Package admission decides whether an object may be stored, and in what
// form. It is pure: the API server and the compiler call the same functions
// and reach the same verdict.
//
// The order is StrictJSON or Strict (is this JSON of that kind at all),
// Default (fill in what the author left out), Reserved (for writers other than
// the cluster itself), Validate. All of them report every problem they see,
// not the first.
//
// A field that Kubernetes has and Writ does not honour is refused by name and
// never dropped: honour_fields.go lists what is honoured.
//
// Rules that need to see other objects are not here: dependency rules are in
// cluster/access, preconditions and allocation in cluster/registry.
package admission

import (
	"github.com/writ-dev/writ/cluster/api"
)

// Problem is one reason to refuse an object.
type Problem = api.Problem
