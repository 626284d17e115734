// Package converge tells whether an object has become what its spec says:
// done, still moving, or stuck, and why. It is pure: it looks at the object
// and at the objects below it, and answers.
//
// Done follows the conventions of Kubernetes: the status is about the present
// generation and says that all of it is there. Kinds that nothing works on,
// such as a ConfigMap, are done at once.
package converge

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
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
// ReplicaSets and Pods owned by it, directly or not. Others do no harm.
type View struct {
	Objects []object.Object
}

// Of returns the status of o.
func Of(o object.Object, v View) Status {
	if o.Meta().DeletionTimestamp != "" {
		return Status{Moving, "Terminating", "is being deleted"}
	}
	var s Status
	var err error
	switch (object.Key{Group: o.Group(), Kind: o.Kind()}) {
	case object.Key{Group: "apps", Kind: "Deployment"}:
		s, err = deployment(o, v)
	case object.Key{Group: "apps", Kind: "ReplicaSet"}:
		s, err = replicaSet(o, v)
	case object.Key{Group: "batch", Kind: "Job"}:
		s, err = job(o, v)
	case object.Key{Kind: "Pod"}:
		s, err = podStatus(o)
	case object.Key{Kind: "Namespace"}:
		s, err = namespace(o)
	case object.Key{Kind: "Service"}:
		s, err = service(o)
	case object.Key{Group: api.Group, Kind: "Dependency"}:
		s, err = dependency(o)
	default:
		s = Status{State: Done}
	}
	if err != nil {
		return Status{Stuck, "Unreadable", err.Error()}
	}
	return s
}

// below returns the live objects of one kind whose controller has the UID.
func (v View) below(uid, group, kind string) []object.Object {
	var found []object.Object
	for _, o := range v.Objects {
		if c := o.Controller(); c != nil && c.UID == uid && o.Kind() == kind && o.Group() == group {
			found = append(found, o)
		}
	}
	return found
}

func namespace(o object.Object) (Status, error) {
	n, err := api.Decode[corev1.Namespace](o)
	if err != nil {
		return Status{}, err
	}
	if n.Status.Phase == corev1.NamespaceTerminating {
		return Status{Moving, "Terminating", "is being deleted"}, nil
	}
	return Status{State: Done}, nil
}

// service is done when it has its address: whether something answers there is
// the business of the workload behind it.
func service(o object.Object) (Status, error) {
	s, err := api.Decode[corev1.Service](o)
	if err != nil {
		return Status{}, err
	}
	if s.Spec.Type != corev1.ServiceTypeExternalName && s.Spec.ClusterIP == "" {
		return Status{Moving, "NoAddress", "waits for an address"}, nil
	}
	return Status{State: Done}, nil
}

// dependency is done when its rules are in force; a target that does not
// exist yet keeps it moving, since nothing forbids that.
func dependency(o object.Object) (Status, error) {
	d, err := api.Decode[api.Dependency](o)
	if err != nil {
		return Status{}, err
	}
	reason, message := "", ""
	for _, c := range d.Status.Conditions {
		if c.Status != metav1.ConditionTrue {
			reason, message = c.Reason, c.Message
			break
		}
	}
	switch d.Status.Phase {
	case "Ready":
		return Status{Done, "", "granted"}, nil
	case "Degraded":
		return Status{Stuck, reason, message}, nil
	case "":
		return Status{Moving, "Pending", "waits for the cluster to take it up"}, nil
	}
	return Status{Moving, reason, message}, nil
}

// count formats "2 of 3 pods ready".
func count(n, of int32, what string) string {
	return fmt.Sprintf("%d of %d pods %s", n, of, what)
}
