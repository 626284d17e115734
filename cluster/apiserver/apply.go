package apiserver

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/registry"
)

// badManager says what is wrong with a manager's name.
func badManager(name string) string {
	switch {
	case len(name) > maxManager:
		return fmt.Sprintf("Too long: may not be more than %d bytes", maxManager)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }):
		return fmt.Sprintf("Invalid value: %q: should only contain printable characters", name)
	}
	return ""
}

// invalidOptions refuses the options of a write, as Kubernetes words it.
func invalidOptions(field, problem string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: fmt.Sprintf("PatchOptions.meta.k8s.io \"\" is invalid: %s: %s", field, problem),
		Details: &metav1.StatusDetails{Group: "meta.k8s.io", Kind: "PatchOptions", Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: field, Message: problem}}},
	}}
}

// readApply makes the YAML of a server-side apply JSON, and completes what the
// URL says.
func (s *Server) readApply(p *registry.Patch, c *call, k api.Kind, o registry.WriteOptions) ([]string, error) {
	if c.info.query.Get("fieldManager") == "" {
		return nil, invalidOptions("fieldManager", "Required value: is required for apply patch")
	}
	p.Force = isTrue(c.info.query.Get("force"))
	var warnings []string
	b, err := yaml.YAMLToJSONStrict(p.Data)
	if err != nil {
		strict := err
		if b, err = yaml.YAMLToJSON(p.Data); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
		}
		if warnings, err = duplicates([]error{strict}, o.Validation); err != nil {
			return nil, err
		}
	}
	v, err := object.Unmarshal(b)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, apierrors.NewBadRequest("error decoding YAML: the patch is no object")
	}
	for _, field := range []string{"apiVersion", "kind"} {
		if tree[field] == nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("the object to apply must say its apiVersion and kind (%s in %s)", k.Kind, k.APIVersion()))
		}
	}
	if err := complete(tree, c.info, k); err != nil {
		return nil, err
	}
	if p.Data, err = object.Marshal(tree); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return warnings, nil
}
