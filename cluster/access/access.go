// Package access turns declared dependencies into the grants that nodes
// enforce, and answers who may reach what, and why. It is pure: it reads one
// State and returns values.
//
// Rights belong to workloads, never to labels: a pod acts for the workload at
// the end of its chain of controller owner references, each verified by UID
// against a live object. Endpoints count only when the pod behind them is
// live and holds the address. So no user-written field widens access.
package access

import (
	"iter"

	"github.com/writ-dev/writ/cluster/object"
)

// State is a consistent view of the cluster, or of a bundle. store.Snapshot
// and Objects satisfy it. List is sorted by namespace and name; an empty
// namespace means all.
type State interface {
	Get(k object.Key) (object.Object, bool)
	List(group, kind, namespace string) iter.Seq[object.Object]
}
