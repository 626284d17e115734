package store

import (
	"iter"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/writ-dev/writ/cluster/object"
)

// record is one object and the revision that wrote it.
type record struct {
	key      object.Key
	object   object.Object
	revision uint64
}

// state is one version of the tree. It never changes once published.
type state struct {
	tree     *iradix.Tree[*record]
	revision uint64
}

func emptyState() *state { return &state{tree: iradix.New[*record]()} }

// Snapshot is the whole state at one revision. It never changes; keep it as
// long as needed. Make one with Store.View.
type Snapshot struct{ state *state }

// Revision returns the index of the last transaction applied, also when that
// transaction was refused.
func (s Snapshot) Revision() uint64 { return s.state.revision }

// Len returns the number of objects of all kinds.
func (s Snapshot) Len() int { return s.state.tree.Len() }

// Get returns the object with that key.
func (s Snapshot) Get(k object.Key) (object.Object, bool) {
	r, ok := s.state.tree.Get(treeKey(k))
	if !ok {
		return object.Object{}, false
	}
	return r.object, true
}

// List yields the objects of one kind, sorted by namespace and name. An empty
// namespace means all of them.
func (s Snapshot) List(group, kind, namespace string) iter.Seq[object.Object] {
	return objects(s.records(treePrefix(Selector{group, kind, namespace})))
}

// All yields every object, sorted by group, kind, namespace and name.
func (s Snapshot) All() iter.Seq[object.Object] { return objects(s.records(nil)) }

func (s Snapshot) records(prefix []byte) iter.Seq[*record] {
	return func(yield func(*record) bool) {
		s.state.tree.Root().WalkPrefix(prefix, func(_ []byte, r *record) bool { return !yield(r) })
	}
}

func objects(records iter.Seq[*record]) iter.Seq[object.Object] {
	return func(yield func(object.Object) bool) {
		for r := range records {
			if !yield(r.object) {
				return
			}
		}
	}
}

// treeKey orders records by group, kind, namespace and name. The separator is
// a zero byte, which Command.Validate keeps out of keys, so that "a" sorts
// before "a-b" whatever follows.
func treeKey(k object.Key) []byte {
	b := make([]byte, 0, len(k.Group)+len(k.Kind)+len(k.Namespace)+len(k.Name)+3)
	b = append(append(b, k.Group...), 0)
	b = append(append(b, k.Kind...), 0)
	b = append(append(b, k.Namespace...), 0)
	return append(b, k.Name...)
}

func treePrefix(s Selector) []byte {
	b := append([]byte(s.Group), 0)
	b = append(append(b, s.Kind...), 0)
	if s.Namespace != "" {
		b = append(append(b, s.Namespace...), 0)
	}
	return b
}
