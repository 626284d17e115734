package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// Scale reads an object's scale subresource.
func (c *Client) Scale(ctx context.Context, key object.Key) (*autoscalingv1.Scale, error) {
	o, err := c.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	return c.r.scaleOf(o), nil
}

func (r *Registry) scaleOf(o object.Object) *autoscalingv1.Scale {
	m := o.Meta()
	s := &autoscalingv1.Scale{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, UID: types.UID(m.UID), ResourceVersion: m.ResourceVersion},
	}
	_ = s.CreationTimestamp.UnmarshalQueryParameter(m.CreationTimestamp)
	tree := o.Tree()
	if k, ok := r.Customs().Lookup(o.Group(), o.Kind()); ok && k.Scale {
		k.ReadScale(tree, s)
		return s
	}
	spec := child(tree, "spec")
	s.Spec.Replicas = int32(number(spec["replicas"]))
	s.Status.Replicas = int32(number(child(tree, "status")["replicas"]))
	var sel metav1.LabelSelector
	if b, err := json.Marshal(spec["selector"]); err == nil && json.Unmarshal(b, &sel) == nil {
		s.Status.Selector = metav1.FormatLabelSelector(&sel)
	}
	return s
}

// UpdateScale changes how many replicas an object asks for. edit is given the
// present scale and returns the one wanted.
func (c *Client) UpdateScale(ctx context.Context, key object.Key, w WriteOptions, edit func(*autoscalingv1.Scale) (*autoscalingv1.Scale, error)) (*autoscalingv1.Scale, []string, error) {
	k, ok := c.r.Lookup(key.Group, key.Kind)
	if !ok || !k.Scale {
		return nil, nil, apierrors.NewMethodNotSupported(resourceOf(k), "scale")
	}
	out, err := c.one(ctx, func(t *tx) (outcome, error) {
		live, ok := t.get(key)
		if !ok {
			return outcome{}, notFound(k, key.Name)
		}
		want, err := edit(c.r.scaleOf(live))
		if err != nil {
			return outcome{}, err
		}
		if want.Name != "" && want.Name != key.Name {
			return outcome{}, apierrors.NewBadRequest(fmt.Sprintf("the scale's name %q is not %q", want.Name, key.Name))
		}
		if want.Spec.Replicas < 0 {
			return outcome{}, invalid(k, key.Name, problem(api.CodeInvalid, ".spec.replicas", "must be greater than or equal to 0"))
		}
		if err := t.check(k, live, preconditions{uid: string(want.UID), resourceVersion: want.ResourceVersion}); err != nil {
			return outcome{}, err
		}
		tree := live.Tree()
		if k.Custom {
			kind, err := t.custom(k)
			if err != nil {
				return outcome{}, err
			}
			kind.WriteScale(tree, want.Spec.Replicas)
		} else {
			child(tree, "spec")["replicas"] = json.Number(strconv.Itoa(int(want.Spec.Replicas)))
		}
		next, err := object.FromTree(tree)
		if err != nil {
			return outcome{}, apierrors.NewInternalError(err)
		}
		return t.updateManaged(next, preconditions{}, Strict, t.manage(SubScale))
	}, w.DryRun)
	if err != nil {
		return nil, nil, err
	}
	return c.r.scaleOf(out.Object), out.Warnings, nil
}

// PatchScale applies a patch to the scale subresource.
func (c *Client) PatchScale(ctx context.Context, key object.Key, p Patch, w WriteOptions) (*autoscalingv1.Scale, []string, error) {
	return c.UpdateScale(ctx, key, w, func(s *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
		doc, err := json.Marshal(s)
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		// A Scale has no list: merging it strategically is merging it.
		if p.Type == types.StrategicMergePatchType {
			p.Type = types.MergePatchType
		}
		if doc, err = p.applyTo(doc, api.Kind{Group: api.Group}); err != nil {
			return nil, err
		}
		next := new(autoscalingv1.Scale)
		if err := json.Unmarshal(doc, next); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("decode scale: %v", err))
		}
		if next.ResourceVersion == s.ResourceVersion {
			next.ResourceVersion = ""
		}
		return next, nil
	})
}
