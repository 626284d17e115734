package dependency

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// view is an access.State read through the client: a namespace's objects of
// one kind are listed when they are first needed and kept. Lists are not of one
// revision, but later ones are newer; access.Resolve reads the pods first, so
// that whatever was declared before a pod was bound is seen with it. The first
// failure is kept in err, and what was read is then of no use.
type view struct {
	read  func(k api.Kind, namespace string) (*api.List, error)
	lists map[[3]string][]object.Object
	err   error
}

func newView(ctx context.Context, c api.Client) *view {
	read := func(k api.Kind, namespace string) (*api.List, error) {
		return c.List(ctx, k, api.ListOptions{Namespace: namespace})
	}
	return &view{read: read, lists: map[[3]string][]object.Object{}}
}

func (v *view) list(group, kind, namespace string) []object.Object {
	id := [3]string{group, kind, namespace}
	if items, ok := v.lists[id]; ok {
		return items
	}
	k, ok := api.Lookup(group, kind)
	if !ok {
		v.err = errors.Join(v.err, errors.New("no kind "+kind+" is served"))
		return nil
	}
	l, err := v.read(k, namespace)
	if err != nil {
		v.err = errors.Join(v.err, err)
		return nil
	}
	v.lists[id] = l.Items
	return l.Items
}

// Get finds the object in its namespace's list.
func (v *view) Get(k object.Key) (object.Object, bool) {
	items := v.list(k.Group, k.Kind, k.Namespace)
	i, ok := slices.BinarySearchFunc(items, k.Name, func(o object.Object, name string) int {
		return strings.Compare(o.Name(), name)
	})
	if !ok {
		return object.Object{}, false
	}
	return items[i], true
}

// List yields a namespace's objects of one kind.
func (v *view) List(group, kind, namespace string) iter.Seq[object.Object] {
	return slices.Values(v.list(group, kind, namespace))
}
