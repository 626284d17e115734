package registry

import (
	"sync"
	"time"

	"github.com/writ-dev/writ/cluster/store"
)

const (
	pagesKept = 16
	pagesFor  = 5 * time.Minute
)

// pages keeps the few snapshots that lists in several parts are reading, so
// that their parts fit together. A snapshot shares all but what changed since
// with the present state.
type pages struct {
	mu   sync.Mutex // guards kept
	kept []keptPage // oldest first
}

type keptPage struct {
	snap store.Snapshot
	used time.Time
}

func (p *pages) keep(s store.Snapshot, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.kept {
		if p.kept[i].snap.Revision() == s.Revision() {
			p.kept[i].used = now
			return
		}
	}
	p.drop(now)
	if len(p.kept) == pagesKept {
		p.kept = p.kept[1:]
	}
	p.kept = append(p.kept, keptPage{s, now})
}

func (p *pages) find(revision uint64, now time.Time) (store.Snapshot, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(now)
	for i := range p.kept {
		if p.kept[i].snap.Revision() == revision {
			return p.kept[i].snap, true
		}
	}
	return store.Snapshot{}, false
}

// drop forgets what was not used for long. p.mu is held.
func (p *pages) drop(now time.Time) {
	var left []keptPage
	for _, k := range p.kept {
		if now.Sub(k.used) < pagesFor {
			left = append(left, k)
		}
	}
	p.kept = left
}
