package object

import (
	"encoding/json"
	"strconv"
)

// ofTree makes an object of a tree that b is the document of, without reading b
// again; not ok when anything in its head is not as it should be.
func ofTree(b []byte, tree map[string]any) (Object, bool) {
	r := head{ok: true}
	d := &doc{json: b, apiVersion: r.text(tree, "apiVersion"), kind: r.text(tree, "kind")}
	m := r.member(tree, "metadata")
	d.meta = Meta{
		Name: r.text(m, "name"), GenerateName: r.text(m, "generateName"), Namespace: r.text(m, "namespace"),
		UID: r.text(m, "uid"), ResourceVersion: r.text(m, "resourceVersion"), Generation: r.number(m, "generation"),
		CreationTimestamp: r.text(m, "creationTimestamp"), DeletionTimestamp: r.text(m, "deletionTimestamp"),
		Labels: r.texts(m, "labels"), Annotations: r.texts(m, "annotations"),
	}
	for _, v := range r.list(m, "ownerReferences") {
		ref, isObject := v.(map[string]any)
		r.ok = r.ok && isObject
		d.meta.OwnerReferences = append(d.meta.OwnerReferences, OwnerReference{
			APIVersion: r.text(ref, "apiVersion"), Kind: r.text(ref, "kind"), Name: r.text(ref, "name"), UID: r.text(ref, "uid"),
			Controller: r.flag(ref, "controller"), BlockOwnerDeletion: r.flag(ref, "blockOwnerDeletion"),
		})
	}
	for _, v := range r.list(m, "finalizers") {
		text, isString := v.(string)
		r.ok = r.ok && isString
		d.meta.Finalizers = append(d.meta.Finalizers, text)
	}
	d.namespace, d.name = d.meta.Namespace, d.meta.Name
	return Object{d}, r.ok && d.apiVersion != "" && d.kind != ""
}

// head takes values out of a tree as long as all are of the right type.
type head struct{ ok bool }

// of is a member of m. Null is as good as absent.
func of[T any](r *head, m map[string]any, name string) (v T) {
	x := m[name]
	if x == nil {
		return v
	}
	v, ok := x.(T)
	r.ok = r.ok && ok
	return v
}

func (r *head) text(m map[string]any, name string) string { return of[string](r, m, name) }
func (r *head) list(m map[string]any, name string) []any  { return of[[]any](r, m, name) }

func (r *head) member(m map[string]any, name string) map[string]any {
	return of[map[string]any](r, m, name)
}

func (r *head) number(m map[string]any, name string) int64 {
	text := of[json.Number](r, m, name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	r.ok = r.ok && err == nil
	return n
}

func (r *head) flag(m map[string]any, name string) *bool {
	if m[name] == nil {
		return nil
	}
	v := of[bool](r, m, name)
	return &v
}

func (r *head) texts(m map[string]any, name string) map[string]string {
	from := r.member(m, name)
	if from == nil {
		return nil
	}
	out := make(map[string]string, len(from))
	for key, v := range from {
		text, ok := v.(string)
		r.ok = r.ok && (ok || v == nil)
		out[key] = text
	}
	return out
}
