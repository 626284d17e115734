package access

import (
	"cmp"
	"iter"
	"slices"

	"github.com/writ-dev/writ/cluster/object"
)

// Objects is a State made of given objects, such as the documents of a bundle.
type Objects struct {
	byKey  map[object.Key]object.Object
	sorted []object.Object
}

// NewObjects makes a State of list. Of objects with one key the last counts.
func NewObjects(list []object.Object) *Objects {
	o := &Objects{byKey: make(map[object.Key]object.Object, len(list))}
	for _, x := range list {
		o.byKey[x.Key()] = x
	}
	for _, x := range o.byKey {
		o.sorted = append(o.sorted, x)
	}
	slices.SortFunc(o.sorted, func(a, b object.Object) int { return compareKeys(a.Key(), b.Key()) })
	return o
}

// Get returns the object with that key.
func (o *Objects) Get(k object.Key) (object.Object, bool) {
	x, ok := o.byKey[k]
	return x, ok
}

// List yields the objects of one kind, sorted by namespace and name.
func (o *Objects) List(group, kind, namespace string) iter.Seq[object.Object] {
	first := object.Key{Group: group, Kind: kind, Namespace: namespace}
	return func(yield func(object.Object) bool) {
		i, _ := slices.BinarySearchFunc(o.sorted, first, func(x object.Object, k object.Key) int { return compareKeys(x.Key(), k) })
		for _, x := range o.sorted[i:] {
			k := x.Key()
			if k.Group != group || k.Kind != kind || namespace != "" && k.Namespace != namespace || !yield(x) {
				return
			}
		}
	}
}

func compareKeys(a, b object.Key) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
