package consensus

import (
	"time"

	"github.com/hashicorp/raft"
)

// transport is a Transport whose heartbeats take the ordinary way through
// Raft's main loop. In raft v1.8.0 the short cut, run on the transport's
// goroutine, can change the term while the main loop appends with the old one,
// so that logs diverge (hashicorp/raft issue 695).
type transport struct {
	// The cluster of one has nobody to talk to. Its in-memory transport also
	// offers RequestPreVote, which Raft finds by a type assertion, hence the
	// concrete type here.
	*raft.InmemTransport
}

func newTransport(member string) transport {
	_, t := raft.NewInmemTransportWithTimeout(raft.ServerAddress(member), time.Second)
	return transport{t}
}

// SetHeartbeatHandler ignores the short cut.
func (transport) SetHeartbeatHandler(func(raft.RPC)) {}
