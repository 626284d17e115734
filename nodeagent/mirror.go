package nodeagent

import (
	"sync"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// mirror holds the decoded objects of one kind. An object that cannot be
// decoded counts as absent: access it might have granted is not.
type mirror[T any] struct {
	// changed is called after each change, without the lock.
	changed func()

	mu    sync.Mutex
	items map[object.Key]*T
	// reached is the newest revision seen; all that happened up to floor is in.
	reached, floor uint64
	// moved, where somebody waits, is closed when either grows.
	moved chan struct{}
}

func (m *mirror[T]) replace(items []object.Object, revision uint64) {
	now := make(map[object.Key]*T, len(items))
	for _, o := range items {
		if v, err := api.Decode[T](o); err == nil {
			now[o.Key()] = v
		}
	}
	m.mu.Lock()
	if revision < m.reached {
		// The watch is ahead of this list.
		m.mu.Unlock()
		return
	}
	m.items, m.reached, m.floor = now, revision, revision
	m.stir()
	m.mu.Unlock()
	m.tell()
}

func (m *mirror[T]) apply(e api.Event) {
	v, err := api.Decode[T](e.Object)
	m.mu.Lock()
	if e.Revision <= m.floor {
		m.mu.Unlock()
		return
	}
	if m.items == nil {
		m.items = map[object.Key]*T{}
	}
	if e.Type == api.Deleted || err != nil {
		delete(m.items, e.Object.Key())
	} else {
		m.items[e.Object.Key()] = v
	}
	m.reached = max(m.reached, e.Revision)
	m.stir()
	m.mu.Unlock()
	m.tell()
}

// progress says that all that happened up to a revision is in.
func (m *mirror[T]) progress(revision uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reached, m.floor = max(m.reached, revision), max(m.floor, revision)
	m.stir()
}

// stir wakes those who wait. m.mu is held.
func (m *mirror[T]) stir() {
	if m.moved != nil {
		close(m.moved)
		m.moved = nil
	}
}

func (m *mirror[T]) tell() {
	if m.changed != nil {
		m.changed()
	}
}

// all returns the objects, which are shared, in no order.
func (m *mirror[T]) all() []*T {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]*T, 0, len(m.items))
	for _, v := range m.items {
		list = append(list, v)
	}
	return list
}

// complete reports whether everything up to a revision is in, and otherwise
// returns what is closed when there is more. Several objects change at one
// revision, so having seen that revision is not enough.
func (m *mirror[T]) complete(revision uint64) (bool, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.floor >= revision || m.reached > revision {
		return true, nil
	}
	if m.moved == nil {
		m.moved = make(chan struct{})
	}
	return false, m.moved
}
