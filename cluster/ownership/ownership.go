// Package ownership keeps metadata.managedFields: which manager set which
// field of an object. Every write is noted; a server-side apply merges only
// what its manager names, takes away what it no longer names, and is refused
// where it would change what somebody else set. Merging and wording are
// Kubernetes' own (structured-merge-diff through apimachinery's managedfields).
//
// It is pure but for the clock, which is given. Objects are decoded JSON trees
// with exact numbers, and are not changed.
package ownership

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// Write says who writes what part of an object.
type Write struct {
	// Manager is the field manager's name.
	Manager string
	// Sub is the subresource: empty, "status" or "scale".
	Sub string
	Now time.Time
}

// Fields knows the fields of one kind. It is safe for concurrent use.
type Fields struct {
	kind api.Kind
	// empty is an object of which nothing is set; its structs are there.
	empty map[string]any
	subs  map[string]*managedfields.FieldManager
}

// newFields makes Fields of a kind from what its fields are.
func newFields(k api.Kind, types managedfields.TypeConverter) (*Fields, error) {
	empty := map[string]any{"apiVersion": k.APIVersion(), "kind": k.Kind, "metadata": map[string]any{}}
	if !k.Custom {
		e, err := api.Encode(k, k.New())
		if err != nil {
			return nil, err
		}
		empty = e.Tree()
	}
	f := &Fields{kind: k, empty: empty, subs: map[string]*managedfields.FieldManager{}}
	for _, sub := range []string{"", "status", "scale"} {
		gv := k.GVK().GroupVersion()
		m, err := managedfields.NewDefaultFieldManager(types, same{}, same{}, same{}, k.GVK(), gv, sub, ignored(k, sub))
		if err != nil {
			return nil, fmt.Errorf("fields of %s: %w", k.Kind, err)
		}
		f.subs[sub] = m
	}
	return f, nil
}

// ignored are the fields that a write of sub cannot change.
func ignored(k api.Kind, sub string) map[fieldpath.APIVersion]fieldpath.Filter {
	var paths []fieldpath.Path
	switch {
	case sub == "status":
		paths = append(paths, fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("metadata"))
	case k.Status:
		paths = append(paths, fieldpath.MakePathOrDie("status"))
	default:
		return nil
	}
	return map[fieldpath.APIVersion]fieldpath.Filter{
		fieldpath.APIVersion(k.APIVersion()): fieldpath.NewExcludeSetFilter(fieldpath.NewSet(paths...)),
	}
}

// Update notes that w's manager has made next of live, nil for a new object,
// by sending sent: what of next is neither in sent nor was in live is a
// default, which is nobody's. It returns what next's managedFields are to be,
// which may be nil; the ones that next has count as the wish to change them.
// Without a manager the fields written become nobody's.
func (f *Fields) Update(w Write, live, sent, next map[string]any) ([]any, error) {
	if w.Manager == "" {
		w.Manager = nobody
	}
	if live == nil {
		live = f.empty
	}
	was, err := f.document(live)
	if err != nil {
		return nil, err
	}
	authored, _ := authored(next, sent, live).(map[string]any)
	is, err := f.document(authored)
	if err != nil {
		return nil, err
	}
	if err := managedfields.ValidateManagedFields(is.GetManagedFields()); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("metadata.managedFields: %v", err))
	}
	out := f.subs[w.Sub].UpdateNoErrors(was, is, w.Manager)
	return entries(out, was, w.Now)
}

// nobody stands for a writer without a name while fields change hands.
const nobody = "\x00"

// authored is next without what neither sent nor live has: the defaults. Lists
// are compared by place: defaults add members, not elements.
func authored(next, sent, live any) any {
	switch n := next.(type) {
	case map[string]any:
		s, _ := sent.(map[string]any)
		l, _ := live.(map[string]any)
		out := make(map[string]any, len(n))
		for name, v := range n {
			_, asked := s[name]
			_, had := l[name]
			if asked || had {
				out[name] = authored(v, s[name], l[name])
			}
		}
		return out
	case []any:
		s, _ := sent.([]any)
		l, _ := live.([]any)
		if len(s) != len(n) && len(l) != len(n) {
			return next
		}
		out := make([]any, len(n))
		for i, v := range n {
			var a, b any
			if len(s) == len(n) {
				a = s[i]
			}
			if len(l) == len(n) {
				b = l[i]
			}
			out[i] = authored(v, a, b)
		}
		return out
	}
	return next
}

// Apply merges what w's manager wants to be into live, nil for a new object,
// and returns the object with its managedFields. The error is a Conflict that
// names every field of others that it would change, unless force is set.
func (f *Fields) Apply(w Write, live, wanted map[string]any, force bool) (map[string]any, error) {
	was, err := f.document(live)
	if err != nil {
		return nil, err
	}
	patch, err := f.document(wanted)
	if err != nil {
		return nil, err
	}
	out, err := f.subs[w.Sub].Apply(was, patch, w.Manager, force)
	if err != nil {
		var status apierrors.APIStatus
		if errors.As(err, &status) {
			return nil, err
		}
		return nil, apierrors.NewBadRequest(err.Error())
	}
	fields, err := entries(out, was, w.Now)
	if err != nil {
		return nil, err
	}
	b, err := object.Marshal(out)
	if err != nil {
		return nil, err
	}
	v, err := object.Unmarshal(b)
	if err != nil {
		return nil, err
	}
	tree := v.(map[string]any)
	m, ok := tree["metadata"].(map[string]any)
	if !ok {
		return nil, apierrors.NewBadRequest("metadata must be an object")
	}
	m["managedFields"] = fields
	return tree, nil
}

// document is a tree as the library takes it: with Go's numbers, and of this
// kind when it is empty.
func (f *Fields) document(tree map[string]any) (*unstructured.Unstructured, error) {
	if tree == nil {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetGroupVersionKind(f.kind.GVK())
		return u, nil
	}
	v, err := plain(tree)
	if err != nil {
		return nil, err
	}
	m := v.(map[string]any)
	if _, ok := m["metadata"].(map[string]any); !ok && m["metadata"] != nil {
		return nil, apierrors.NewBadRequest("metadata must be an object")
	}
	return &unstructured.Unstructured{Object: m}, nil
}

// plain is a copy with Go's numbers instead of exact ones.
func plain(v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			p, err := plain(e)
			if err != nil {
				return nil, err
			}
			out[k] = p
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			p, err := plain(e)
			if err != nil {
				return nil, err
			}
			out[i] = p
		}
		return out, nil
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		n, err := v.Float64()
		if err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("the number %s is out of range", v))
		}
		return n, nil
	}
	return v, nil
}

// entries are the managedFields of o as a tree. Entries that was does not have
// were made now, by the clock that is given.
func entries(o runtime.Object, was *unstructured.Unstructured, now time.Time) ([]any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("managed fields: unexpected %T", o)
	}
	old := was.GetManagedFields()
	all := u.GetManagedFields()
	for i := range all {
		if !has(old, all[i]) {
			t := metav1.NewTime(now)
			all[i].Time = &t
		}
	}
	all = slices.DeleteFunc(all, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == nobody })
	if len(all) == 0 {
		return nil, nil
	}
	b, err := object.Marshal(all)
	if err != nil {
		return nil, err
	}
	v, err := object.Unmarshal(b)
	if err != nil {
		return nil, err
	}
	return v.([]any), nil
}

func has(list []metav1.ManagedFieldsEntry, e metav1.ManagedFieldsEntry) bool {
	for _, o := range list {
		if o.Time.Equal(e.Time) && o.Manager == e.Manager && o.Operation == e.Operation && o.Subresource == e.Subresource && o.APIVersion == e.APIVersion {
			return true
		}
	}
	return false
}

// Same reports whether two lists of managedFields differ in nothing but times.
func Same(a, b any) bool {
	x, _ := a.([]any)
	y, _ := b.([]any)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		p, _ := x[i].(map[string]any)
		q, _ := y[i].(map[string]any)
		for _, f := range []string{"manager", "operation", "subresource", "apiVersion", "fieldsV1"} {
			if !reflect.DeepEqual(p[f], q[f]) {
				return false
			}
		}
	}
	return true
}
