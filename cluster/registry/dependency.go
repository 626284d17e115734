package registry

import (
	"cmp"
	"iter"
	"reflect"
	"slices"

	"github.com/writ-dev/writ/cluster/access"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// view is the state that a tx would leave; it satisfies access.State.
type view struct{ t *tx }

// Get returns an object as it will be.
func (v view) Get(k object.Key) (object.Object, bool) { return v.t.get(k) }

// List yields objects as they will be, sorted by namespace and name.
func (v view) List(group, kind, namespace string) iter.Seq[object.Object] {
	if len(v.t.staged) == 0 {
		return v.t.snap.List(group, kind, namespace)
	}
	all := slices.SortedFunc(v.t.each(group, kind, namespace), func(a, b object.Object) int {
		return cmp.Or(cmp.Compare(a.Namespace(), b.Namespace()), cmp.Compare(a.Name(), b.Name()))
	})
	return slices.Values(all)
}

// dependency applies the rules that need to see other objects to a Dependency
// that is new or asks for something else than before. Run it when everything
// of the transaction is staged.
func (t *tx) dependency(o outcome) error {
	k := api.DependencyKind
	if o.key.Group != k.Group || o.key.Kind != k.Kind || o.removed || o.object.IsZero() {
		return nil
	}
	s, ok := t.staged[o.key]
	if !ok || s.next.IsZero() {
		return nil
	}
	if !s.live.IsZero() && reflect.DeepEqual(s.live.Tree()["spec"], s.next.Tree()["spec"]) {
		return nil
	}
	if ps := access.Check(view{t}, s.next); len(ps) > 0 {
		return invalid(k, o.key.Name, ps)
	}
	return nil
}
