package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// listFrom is how many objects of one kind in one namespace are worth a list.
const listFrom = 8

// place is where objects of one kind are listed.
type place struct{ group, kind, namespace string }

func placeOf(k object.Key) place { return place{k.Group, k.Kind, k.Namespace} }

// reader reads live objects, by lists where many are wanted. What moves between
// a list and the commit is found by the preconditions.
type reader struct {
	client  api.Client
	listed  map[place]bool
	objects map[object.Key]object.Object
}

func newReader(c api.Client) *reader {
	return &reader{client: c, listed: map[place]bool{}, objects: map[object.Key]object.Object{}}
}

// expect tells which objects will be read.
func (r *reader) expect(ctx context.Context, keys []object.Key) error {
	count := map[place]int{}
	for _, k := range keys {
		at := placeOf(k)
		kind, ok := api.Lookup(k.Group, k.Kind)
		if count[at]++; !ok || count[at] != listFrom || r.listed[at] {
			continue
		}
		list, err := r.client.List(ctx, kind, api.ListOptions{Namespace: k.Namespace})
		if apierrors.IsForbidden(err) {
			continue // each by itself, then
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", kind.Resource, err)
		}
		for _, o := range list.Items {
			r.objects[o.Key()] = o
		}
		r.listed[at] = true
	}
	return nil
}

// get reads one object; a zero object means that there is none.
func (r *reader) get(ctx context.Context, k object.Key) (object.Object, error) {
	if r.listed[placeOf(k)] {
		return r.objects[k], nil
	}
	return get(ctx, r.client, k)
}

// get reads one object; a zero object means that there is none.
func get(ctx context.Context, c api.Client, k object.Key) (object.Object, error) {
	o, err := c.Get(ctx, k)
	if apierrors.IsNotFound(err) {
		return object.Object{}, nil
	}
	if err != nil {
		return object.Object{}, fmt.Errorf("read %s: %w", k, err)
	}
	return o, nil
}
