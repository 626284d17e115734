package dependency

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/object"
)

// targets knows which namespaces use which: the Dependencies seen so far, that
// cross from one to another. It only directs attention; a Dependency not yet
// seen here brings its own change.
type targets struct {
	mu sync.Mutex // guards of
	// of holds the target namespace of each Dependency.
	of map[object.Key]string
}

func newTargets() *targets { return &targets{of: map[object.Key]string{}} }

// follow takes in a change of a Dependency.
func (t *targets) follow(c controller.Change) {
	key, target := c.Object().Key(), ""
	if !c.New.IsZero() {
		if d, err := api.Decode[api.Dependency](c.New); err == nil && d.Spec.Target.Service != nil {
			target = d.Spec.Target.Service.Namespace
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if target == "" || target == key.Namespace {
		delete(t.of, key)
	} else {
		t.of[key] = target
	}
}

// consumers returns the work on the other namespaces that use one.
func (t *targets) consumers(namespace string) []object.Key {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := map[string]bool{}
	for key, target := range t.of {
		if target == namespace {
			found[key.Namespace] = true
		}
	}
	var out []object.Key
	for _, ns := range slices.SortedFunc(maps.Keys(found), strings.Compare) {
		out = append(out, keys(ns)...)
	}
	return out
}
