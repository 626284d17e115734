package apply

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/render"
)

// maxDocuments bounds the documents of a release when unpacked, in bytes.
const maxDocuments = 64 << 20

// maxHistory is how many earlier applications a Release remembers.
const maxHistory = 20

// release is what the cluster knows of a release, and of the others.
type release struct {
	// object is the Release, zero when there is none; spec is its content.
	object object.Object
	spec   api.ReleaseSpec
	// previous are the documents as applied before, Secrets' values blank.
	previous map[object.Key]map[string]any
	// others names, by object, the other release that holds it.
	others map[object.Key]string
	// revision is the cluster's when this was read.
	revision uint64
}

// readRelease reads all releases and picks the named one.
func readRelease(ctx context.Context, c api.Client, o Options) (*release, error) {
	list, err := c.List(ctx, api.ReleaseKind, api.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("read releases: %w", err)
	}
	r := &release{previous: map[object.Key]map[string]any{}, others: map[object.Key]string{}, revision: list.Revision}
	for _, item := range list.Items {
		decoded, err := api.Decode[api.Release](item)
		if err != nil {
			return nil, err
		}
		if item.Name() == o.Release && item.Namespace() == o.Namespace {
			r.object, r.spec = item, decoded.Spec
			continue
		}
		for _, i := range decoded.Spec.Inventory {
			r.others[itemKey(i)] = item.Namespace() + "/" + item.Name()
		}
	}
	docs, err := unpack(r.spec.Documents)
	if err != nil {
		return nil, fmt.Errorf("read release %s/%s: %w", o.Namespace, o.Release, err)
	}
	for _, d := range docs {
		r.previous[d.Key()] = d.Tree()
	}
	return r, nil
}

// uid returns the UID under which the release's inventory holds an object.
func (r *release) uid(k object.Key) string {
	for _, i := range r.spec.Inventory {
		if itemKey(i) == k {
			return i.UID
		}
	}
	return ""
}

func itemKey(i api.InventoryItem) object.Key {
	return object.Key{Group: i.Group, Kind: i.Kind, Namespace: i.Namespace, Name: i.Name}
}

// record makes the Release object that tells of the plan's application, or nil
// when the present one tells it already. The time is set when it happens.
func (r *release) record(b *render.Bundle, o Options, objects []ObjectPlan) (*Record, error) {
	docs, err := pack(b)
	if err != nil {
		return nil, err
	}
	spec := api.ReleaseSpec{
		Digest:    b.Digest,
		AppliedBy: o.By,
		Inputs:    publicInputs(b),
		Documents: docs,
		Revision:  r.spec.Revision + 1,
		History:   r.spec.History,
	}
	for _, p := range objects {
		if p.Action == Delete {
			continue
		}
		item := api.InventoryItem{Group: p.Key.Group, Kind: p.Key.Kind, Namespace: p.Key.Namespace, Name: p.Key.Name}
		if p.Base != nil && p.Action != Replace {
			item.UID = p.Base.UID
		}
		if p.Pos.IsValid() {
			item.Origin = p.Pos.String()
		}
		spec.Inventory = append(spec.Inventory, item)
	}
	rec := &Record{}
	if !r.object.IsZero() {
		if r.tells(spec, objects) {
			return nil, nil
		}
		rec.UID, rec.ResourceVersion = r.object.Meta().UID, r.object.Meta().ResourceVersion
		spec.History = append([]api.ReleaseHistory{{
			Revision: r.spec.Revision, Digest: r.spec.Digest, AppliedAt: r.spec.AppliedAt, AppliedBy: r.spec.AppliedBy,
		}}, spec.History...)
		spec.History = spec.History[:min(len(spec.History), maxHistory)]
	}
	rec.Object, err = encodeRelease(r.object, o.Namespace, o.Release, spec)
	if err != nil {
		return nil, err
	}
	return rec, nil
}

// tells reports whether the present Release says all that spec says.
func (r *release) tells(spec api.ReleaseSpec, objects []ObjectPlan) bool {
	for _, p := range objects {
		if p.Action != Unchanged {
			return false
		}
	}
	return r.spec.Digest == spec.Digest &&
		slices.Equal(r.spec.Inventory, spec.Inventory) &&
		maps.Equal(r.spec.Inputs, spec.Inputs)
}

// encodeRelease makes a Release with the given content. Labels and the like of
// the present one stay.
func encodeRelease(present object.Object, namespace, name string, spec api.ReleaseSpec) (object.Object, error) {
	typed := &api.Release{Spec: spec}
	if !present.IsZero() {
		old, err := api.Decode[api.Release](present)
		if err != nil {
			return object.Object{}, err
		}
		typed.Labels, typed.Annotations = old.Labels, old.Annotations
	}
	typed.ObjectMeta.Namespace, typed.ObjectMeta.Name = namespace, name
	return api.Encode(api.ReleaseKind, typed)
}

// stamped returns the Release to send with the time of its application.
func (r *Record) stamped(now metav1.Time) (object.Object, error) {
	typed, err := api.Decode[api.Release](r.Object)
	if err != nil {
		return object.Object{}, err
	}
	typed = typed.DeepCopy()
	typed.Spec.AppliedAt = now
	return api.Encode(api.ReleaseKind, typed)
}

// pack encodes the documents for a Release: the values of Secrets are blank,
// since only the names of their keys matter later.
func pack(b *render.Bundle) ([]byte, error) {
	docs := make([]map[string]any, len(b.Documents))
	for i, d := range b.Documents {
		docs[i] = d.Object.Tree()
		if isSecret(d.Object.Key()) {
			docs[i] = hide(foldStringData(docs[i]), func(string) string { return "" })
		}
	}
	text, err := object.Marshal(docs)
	if err != nil {
		return nil, err
	}
	if len(text) > maxDocuments {
		return nil, fmt.Errorf("the documents take %d bytes, more than the %d that a release can hold", len(text), maxDocuments)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func unpack(packed []byte) ([]object.Object, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack documents: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, maxDocuments+1))
	if err != nil {
		return nil, fmt.Errorf("unpack documents: %w", err)
	}
	if len(text) > maxDocuments {
		return nil, fmt.Errorf("unpack documents: more than %d bytes", maxDocuments)
	}
	var docs []object.Object
	if err := json.Unmarshal(text, &docs); err != nil {
		return nil, fmt.Errorf("unpack documents: %w", err)
	}
	return docs, nil
}

// publicInputs are the bundle's inputs, without those that became the value of
// a Secret.
func publicInputs(b *render.Bundle) map[string]string {
	secret := map[string]bool{}
	for _, d := range b.Documents {
		if isSecret(d.Object.Key()) {
			secretValues(d.Object.Tree(), secret)
		}
	}
	out := maps.Clone(b.Inputs)
	for name, value := range out {
		if secret[strings.TrimSpace(value)] {
			out[name] = "(secret)"
		}
	}
	return out
}

// fillUIDs completes the inventory of the Release just written, which could
// not know the UIDs of what was created beside it. It is a second write: when
// it fails, the next application completes the inventory.
func fillUIDs(ctx context.Context, c api.Client, written object.Object, objects []object.Object) (object.Object, error) {
	typed, err := api.Decode[api.Release](written)
	if err != nil {
		return written, err
	}
	typed = typed.DeepCopy()
	missing := false
	for i := range typed.Spec.Inventory {
		item := &typed.Spec.Inventory[i]
		if item.UID != "" {
			continue
		}
		for _, o := range objects {
			if o.Key() == itemKey(*item) {
				item.UID, missing = o.Meta().UID, true
			}
		}
	}
	if !missing {
		return written, nil
	}
	next, err := api.Encode(api.ReleaseKind, typed)
	if err != nil {
		return written, err
	}
	return c.Update(ctx, next)
}

// get reads one object; a zero object means that there is none.
func get(ctx context.Context, c api.Client, k object.Key) (object.Object, error) {
	o, err := c.Get(ctx, k)
	if apierrors.IsNotFound(err) {
		return object.Object{}, nil
	}
	if err != nil {
		return object.Object{}, fmt.Errorf("read %s: %w", k, err)
	}
	return o, nil
}
