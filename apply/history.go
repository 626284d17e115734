package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// Revision is one application of a release that is remembered.
type Revision struct {
	*api.ReleaseRevision
	object object.Object
}

// History lists the applications of a release that are remembered, newest
// first.
func History(ctx context.Context, c api.Client, namespace, release string) ([]Revision, error) {
	list, err := c.List(ctx, api.RevisionKind, api.ListOptions{Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("read the history of release %s/%s: %w", namespace, release, err)
	}
	var out []Revision
	for _, o := range list.Items {
		r, err := api.Decode[api.ReleaseRevision](o)
		if err != nil {
			return nil, err
		}
		if r.Spec.Release == release {
			out = append(out, Revision{r, o})
		}
	}
	slices.SortFunc(out, func(a, b Revision) int { return cmp.Compare(b.Spec.Revision, a.Spec.Revision) })
	return out, nil
}

// Find returns one revision of a history; number 0 is the one before the
// newest.
func Find(history []Revision, number int64) (Revision, error) {
	if number == 0 {
		if len(history) < 2 {
			return Revision{}, diag.List{{Code: "REVISION", Message: "there is no revision before the present one", Hint: "see 'writ history'"}}
		}
		return history[1], nil
	}
	for _, r := range history {
		if r.Spec.Revision == number {
			return r, nil
		}
	}
	return Revision{}, diag.List{{Code: "REVISION", Message: fmt.Sprintf("revision %d is not remembered", number), Hint: "see 'writ history'"}}
}

// Bundle is the documents of a revision. Those of Secrets have no values, and
// all have no source positions.
func (r Revision) Bundle() (*render.Bundle, error) {
	docs, err := unpack(r.Spec.Documents)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r.Name, err)
	}
	b := render.FromObjects(docs)
	b.Digest, b.Inputs = r.Spec.Digest, r.Spec.Inputs
	return b, nil
}

// Forget removes a release's record and history in one transaction. Its objects
// are left alone.
func Forget(ctx context.Context, c api.Client, namespace, name string) error {
	for range attempts {
		live, err := get(ctx, c, api.ReleaseKind.Key(namespace, name))
		if err != nil {
			return err
		}
		revisions, err := History(ctx, c, namespace, name)
		if err != nil {
			return err
		}
		var t api.Transaction
		for _, r := range revisions {
			t.Operations = append(t.Operations, api.Operation{Action: api.ActionDelete, Object: identity(r.object), UID: string(r.UID)})
		}
		if !live.IsZero() {
			t.Operations = append(t.Operations, api.Operation{Action: api.ActionDelete, Object: identity(live), UID: live.Meta().UID})
		}
		if len(t.Operations) == 0 {
			return nil
		}
		if _, err = c.Transact(ctx, t); err == nil || !overtaken(err) {
			return err
		}
	}
	return fmt.Errorf("forget release %s/%s: %w", namespace, name, errMoved)
}
