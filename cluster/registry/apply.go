package registry

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/ownership"
)

// apply merges what the manager wants into the object, or makes it.
func (t *tx) apply(k api.Kind, key object.Key, p Patch, w WriteOptions) (outcome, error) {
	v, err := object.Unmarshal(p.Data)
	wanted, ok := v.(map[string]any)
	if err != nil || !ok {
		return outcome{}, apierrors.NewBadRequest("an apply patch is an object")
	}
	live, exists := t.get(key)
	if !exists && p.Sub != "" {
		return outcome{}, notFound(k, key.Name)
	}
	if rv, _ := metadataOrNil(wanted)["resourceVersion"].(string); !exists && rv != "" && rv != "0" {
		return outcome{}, conflict(k, key.Name, "the object has been deleted; please apply your changes to the latest version and try again")
	}
	f, err := t.fields(k)
	if err != nil {
		return outcome{}, err
	}
	merged, err := f.Apply(ownership.Write{Manager: t.u.Manager, Sub: p.Sub, Now: t.now}, treeOrNil(live), dropNulls(wanted).(map[string]any), p.Force)
	if err != nil {
		return outcome{}, err
	}
	fields, _ := metadata(merged)["managedFields"].([]any)
	delete(metadata(merged), "managedFields")
	// Whose the fields are is decided.
	decided := func(_ api.Kind, live object.Object, _ map[string]any, next object.Object) (object.Object, error) {
		return withFields(next.Tree(), treeOrNil(live), fields)
	}
	next, err := object.FromTree(merged)
	if err != nil {
		return outcome{}, apierrors.NewBadRequest(err.Error())
	}
	if next.Key() != key {
		return outcome{}, apierrors.NewBadRequest(fmt.Sprintf("the object to apply is %s, and the request is for %s", next.Key(), key))
	}
	switch {
	case !exists:
		tree, err := t.shape(k, next, w.validation())
		if err != nil {
			return outcome{}, err
		}
		return t.createShaped(k, tree, decided)
	case p.Sub == SubStatus:
		return t.updateStatusManaged(next, preconditions{}, w.validation(), decided)
	}
	return t.updateManaged(next, preconditions{}, w.validation(), decided)
}
