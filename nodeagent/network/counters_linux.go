package network

import (
	"fmt"

	"github.com/google/nftables"
)

// counters dumps the edges with their counters.
func (r *rules) counters() (map[Edge]Count, error) {
	r.read.Lock()
	defer r.read.Unlock()
	elements, err := r.dump(r.sets.edges)
	if err != nil {
		return nil, fmt.Errorf("read edge counters: %w", err)
	}
	counts := make(map[Edge]Count, len(elements))
	for _, e := range elements {
		if edge, ok := parseEdgeKey(e.Key); ok && e.Counter != nil {
			counts[edge] = Count{Packets: e.Counter.Packets, Bytes: e.Counter.Bytes}
		}
	}
	return counts, nil
}

// refusals dumps the refused attempts and returns what is new since the last
// dump. An element that timed out starts from zero when it comes back.
func (r *rules) refusals() ([]Refusal, error) {
	r.read.Lock()
	defer r.read.Unlock()
	elements, err := r.dump(r.sets.refused)
	if err != nil {
		return nil, fmt.Errorf("read refused attempts: %w", err)
	}
	var list []Refusal
	present := make(map[[keyLen]byte]uint64, len(elements))
	for _, e := range elements {
		edge, ok := parseEdgeKey(e.Key)
		if !ok || e.Counter == nil {
			continue
		}
		key, packets := [keyLen]byte(e.Key), e.Counter.Packets
		present[key] = packets
		before := r.seen[key]
		if packets < before {
			before = 0
		}
		if packets == before {
			continue
		}
		if edge.Proto != TCP && edge.Proto != UDP {
			edge.Port = 0
		}
		list = append(list, Refusal{From: edge.From, To: edge.To, Proto: edge.Proto, Port: edge.Port, Packets: packets - before})
	}
	r.seen = present
	return list, nil
}

// dump reads a set. A dump that a change interrupted is repeated; after an
// error the channel is not used again.
func (r *rules) dump(s *nftables.Set) (elements []nftables.SetElement, err error) {
	for range 5 {
		if r.r == nil {
			if r.r, err = openChannel(r.thread); err != nil {
				return nil, err
			}
		}
		if elements, err = r.r.dump(s); err == nil {
			return elements, nil
		}
		_ = r.r.close()
		r.r = nil
	}
	return nil, err
}
