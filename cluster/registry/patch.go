package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// Patch limits: operations, and copies among them, in one JSON patch.
const (
	maxPatchOperations = 10000
	maxPatchCopies     = 64
)

// Subresources.
const (
	SubStatus = "status"
	SubScale  = "scale"
)

// Patch is a change relative to the live object.
type Patch struct {
	// Type is a JSON patch (RFC 6902), a merge patch (RFC 7386), a strategic
	// merge patch, only for Kubernetes' own kinds, or a server-side apply, whose
	// Data is JSON here.
	Type types.PatchType
	Data []byte
	// Sub is empty, SubStatus or SubScale.
	Sub string
	// Force takes fields from other managers in a server-side apply.
	Force bool
}

// PatchWith changes an object. When somebody else changed it meanwhile the
// patch is applied anew; only a resourceVersion in the patch is a precondition.
func (c *Client) PatchWith(ctx context.Context, key object.Key, p Patch, w WriteOptions) (Outcome, error) {
	k, ok := c.r.Lookup(key.Group, key.Kind)
	if !ok {
		return Outcome{}, apierrors.NewBadRequest(fmt.Sprintf("kind %q is not served", key.Kind))
	}
	if p.Type == types.ApplyYAMLPatchType {
		return c.one(ctx, func(t *tx) (outcome, error) { return t.apply(k, key, p, w) }, w.DryRun)
	}
	return c.one(ctx, func(t *tx) (outcome, error) {
		live, ok := t.get(key)
		if !ok {
			return outcome{}, notFound(k, key.Name)
		}
		next, err := p.apply(k, live)
		if err != nil {
			return outcome{}, err
		}
		if next.Key() != key || next.APIVersion() != live.APIVersion() {
			return outcome{}, invalid(k, key.Name, problem(api.CodeImmutable, ".metadata.name", "a patch cannot change what an object is: it would be %s in %s", next.Key(), next.APIVersion()))
		}
		if p.Sub == SubStatus {
			return t.updateStatus(next, preconditions{}, w.validation())
		}
		return t.update(next, preconditions{}, w.validation())
	}, w.DryRun)
}

// apply returns the live object as changed.
func (p Patch) apply(k api.Kind, live object.Object) (object.Object, error) {
	b, err := p.applyTo(live.JSON(), k)
	if err != nil {
		return live, err
	}
	// Through the tree: of doubled names the last one counts, as everywhere.
	v, err := object.Unmarshal(b)
	if err != nil {
		return live, apierrors.NewBadRequest(err.Error())
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return live, apierrors.NewBadRequest("the patched document is no object")
	}
	if !k.Custom { // whose schema says where null is a value
		tree = dropNulls(tree).(map[string]any)
	}
	next, err := object.FromTree(tree)
	if err != nil {
		return live, apierrors.NewBadRequest(err.Error())
	}
	return next, nil
}

func (p Patch) applyTo(doc []byte, k api.Kind) ([]byte, error) {
	switch p.Type {
	case types.JSONPatchType:
		return applyJSONPatch(doc, p.Data)
	case types.MergePatchType:
		if !json.Valid(p.Data) || !strings.HasPrefix(strings.TrimSpace(string(p.Data)), "{") {
			return nil, apierrors.NewBadRequest("a merge patch is a JSON object")
		}
		b, err := jsonpatch.MergePatch(doc, p.Data)
		if err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("apply merge patch: %v", err))
		}
		return b, nil
	case types.StrategicMergePatchType:
		if k.Group == api.Group || k.Custom {
			return nil, unsupported(p.Type, "a strategic merge patch is for Kubernetes' own kinds; use application/merge-patch+json")
		}
		b, err := strategicpatch.StrategicMergePatch(doc, p.Data, k.New())
		if err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("apply strategic merge patch: %v", err))
		}
		return b, nil
	case types.ApplyYAMLPatchType:
		return nil, unsupported(p.Type, "a scale is not applied; use a merge patch")
	}
	return nil, unsupported(p.Type, "use application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json or application/apply-patch+yaml")
}

func unsupported(t types.PatchType, why string) error {
	e := apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "PATCH", anyResource, "", "", 0, false)
	e.ErrStatus.Message = fmt.Sprintf("patch type %q is not supported: %s", t, why)
	return e
}

// applyJSONPatch applies a JSON patch. Copies can double a document each; so
// its size is looked at after each of them.
func applyJSONPatch(doc, data []byte) ([]byte, error) {
	patch, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("decode JSON patch: %v", err))
	}
	if len(patch) > maxPatchOperations {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("a JSON patch holds at most %d operations, not %d", maxPatchOperations, len(patch)))
	}
	copies, start := 0, 0
	for i, o := range patch {
		if o.Kind() != "copy" && i != len(patch)-1 {
			continue
		}
		if doc, err = patch[start : i+1].Apply(doc); err != nil {
			e := apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", anyResource, "", "", 0, false)
			e.ErrStatus.Message = fmt.Sprintf("apply JSON patch: %v", err)
			return nil, e
		}
		start = i + 1
		if copies++; copies > maxPatchCopies || len(doc) > 2*maxObject {
			return nil, apierrors.NewRequestEntityTooLargeError("the JSON patch copies too much")
		}
	}
	return doc, nil
}
