package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/render"
)

// handover is a release from which objects may be taken over.
type handover struct {
	// object is the Release, zero when there is none; spec is its content.
	object object.Object
	spec   api.ReleaseSpec
}

func (h *handover) name() string { return h.object.Namespace() + "/" + h.object.Name() }

// document is what the release applied as k, or nil.
func (h *handover) document(k object.Key) map[string]any {
	docs, err := unpack(h.spec.Documents)
	if err != nil {
		return nil // then fields that it no longer writes stay
	}
	for _, d := range docs {
		if d.Key() == k {
			return d.Tree()
		}
	}
	return nil
}

// without is the Release when the plan has taken its objects over.
func (h *handover) without(plan *Plan) (*Record, error) {
	taken := map[object.Key]bool{}
	for _, o := range plan.Objects {
		taken[o.Key] = o.From == h.name()
	}
	spec := h.spec
	spec.Inventory = slices.DeleteFunc(slices.Clone(spec.Inventory), func(i api.InventoryItem) bool { return taken[itemKey(i)] })
	o, err := encodeRelease(h.object, h.object.Namespace(), h.object.Name(), spec)
	if err != nil {
		return nil, err
	}
	return &Record{UID: h.object.Meta().UID, ResourceVersion: h.object.Meta().ResourceVersion, Object: o}, nil
}

// release is what the cluster knows of a release, and of the others.
type release struct {
	handover
	// uids are those of the inventory.
	uids map[object.Key]string
	// previous are the documents as applied before, Secrets' values blank.
	previous map[object.Key]map[string]any
	// others has, by object, the other release that holds it.
	others map[object.Key]*handover
	// revision is the cluster's when this was read.
	revision uint64
}

// readRelease reads all releases and picks the named one.
func readRelease(ctx context.Context, c api.Client, o Options) (*release, error) {
	list, err := c.List(ctx, api.ReleaseKind, api.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("read releases: %w", err)
	}
	r := &release{
		uids: map[object.Key]string{}, previous: map[object.Key]map[string]any{},
		others: map[object.Key]*handover{}, revision: list.Revision,
	}
	for _, item := range list.Items {
		decoded, err := api.Decode[api.Release](item)
		if err != nil {
			return nil, err
		}
		if item.Name() == o.Release && item.Namespace() == o.Namespace {
			r.object, r.spec = item, decoded.Spec
			continue
		}
		h := &handover{item, decoded.Spec}
		for _, i := range decoded.Spec.Inventory {
			r.others[itemKey(i)] = h
		}
	}
	for _, i := range r.spec.Inventory {
		r.uids[itemKey(i)] = i.UID
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

// holds reports whether a live object is in the release's inventory: this very
// one, and not one of the same name.
func (r *release) holds(live object.Object) bool {
	uid, ok := r.uids[live.Key()]
	return ok && uid == live.Meta().UID
}

func itemKey(i api.InventoryItem) object.Key {
	return object.Key{Group: i.Group, Kind: i.Kind, Namespace: i.Namespace, Name: i.Name}
}

// record makes the Release object that tells of the plan's application, or nil
// when the present one tells it already. The time is set when it happens.
func (r *release) record(b *render.Bundle, o Options, plan *Plan) (*Record, error) {
	docs, err := pack(b)
	if err != nil {
		return nil, err
	}
	spec := api.ReleaseSpec{Application: api.Application{
		Revision: r.spec.Revision + 1, Digest: b.Digest, AppliedBy: o.By, Source: o.Source,
		Inputs: publicInputs(b), Documents: docs, Rollback: o.Rollback, Summary: plan.counts(),
	}}
	for _, p := range plan.Objects {
		if p.Action == Delete || p.Action == Orphan {
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
		if plan.Empty() && len(plan.Others) == 0 && r.tells(spec) {
			return nil, nil
		}
		rec.UID, rec.ResourceVersion = r.object.Meta().UID, r.object.Meta().ResourceVersion
	}
	rec.Object, err = encodeRelease(r.object, o.Namespace, o.Release, spec)
	if err != nil {
		return nil, err
	}
	return rec, nil
}

// tells reports whether the present Release says all that spec says. Of which
// sources the same documents are is no news.
func (r *release) tells(spec api.ReleaseSpec) bool {
	return r.spec.Digest == spec.Digest &&
		slices.Equal(r.spec.Inventory, spec.Inventory) &&
		maps.Equal(r.spec.Inputs, spec.Inputs)
}

// counts is the plan's summary for the record.
func (p *Plan) counts() api.PlanSummary {
	return api.PlanSummary{
		Created: p.Count(Create), Changed: p.Count(Update), Replaced: p.Count(Replace), Deleted: p.Count(Delete), Orphaned: p.Count(Orphan),
		Opened: len(p.Opened), Closed: len(p.Closed),
	}
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

// stamped returns the Release to send with the time of its application and the
// mark of its transaction, and the ReleaseRevision that goes with it.
func (r *Record) stamped(now metav1.Time, transaction string) (release, revision object.Object, err error) {
	typed, err := api.Decode[api.Release](r.Object)
	if err != nil {
		return release, revision, err
	}
	typed = typed.DeepCopy()
	typed.Spec.AppliedAt, typed.Spec.Transaction = now, transaction
	if release, err = api.Encode(api.ReleaseKind, typed); err != nil {
		return release, revision, err
	}
	rev := &api.ReleaseRevision{Spec: api.ReleaseRevisionSpec{Release: typed.Name, Application: typed.Spec.Application}}
	rev.Namespace, rev.Name = typed.Namespace, revisionName(typed.Name, typed.Spec.Revision)
	revision, err = api.Encode(api.RevisionKind, rev)
	return release, revision, err
}

func revisionName(release string, revision int64) string {
	return fmt.Sprintf("%s.%d", release, revision)
}
