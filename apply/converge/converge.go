// Package converge tells whether an object has become what its spec says:
// done, still moving, or stuck, and why. It is pure: it looks at the object
// and at the objects below it, and answers.
package converge

import (
	"github.com/writ-dev/writ/cluster/object"
)

// State is how far an object is.
type State string

// The states. Stuck means that nothing will happen without help.
const (
	Done   State = "done"
	Moving State = "moving"
	Stuck  State = "stuck"
)

// Status is the answer for one object. Reason is a CamelCase word such as
// "CrashLoopBackOff"; Message is for people, such as "2 of 3 pods ready".
type Status struct {
	State   State  `json:"state"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// View is the part of the cluster that may explain an object's state: the
// ReplicaSets and Pods owned by it, directly or not.
type View struct {
	Objects []object.Object
}

// Of returns the status of o.
func Of(o object.Object, v View) Status { return Status{State: Done} }
