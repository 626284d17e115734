// Package pod runs one pod: sandbox, network, containers in order, probes,
// restarts, and the end. Each pod has a Worker, and one goroutine owns its
// state; everything slow happens beside it and comes back as a message.
//
// What to do next is decided by a machine that has no clock and does no I/O
// (machine.go, step.go): given what happened and the time, it names the
// actions. The Worker performs them (worker.go, container.go).
//
// Invariants: no container starts before the sandbox is attached to the
// network and the pod's grants are enforced (Worker.Granted); init containers
// run alone, in order; a pod that ended never starts again; Run returns only
// when nothing of the pod is left running.
package pod
