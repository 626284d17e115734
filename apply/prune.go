package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// prune plans what becomes of the objects that the release made and the bundle
// no longer holds.
func (p *planner) prune(ctx context.Context) error {
	held := map[object.Key]bool{}
	for _, d := range p.bundle.Documents {
		held[d.Object.Key()] = true
	}
	var gone []*item
	for _, i := range p.release.spec.Inventory {
		k := itemKey(i)
		kind, ok := api.Lookup(k.Group, k.Kind)
		if held[k] || !ok || p.release.others[k] != nil {
			continue
		}
		live, err := p.live.get(ctx, k)
		if err != nil {
			return err
		}
		switch {
		case live.IsZero() || live.Meta().DeletionTimestamp != "":
			continue
		case i.UID != live.Meta().UID:
			p.warnings = append(p.warnings, fmt.Sprintf("%s is left alone: it is not the one this release made (UID %s, not %s)", k, live.Meta().UID, i.UID))
			continue
		}
		it := &item{kind: kind, live: live}
		it.Key, it.Action, it.Why = k, Delete, "no longer in the bundle"
		if it.Base, err = p.base(live); err != nil {
			return err
		}
		switch {
		case live.Meta().Annotations[api.AnnotationPrune] == "keep":
			it.Action, it.Why = Orphan, "stays, as "+api.AnnotationPrune+" says, and is no longer this release's"
		case p.options.Orphan:
			it.Action, it.Why = Orphan, "stays, and is no longer this release's"
		}
		gone = append(gone, it)
	}
	if err := p.keepNamespaces(ctx, gone); err != nil {
		return err
	}
	slices.Reverse(gone)
	p.items = append(p.items, gone...)
	return nil
}

// ownContent are the objects that a cluster puts into every namespace.
func ownContent(o object.Object) bool {
	switch o.Kind() {
	case api.EventKind.Kind, api.Lease.Kind:
		return true
	case api.ServiceAccount.Kind:
		return o.Name() == "default"
	case api.ConfigMap.Kind:
		return o.Name() == "kube-root-ca.crt"
	}
	return false
}

// keepNamespaces turns the deletion of namespaces that hold what is not this
// release's into keeping them. What is controlled by something else goes with
// that.
func (p *planner) keepNamespaces(ctx context.Context, gone []*item) error {
	namespaces := map[string]*item{}
	going := map[object.Key]bool{}
	for _, it := range gone {
		if it.Action != Delete {
			continue
		}
		going[it.Key] = true
		if it.kind.Kind == api.Namespace.Kind {
			namespaces[it.Key.Name] = it
		}
	}
	if len(namespaces) == 0 {
		return nil
	}
	foreign := map[string][]string{}
	for _, k := range namespacedKinds() {
		list, err := p.client.List(ctx, k, api.ListOptions{})
		if err != nil {
			return fmt.Errorf("read %s: %w", k.Resource, err)
		}
		for _, o := range list.Items {
			if namespaces[o.Namespace()] != nil && !going[o.Key()] && o.Controller() == nil && !ownContent(o) && !p.ownRecord(o) {
				foreign[o.Namespace()] = append(foreign[o.Namespace()], o.Key().String())
			}
		}
	}
	for name, objects := range foreign {
		it := namespaces[name]
		it.Action, it.Why = Keep, "is kept until it is empty: "+some(objects)+" in it would go with it and is not this release's"
	}
	return nil
}

// ownRecord says that o is the record of this release.
func (p *planner) ownRecord(o object.Object) bool {
	return o.Group() == api.Group && o.Namespace() == p.options.Namespace &&
		(o.Kind() == api.ReleaseKind.Kind && o.Name() == p.options.Release ||
			o.Kind() == api.RevisionKind.Kind && strings.HasPrefix(o.Name(), p.options.Release+"."))
}

func namespacedKinds() []api.Kind {
	return slices.DeleteFunc(slices.Clone(api.Kinds), func(k api.Kind) bool { return !k.Namespaced || k.Kind == api.EventKind.Kind })
}

// some names the first of many.
func some(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// cascades finds what goes with the objects that are deleted or replaced: what
// they control, and all that is in a namespace.
func (p *planner) cascades(ctx context.Context) error {
	removed := map[string]*item{}
	namespaces := map[string]*item{}
	own := map[object.Key]bool{}
	for _, it := range p.items {
		if it.Action != Delete && it.Action != Replace {
			continue
		}
		own[it.Key] = true
		removed[it.live.Meta().UID] = it
		if it.kind.Kind == api.Namespace.Kind {
			namespaces[it.Key.Name] = it
		}
	}
	if len(removed) == 0 {
		return nil
	}
	// In this order, an owner comes before what it owns.
	kinds := []api.Kind{api.EndpointSlice, api.ReplicaSet, api.Job, api.Pod}
	if len(namespaces) > 0 {
		kinds = namespacedKinds()
	}
	for _, k := range kinds {
		list, err := p.client.List(ctx, k, api.ListOptions{})
		if err != nil {
			return fmt.Errorf("read %s: %w", k.Resource, err)
		}
		for _, o := range list.Items {
			by := namespaces[o.Namespace()]
			if c := o.Controller(); by == nil && c != nil {
				by = removed[c.UID]
			}
			if by == nil || own[o.Key()] {
				continue
			}
			removed[o.Meta().UID] = by
			by.Cascade = append(by.Cascade, o.Key())
		}
	}
	return nil
}
