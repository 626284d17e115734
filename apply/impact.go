package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
)

// impact compares the connections declared in the cluster before and after: a
// connection that another Dependency declares as well is neither opened nor
// closed.
func (p *planner) impact(ctx context.Context) (opened, closed []Access, err error) {
	touched := map[object.Key]*item{}
	for _, it := range p.items {
		if it.kind.Kind == api.DependencyKind.Kind && it.kind.Group == api.Group && it.Action != Unchanged {
			touched[it.Key] = it
		}
	}
	if len(touched) == 0 {
		return nil, nil, nil
	}
	live, err := p.client.List(ctx, api.DependencyKind, api.ListOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("read dependencies: %w", err)
	}
	before, after := map[Access]diag.Position{}, map[Access]diag.Position{}
	for _, o := range live.Items {
		if err := addAccess(before, o, diag.Position{}); err != nil {
			return nil, nil, err
		}
		if touched[o.Key()] == nil {
			if err := addAccess(after, o, diag.Position{}); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, it := range p.items {
		if touched[it.Key] != nil && !it.result.IsZero() {
			if err := addAccess(after, it.result, it.origin.Field(".spec.target")); err != nil {
				return nil, nil, err
			}
		}
	}
	return without(after, before), without(before, after), nil
}

// addAccess adds the connections that a Dependency declares.
func addAccess(into map[Access]diag.Position, o object.Object, pos diag.Position) error {
	declared, err := Declared(o)
	for _, a := range declared {
		into[a] = pos
	}
	return err
}

// Declared lists the connections that a Dependency declares; none for an object
// of another kind.
func Declared(o object.Object) ([]Access, error) {
	if o.Group() != api.Group || o.Kind() != api.DependencyKind.Kind {
		return nil, nil
	}
	d, err := api.Decode[api.Dependency](o)
	if err != nil || d.Spec.Target.Service == nil {
		return nil, err
	}
	t := d.Spec.Target.Service
	service := cmp.Or(t.Namespace, d.Namespace) + "/" + t.Name
	a := Access{Namespace: d.Namespace, Consumer: d.Spec.Consumer.Kind + "/" + d.Spec.Consumer.Name, Target: service}
	if len(t.Ports) == 0 {
		return []Access{a}, nil
	}
	var out []Access
	for _, port := range t.Ports {
		a.Target = service + ":" + string(port)
		out = append(out, a)
	}
	return out, nil
}

// without lists what a has and b has not, sorted.
func without(a, b map[Access]diag.Position) []Access {
	var out []Access
	for access, pos := range a {
		if _, ok := b[access]; !ok {
			access.Pos = pos
			out = append(out, access)
		}
	}
	slices.SortFunc(out, func(x, y Access) int {
		return cmp.Or(strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Consumer, y.Consumer), strings.Compare(x.Target, y.Target))
	})
	return out
}
