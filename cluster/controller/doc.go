// Package controller is the machinery that every reconciler and the scheduler
// run on: watches that name what may need work, a queue that holds each name
// once, and workers that look at the world and act.
//
// It is level-triggered. A watch event never says what to do; it only maps to
// keys. A Reconciler reads live state through its api.Client, which sees the
// caller's own writes, and must give the same result when it runs twice. So an
// event that is lost, repeated or merged with another costs nothing but time.
//
// Invariants: a key is never reconciled by two workers at once; a key that is
// added while it is being reconciled is reconciled again afterwards; a watch
// that breaks is resumed at the revision it had reached, or, when history is
// gone, replaced by a list whose differences to what was last seen are
// delivered like events, deletions included.
//
// The package knows no kind, never polls, and writes nothing but what its
// Recorder is asked to record.
//
//	c, err := controller.New(controller.Options{
//		Name:       "replicaset",
//		Env:        env,
//		Watches:    []controller.Watch{{Kind: api.ReplicaSet}, {Kind: api.Pod, Map: toOwner}},
//		Reconciler: r,
//	})
//	err = c.Run(ctx) // until ctx ends
package controller
