package registry

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kjson "sigs.k8s.io/json"

	"github.com/writ-dev/writ/cluster/admission"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// Field validation levels, as in metav1.CreateOptions.
const (
	Strict = "Strict"
	Warn   = "Warn"
	Ignore = "Ignore"
)

// maxObject bounds one object's document, in bytes, as etcd's default does.
const maxObject = 1536 << 10

// identify finds the kind of o and checks what its identity must fulfil.
func (t *tx) identify(o object.Object) (api.Kind, error) {
	if o.IsZero() {
		return api.Kind{}, apierrors.NewBadRequest("the object is missing")
	}
	k, ok := t.lookup(o.Group(), o.Kind())
	if !ok || k.APIVersion() != o.APIVersion() {
		return k, apierrors.NewBadRequest(fmt.Sprintf("no kind %q is served in %q", o.Kind(), o.APIVersion()))
	}
	if k.Namespaced && o.Namespace() == "" {
		return k, invalid(k, keyName(o), problem(api.CodeRequired, ".metadata.namespace", "a %s lives in a namespace", k.Kind))
	}
	if !k.Namespaced && o.Namespace() != "" {
		return k, invalid(k, keyName(o), problem(api.CodeImmutable, ".metadata.namespace", "a %s lives in no namespace", k.Kind))
	}
	return k, nil
}

// shape checks o's form as validation says and returns it in the one form in
// which it is stored: through the Go type, so that two spellings of one
// content are equal bytes and an unchanged object causes no write.
func (t *tx) shape(k api.Kind, o object.Object, validation string) (map[string]any, error) {
	if len(o.JSON()) > maxObject {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("%s is larger than %d bytes", o.Key(), maxObject))
	}
	if k.Custom {
		return t.shapeCustom(k, o, validation)
	}
	if err := t.strict(admission.Strict(k, o), validation); err != nil {
		return nil, err
	}
	tree, err := typedTree(k, o)
	if err != nil {
		return nil, err
	}
	tree["apiVersion"], tree["kind"] = k.APIVersion(), k.Kind
	m := metadata(tree)
	if t.u.Manager == "" {
		delete(m, "managedFields")
	}
	delete(m, "selfLink")
	return tree, nil
}

// typedTree is o as its Go type writes it.
func typedTree(k api.Kind, o object.Object) (map[string]any, error) {
	typed := k.New()
	if err := kjson.UnmarshalCaseSensitivePreserveInts(o.JSON(), typed); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", k.Kind, k.Version, k.Kind, err))
	}
	b, err := object.Marshal(typed)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s cannot be encoded: %v", o.Key(), err))
	}
	v, err := object.Unmarshal(b)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return dropNulls(v).(map[string]any), nil
}

// typedMetadata is the metadata of o as its Go type writes it.
func typedMetadata(k api.Kind, o object.Object) (map[string]any, error) {
	tree, err := typedTree(k, o)
	if err != nil {
		return nil, err
	}
	return metadata(tree), nil
}

// strict sorts what admission found into refusals and warnings.
func (t *tx) strict(problems []admission.Problem, validation string) error {
	var wrong, unknown []string
	for _, p := range problems {
		switch p.Code {
		case api.CodeUnknownField:
			text := fmt.Sprintf("unknown field %q", strings.TrimPrefix(p.Path, "."))
			if p.Hint != "" {
				text += " (" + p.Hint + ")"
			}
			unknown = append(unknown, text)
		default:
			wrong = append(wrong, strings.TrimPrefix(p.String(), "."))
		}
	}
	if len(wrong) > 0 {
		return apierrors.NewBadRequest("cannot be decoded: " + strings.Join(append(wrong, unknown...), ", "))
	}
	if len(unknown) == 0 || validation == Ignore {
		return nil
	}
	if validation == Strict {
		return apierrors.NewBadRequest("strict decoding error: " + strings.Join(unknown, ", "))
	}
	t.warnings = append(t.warnings, unknown...)
	return nil
}

// admit fills in defaults and validates. old is zero on create.
func (t *tx) admit(k api.Kind, tree map[string]any, old object.Object) (object.Object, error) {
	if k.Custom {
		return t.admitCustom(k, tree, old)
	}
	if isDefinition(k.Group, k.Kind) {
		if err := t.admitDefinition(tree, old); err != nil {
			return object.Object{}, err
		}
	}
	o, err := object.FromTree(tree)
	if err != nil {
		return o, apierrors.NewBadRequest(err.Error())
	}
	if o, err = admission.Default(k, o); err != nil {
		return o, apierrors.NewBadRequest(err.Error())
	}
	if !t.u.system() {
		if ps := admission.Reserved(k, o, old); len(ps) > 0 {
			return o, invalid(k, keyName(o), ps)
		}
	}
	if ps := admission.Validate(k, o, old); len(ps) > 0 {
		return o, invalid(k, keyName(o), ps)
	}
	t.warnings = append(t.warnings, admission.Warnings(k, o)...)
	return canonical(o)
}

// canonical returns o, which was made from a tree, in the stored byte form.
func canonical(o object.Object) (object.Object, error) {
	if o.Meta().ResourceVersion == "" {
		return o, nil
	}
	b, err := bare(o)
	if err != nil {
		return o, apierrors.NewInternalError(err)
	}
	c, err := object.Parse(b)
	if err != nil {
		return o, apierrors.NewInternalError(err)
	}
	return c, nil
}

// dropNulls removes null fields: in Kubernetes null means absent.
func dropNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			if e == nil {
				delete(v, name)
			} else {
				v[name] = dropNulls(e)
			}
		}
	case []any:
		for i := range v {
			v[i] = dropNulls(v[i])
		}
	}
	return v
}
