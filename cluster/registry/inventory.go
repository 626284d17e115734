package registry

import (
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// completeInventory gives the items of a Release the UIDs that they lack, as
// objects have them when all of the transaction is done. An applier cannot know
// them before, and an inventory without them could not tell an object from
// another one of the same name.
func (t *tx) completeInventory(o *outcome) error {
	if o.removed || o.key.Group != api.Group || o.key.Kind != api.ReleaseKind.Kind {
		return nil
	}
	tree := o.object.Tree()
	inventory, _ := child(tree, "spec")["inventory"].([]any)
	missing := false
	for _, i := range inventory {
		item, _ := i.(map[string]any)
		if uid, _ := item["uid"].(string); item == nil || uid != "" {
			continue
		}
		text := func(name string) string { s, _ := item[name].(string); return s }
		held, ok := t.get(object.Key{Group: text("group"), Kind: text("kind"), Namespace: text("namespace"), Name: text("name")})
		if ok {
			item["uid"], missing = held.Meta().UID, true
		}
	}
	if !missing {
		return nil
	}
	next, err := object.FromTree(tree)
	if err != nil {
		return err
	}
	t.stage(o.key, next)
	o.object = next
	return nil
}
