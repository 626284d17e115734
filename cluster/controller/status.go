package controller

import (
	"bytes"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// StatusOperation returns the operation that makes status, a typed status,
// that of o; ok is false when it is already. The operation depends on o's UID
// but not on its revision: each status has one writer.
func StatusOperation(o object.Object, status any) (op api.Operation, ok bool, err error) {
	b, err := object.Marshal(status)
	if err != nil {
		return op, false, err
	}
	v, err := object.Unmarshal(b)
	if err != nil {
		return op, false, err
	}
	tree := o.Tree()
	was, err := object.Marshal(tree["status"])
	if err != nil {
		return op, false, err
	}
	if now, err := object.Marshal(v); err != nil || bytes.Equal(now, was) {
		return op, false, err
	}
	tree["status"] = v
	delete(tree["metadata"].(map[string]any), "resourceVersion")
	next, err := object.FromTree(tree)
	if err != nil {
		return op, false, err
	}
	return api.Operation{Action: api.ActionUpdateStatus, Object: next, UID: o.Meta().UID}, true, nil
}

// CreateOperation returns the operation that creates a typed object of kind k.
func CreateOperation(k api.Kind, typed any) (api.Operation, error) {
	o, err := api.Encode(k, typed)
	return api.Operation{Action: api.ActionCreate, Object: o}, err
}

// UpdateOperation returns the operation that replaces all but the status of a
// live object by typed, provided that it is still as typed's resourceVersion
// says.
func UpdateOperation(k api.Kind, typed any) (api.Operation, error) {
	o, err := api.Encode(k, typed)
	if err != nil {
		return api.Operation{}, err
	}
	return api.Operation{Action: api.ActionUpdate, Object: o, UID: o.Meta().UID, ResourceVersion: o.Meta().ResourceVersion}, nil
}

// DeleteOperation returns the operation that deletes this very object.
func DeleteOperation(o object.Object) api.Operation {
	return api.Operation{Action: api.ActionDelete, Object: o, UID: o.Meta().UID}
}
