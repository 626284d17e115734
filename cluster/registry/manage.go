package registry

import (
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/ownership"
)

// managing writes metadata.managedFields of next. sent is what the writer
// asked for, before defaults: a default is nobody's field.
type managing func(k api.Kind, live object.Object, sent map[string]any, next object.Object) (object.Object, error)

// manage notes that the fields in which next differs from live are the present
// writer's, and no longer anybody else's. Objects that only the control plane
// and node agents write have no entries: they are many, and the answer would
// always be the same. sub is the subresource that is written.
func (t *tx) manage(sub string) managing {
	return func(k api.Kind, live object.Object, sent map[string]any, next object.Object) (object.Object, error) {
		w := ownership.Write{Manager: t.u.Manager, Sub: sub, Now: t.now}
		if t.u.system() {
			w.Manager = api.ManagerSystem
		}
		was := treeOrNil(live)
		had, _ := metadataOrNil(was)["managedFields"].([]any)
		if len(had) == 0 && (w.Manager == "" || t.u.system() || strings.HasPrefix(t.u.Name, "system:node:") || k.Kind == api.EventKind.Kind || k.Kind == api.Lease.Kind) {
			return next, nil
		}
		f, err := t.fields(k)
		if err != nil {
			return next, err
		}
		tree := next.Tree()
		fields, err := f.Update(w, was, sent, tree)
		if err != nil {
			return next, err
		}
		return withFields(tree, was, fields)
	}
}

func treeOrNil(o object.Object) map[string]any {
	if o.IsZero() {
		return nil
	}
	return o.Tree()
}

func metadataOrNil(tree map[string]any) map[string]any {
	m, _ := tree["metadata"].(map[string]any)
	return m
}

// withFields sets the managedFields of a tree. When nothing has changed but
// the times in them it is left as it was: so that there is nothing to write.
func withFields(tree, was map[string]any, fields []any) (object.Object, error) {
	m := metadata(tree)
	if m["managedFields"] = fields; len(fields) == 0 {
		delete(m, "managedFields")
	}
	if was != nil {
		old := metadata(was)
		delete(old, "resourceVersion")
		if now := m["managedFields"]; ownership.Same(old["managedFields"], now) {
			if copyField(m, old, "managedFields"); now != nil && !reflect.DeepEqual(tree, was) {
				m["managedFields"] = now
			}
		}
	}
	o, err := object.FromTree(tree)
	if err != nil {
		return o, apierrors.NewInternalError(err)
	}
	return o, nil
}
