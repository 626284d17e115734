package apply

import (
	"fmt"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// check refuses an object's plan that no computation makes: a plan may come
// from a file.
func (o *ObjectPlan) check() error {
	switch o.Action {
	case Create, Update, Replace:
		if o.Object.IsZero() || o.Object.Key() != o.Key {
			return fmt.Errorf("read plan: %s %s has no object, or another one", o.Action, o.Key)
		}
	case Delete, Orphan, Keep, Unchanged:
	default:
		return fmt.Errorf("read plan: %s has unknown action %q", o.Key, o.Action)
	}
	switch {
	case o.Action == Create && o.Base != nil:
		return fmt.Errorf("read plan: %s is to be created but has a base", o.Key)
	case o.Action != Create && (o.Base == nil || o.Base.Object.IsZero() || o.Base.Object.Key() != o.Key):
		return fmt.Errorf("read plan: %s %s has no base, or another one", o.Action, o.Key)
	}
	return nil
}

// operations are what an object's plan sends. UIDs and resource versions of
// Base are preconditions; a creation requires that there is no such object.
func (o *ObjectPlan) operations() []api.Operation {
	create := api.Operation{Action: api.ActionCreate, Object: o.Object}
	switch o.Action {
	case Create:
		return []api.Operation{create}
	case Update:
		return []api.Operation{{Action: api.ActionUpdate, Object: o.Object, UID: o.Base.UID, ResourceVersion: o.Base.ResourceVersion}}
	case Replace:
		return []api.Operation{o.deletion(), create}
	case Delete:
		return []api.Operation{o.deletion()}
	}
	return nil
}

func (o *ObjectPlan) deletion() api.Operation {
	return api.Operation{
		Action: api.ActionDelete, Object: identity(o.Base.Object),
		UID: o.Base.UID, ResourceVersion: o.Base.ResourceVersion, Propagation: "Background",
	}
}

// identity is an object reduced to what names it.
func identity(o object.Object) object.Object {
	meta := map[string]any{"name": o.Name()}
	if o.Namespace() != "" {
		meta["namespace"] = o.Namespace()
	}
	id, err := object.FromTree(map[string]any{"apiVersion": o.APIVersion(), "kind": o.Kind(), "metadata": meta})
	if err != nil {
		return o // cannot be: the names were parsed from an object
	}
	return id
}
