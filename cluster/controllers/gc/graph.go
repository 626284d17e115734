package gc

import (
	"sync"

	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/object"
)

// graph knows, from what the watches have told, which objects name an owner.
type graph struct {
	mu sync.Mutex // guards dependents
	// dependents are the keys of objects by the UID of their owner.
	dependents map[string]map[object.Key]bool
}

func newGraph() *graph { return &graph{dependents: map[string]map[object.Key]bool{}} }

// update follows a change, and returns the dependents of an object that is
// gone.
func (g *graph) update(c controller.Change) []object.Key {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !c.Old.IsZero() {
		key := c.Old.Key()
		for _, ref := range c.Old.Meta().OwnerReferences {
			set := g.dependents[ref.UID]
			if delete(set, key); len(set) == 0 {
				delete(g.dependents, ref.UID)
			}
		}
	}
	if !c.New.IsZero() {
		key := c.New.Key()
		for _, ref := range c.New.Meta().OwnerReferences {
			set := g.dependents[ref.UID]
			if set == nil {
				set = map[object.Key]bool{}
				g.dependents[ref.UID] = set
			}
			set[key] = true
		}
	}
	// An object that was replaced by another of its name is gone as well.
	if c.Old.IsZero() || !c.New.IsZero() && c.New.Meta().UID == c.Old.Meta().UID {
		return nil
	}
	var keys []object.Key
	for k := range g.dependents[c.Old.Meta().UID] {
		keys = append(keys, k)
	}
	return keys
}

// owns reports whether anything is known to depend on the object.
func (g *graph) owns(uid string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.dependents[uid]) > 0
}
