package registry

import (
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/custom"
	"github.com/writ-dev/writ/cluster/object"
)

// defined refuses objects of a kind whose definition is going, and makes the
// write depend on it.
func (t *tx) defined(k api.Kind, name string) error {
	c, err := t.custom(k)
	if err != nil {
		return err
	}
	key := api.Definition.Key("", c.Definition)
	def, ok := t.get(key)
	if !ok || def.Meta().DeletionTimestamp != "" {
		e := apierrors.NewMethodNotSupported(resourceOf(k), "create")
		e.ErrStatus.Message = fmt.Sprintf("create of %s %q is not allowed while its CustomResourceDefinition is terminating", k.Resource, name)
		return e
	}
	if rev := t.revision(key); rev != 0 {
		t.relied[key] = rev
	}
	return nil
}

// admitDefinition completes a definition and says that it is served.
func (t *tx) admitDefinition(tree map[string]any, old object.Object) error {
	spec := child(tree, "spec")
	names := child(spec, "names")
	kind, _ := names["kind"].(string)
	if s, _ := names["singular"].(string); s == "" && kind != "" {
		names["singular"] = strings.ToLower(kind)
	}
	if s, _ := names["listKind"].(string); s == "" && kind != "" {
		names["listKind"] = kind + "List"
	}
	if spec["conversion"] == nil {
		spec["conversion"] = map[string]any{"strategy": "None"}
	}
	o, err := object.FromTree(tree)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	c, ps := custom.New(o)
	if len(ps) > 0 {
		return invalid(api.Definition, keyName(o), ps)
	}
	for _, other := range t.customs().Kinds() {
		if other.Group == c.Group && other.Kind.Kind == c.Kind.Kind && other.Definition != o.Name() {
			return invalid(api.Definition, keyName(o), problem(api.CodeDuplicate, ".spec.names.kind", "%s is defined by %s", kind, other.Definition))
		}
	}
	if !old.IsZero() {
		was := child(old.Tree(), "spec")
		if was["scope"] != spec["scope"] {
			ps = append(ps, problem(api.CodeImmutable, ".spec.scope", "cannot be changed")...)
		}
		if child(was, "names")["kind"] != kind {
			ps = append(ps, problem(api.CodeImmutable, ".spec.names.kind", "cannot be changed")...)
		}
		if before, wrong := custom.New(old); len(wrong) == 0 && before.Version != c.Version {
			ps = append(ps, problem(api.CodeImmutable, ".spec.versions", "the stored version is %s; objects are not converted", before.Version)...)
		}
		if len(ps) > 0 {
			return invalid(api.Definition, keyName(o), ps)
		}
	}
	status := child(tree, "status")
	status["acceptedNames"], status["storedVersions"] = names, []any{c.Version}
	if status["conditions"] == nil {
		now := t.now.Format(time.RFC3339)
		condition := func(kind, reason, message string) any {
			return map[string]any{"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now}
		}
		status["conditions"] = []any{condition("NamesAccepted", "NoConflicts", "no conflicts found"), condition("Established", "InitialNamesAccepted", "the initial names have been accepted")}
	}
	return nil
}
