package controller

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// ControllerReference returns the owner reference that makes owner, of kind k,
// the controller of another object.
func ControllerReference(k api.Kind, owner object.Object) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{
		APIVersion: k.APIVersion(), Kind: k.Kind, Name: owner.Name(), UID: types.UID(owner.Meta().UID),
		Controller: &yes, BlockOwnerDeletion: &yes,
	}
}

// ControlledBy reports whether o's controller is the object with that UID.
func ControlledBy(o object.Object, uid string) bool {
	r := o.Controller()
	return r != nil && r.UID == uid
}

// ToController returns a Watch.Map that names the controller, of kind k, of
// the object that changed, before and after.
func ToController(k api.Kind) func(context.Context, Change) []object.Key {
	return func(_ context.Context, c Change) []object.Key {
		var keys []object.Key
		for _, o := range []object.Object{c.Old, c.New} {
			if o.IsZero() {
				continue
			}
			r := o.Controller()
			if r == nil || r.Kind != k.Kind || GroupOf(r.APIVersion) != k.Group {
				continue
			}
			key := k.Key(o.Namespace(), r.Name)
			if len(keys) == 0 || keys[0] != key {
				keys = append(keys, key)
			}
		}
		return keys
	}
}

// GroupOf returns the group of an apiVersion: "apps" of "apps/v1", "" of "v1".
func GroupOf(apiVersion string) string {
	for i := range len(apiVersion) {
		if apiVersion[i] == '/' {
			return apiVersion[:i]
		}
	}
	return ""
}
