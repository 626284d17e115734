package registry

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/diff"
	"github.com/writ-dev/writ/cluster/object"
)

// SystemManager is the control plane's name in managedFields.
const SystemManager = "writ-controllers"

// maxManagers bounds an object's managedFields; beyond it, the entries longest
// unchanged become one, as in Kubernetes.
const (
	maxManagers    = 10
	ancientManager = "ancient-changes"
)

// manage writes metadata.managedFields of next: the fields in which it differs
// from live are the present writer's, and no longer anybody else's. sent is
// what the writer asked for, before defaults: a default is nobody's field.
// Only what is outside the status is told apart. Objects that only the control
// plane and node agents write have no entries: they are many, and the answer
// would always be the same.
func (t *tx) manage(k api.Kind, live object.Object, sent map[string]any, next object.Object) (object.Object, error) {
	var was map[string]any
	var entries []metav1.ManagedFieldsEntry
	if !live.IsZero() {
		was = live.Tree()
		entries = managedFields(was)
	}
	manager := t.u.Manager
	if t.u.system() {
		manager = SystemManager
	}
	if len(entries) == 0 && (t.u.system() || strings.HasPrefix(t.u.Name, "system:node:") || k.Kind == api.EventKind.Kind || k.Kind == api.Lease.Kind) {
		return next, nil
	}
	tree := next.Tree()
	mine := diff.Written(k, was, sent)
	changed := diff.Written(k, was, tree).Union(mine)
	removed := diff.Removed(k, was, tree)
	if len(changed)+len(removed) > 0 {
		entries = handOver(entries, mine, changed.Union(removed), metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: k.APIVersion(),
			Time: &metav1.Time{Time: t.now}, FieldsType: "FieldsV1",
		})
	}
	if len(entries) == 0 {
		return next, nil
	}
	list, err := decoded(entries)
	if err != nil {
		return next, err
	}
	metadata(tree)["managedFields"] = list
	return object.FromTree(tree)
}

// handOver takes the fields touched from everybody, and gives mine to by.
func handOver(entries []metav1.ManagedFieldsEntry, mine, touched diff.Set, by metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var out []metav1.ManagedFieldsEntry
	taken := by.Manager == "" || len(mine) == 0
	for _, e := range entries {
		fields := fieldsOf(e)
		rest := fields.Minus(touched)
		if !taken && e.Manager == by.Manager && e.Operation == by.Operation && e.Subresource == "" {
			rest, e.Time, e.APIVersion, taken = rest.Union(mine), by.Time, by.APIVersion, true
		}
		if len(rest) > 0 {
			out = append(out, withFields(e, rest))
		}
	}
	if !taken {
		out = append(out, withFields(by, mine))
	}
	if len(out) > maxManagers {
		slices.SortStableFunc(out, func(a, b metav1.ManagedFieldsEntry) int { return timeOf(b).Compare(timeOf(a)) })
		old := out[maxManagers-1]
		old.Manager = ancientManager
		fields := diff.Set{}
		for _, e := range out[maxManagers-1:] {
			fields = fields.Union(fieldsOf(e))
		}
		out = append(out[:maxManagers-1], withFields(old, fields))
	}
	return out
}

func timeOf(e metav1.ManagedFieldsEntry) time.Time {
	if e.Time == nil {
		return time.Time{}
	}
	return e.Time.Time
}

func fieldsOf(e metav1.ManagedFieldsEntry) diff.Set {
	var s diff.Set
	if e.FieldsV1 != nil {
		_ = json.Unmarshal(e.FieldsV1.GetRawBytes(), &s) // written by withFields
	}
	return s
}

func withFields(e metav1.ManagedFieldsEntry, s diff.Set) metav1.ManagedFieldsEntry {
	if b, err := json.Marshal(s); err == nil { // a map of maps always can
		e.FieldsV1 = metav1.NewFieldsV1(string(b))
	}
	return e
}

// managedFields are those of a stored object.
func managedFields(tree map[string]any) []metav1.ManagedFieldsEntry {
	list, ok := metadata(tree)["managedFields"]
	if !ok {
		return nil
	}
	var entries []metav1.ManagedFieldsEntry
	if b, err := object.Marshal(list); err == nil {
		_ = json.Unmarshal(b, &entries) // written by manage
	}
	return entries
}

func decoded(entries []metav1.ManagedFieldsEntry) (any, error) {
	b, err := object.Marshal(entries)
	if err != nil {
		return nil, err
	}
	return object.Unmarshal(b)
}
