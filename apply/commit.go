package apply

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/apply/secret"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/diff"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// CommitOptions refine Apply.
type CommitOptions struct {
	// Bundle is what the plan was made of. A plan that was read from a file
	// needs it when it holds Secrets.
	Bundle *render.Bundle
	// AllowDeletes is how many objects may be deleted. Where it is 0, a plan is
	// refused that deletes everything, or more than half of many; where it is
	// negative, none is.
	AllowDeletes int
	// KeepRevisions is how many applications are remembered; 10 when 0.
	KeepRevisions int
	// Patience is how long a lost server is waited for to learn what became of
	// a commit; 30 seconds when 0.
	Patience time.Duration
}

// Result is a committed plan. Objects are those that the plan created or
// changed, as committed.
type Result struct {
	// Revision is the cluster's, Release the release's.
	Revision uint64
	Release  int64
	Objects  []object.Object
}

// Apply commits p as one transaction. A StaleError means that the cluster has
// moved since and nothing was written.
func Apply(ctx context.Context, c api.Client, p *Plan, o CommitOptions) (*Result, error) {
	if b := o.Bundle; b != nil && b.Digest != p.Digest {
		return nil, diag.List{{Code: "STALE", Message: fmt.Sprintf("the plan is for bundle %s, but the bundle is %s", p.Digest, b.Digest), Hint: "plan again"}}
	}
	if err := p.refused(); err != nil {
		return nil, err
	}
	if err := p.guard(o.AllowDeletes); err != nil {
		return nil, err
	}
	if err := p.belongs(ctx, c); err != nil {
		return nil, err
	}
	transaction := rand.Text()
	var cm *commit
	var last error
	for range attempts {
		var err error
		if cm, err = prepare(ctx, c, p, o, transaction); err != nil {
			return nil, err
		}
		if len(cm.ops) == 0 {
			return &Result{Revision: p.Revision}, nil
		}
		if err := cm.prove(ctx); err != nil {
			return nil, err
		}
		// Whoever interrupts a commit gets its answer: without, nobody would know.
		res, err := c.Transact(context.WithoutCancel(ctx), api.Transaction{Operations: cm.ops})
		switch {
		case err == nil:
			return cm.done(res)
		case unanswered(err):
			return cm.findOut(ctx, err)
		case !overtaken(err):
			return nil, refusal(err, cm.items)
		}
		// Somebody was faster: look again at what they did.
		last = err
	}
	return nil, refusal(last, cm.items)
}

// prepare reads the cluster and makes the operations. What has moved is read
// twice: a commit between the reads would show in one part only, and then it
// could not be told whose it was.
func prepare(ctx context.Context, c api.Client, p *Plan, o CommitOptions, transaction string) (cm *commit, err error) {
	for range 2 {
		cm = &commit{client: c, live: newReader(c), plan: p, options: o, transaction: transaction}
		var stale *StaleError
		if err = cm.prepare(ctx); !errors.As(err, &stale) {
			break
		}
	}
	return cm, err
}

// belongs refuses a plan that was made for another cluster.
func (p *Plan) belongs(ctx context.Context, c api.Client) error {
	if p.Cluster == "" {
		return nil
	}
	id, err := clusterID(ctx, c)
	if err != nil || id == "" || id == p.Cluster {
		return err
	}
	return diag.List{{Code: "FOREIGN", Message: fmt.Sprintf("the plan was made for another cluster: for %s, and this is %s", p.Cluster, id), Hint: "choose the cluster with --kubeconfig, or plan again"}}
}

// manyDeletes is how many deletions are many.
const manyDeletes = 10

// guard refuses to delete most of a release by mistake.
func (p *Plan) guard(allowed int) error {
	deletes, all := p.Count(Delete), len(p.Keys()) == 0
	switch {
	case allowed < 0 || deletes == 0 || deletes <= allowed:
		return nil
	case allowed == 0 && !all && (deletes <= manyDeletes || 2*deletes <= p.Held):
		return nil
	}
	return diag.List{{
		Code: "DELETES", Message: fmt.Sprintf("the plan deletes %d of the %d objects of release %s/%s; nothing was applied", deletes, p.Held, p.Namespace, p.Release),
		Hint: fmt.Sprintf("if that is meant, apply with --allow-deletes %d", deletes),
	}}
}

// overtaken reports whether a precondition failed at commit.
func overtaken(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// commit is one attempt to commit a plan.
type commit struct {
	client      api.Client
	live        *reader
	plan        *Plan
	options     CommitOptions
	transaction string
	release     *release
	ops         []api.Operation
	// items has, for every operation, what it belongs to.
	items []*item
	moved []Moved
	proof []*item
}

// prepare compares the cluster with the plan and makes the operations.
func (cm *commit) prepare(ctx context.Context) error {
	var err error
	if cm.release, err = readRelease(ctx, cm.client, Options{Release: cm.plan.Release, Namespace: cm.plan.Namespace}); err != nil {
		return err
	}
	var keys []object.Key
	for _, o := range cm.plan.Objects {
		keys = append(keys, o.Key)
	}
	if err := cm.live.expect(ctx, keys); err != nil {
		return err
	}
	docs := map[object.Key]render.Document{}
	if cm.options.Bundle != nil {
		for _, d := range cm.options.Bundle.Documents {
			docs[d.Object.Key()] = d
		}
	}
	for _, o := range cm.plan.Objects {
		if err := cm.object(ctx, o, docs[o.Key]); err != nil {
			return err
		}
	}
	if err := cm.records(ctx); err != nil {
		return err
	}
	if len(cm.moved) > 0 {
		return &StaleError{Moved: cm.moved}
	}
	return nil
}

// object checks one object and adds its operations, with the live object's
// present version as precondition: a moved version is fine as long as nothing
// but the status moved.
func (cm *commit) object(ctx context.Context, o ObjectPlan, doc render.Document) error {
	kind, ok := api.Lookup(o.Key.Group, o.Key.Kind)
	if !ok {
		return fmt.Errorf("read plan: the kind of %s is not served", o.Key)
	}
	if err := o.check(); err != nil {
		return err
	}
	live, err := cm.live.get(ctx, o.Key)
	if err != nil {
		return err
	}
	switch {
	case o.Base == nil && live.IsZero():
	case o.Base == nil:
		cm.moved = append(cm.moved, Moved{Key: o.Key, What: "was created", By: cm.release.author(live, "")})
		return nil
	case live.IsZero():
		cm.moved = append(cm.moved, Moved{Key: o.Key, What: "was deleted"})
		return nil
	case live.Meta().UID != o.Base.UID:
		cm.moved = append(cm.moved, Moved{Key: o.Key, What: "was deleted and created anew", By: cm.release.author(live, "")})
		return nil
	default:
		if drifted, err := cm.drift(kind, &o, live); drifted || err != nil {
			return err
		}
	}
	if o.Sealed {
		if o.Object, err = cm.unseal(kind, o, live, doc); err != nil {
			return err
		}
	}
	it := &item{ObjectPlan: o, kind: kind, live: live, origin: doc.Origin}
	cm.proof = append(cm.proof, it)
	for _, op := range o.operations() {
		cm.ops, cm.items = append(cm.ops, op), append(cm.items, it)
	}
	return nil
}

// drift records what differs between the live object and the one planned
// against. Marks that controllers put on their objects are carried over.
func (cm *commit) drift(kind api.Kind, o *ObjectPlan, live object.Object) (bool, error) {
	if live.Meta().ResourceVersion == o.Base.ResourceVersion {
		return false, nil
	}
	by := func(path string) string { return cm.release.author(live, path) }
	if secret.Is(o.Key) {
		cm.moved = append(cm.moved, Moved{Key: o.Key, What: "was changed", By: by(".data")})
		return true, nil
	}
	if live.Meta().DeletionTimestamp != "" {
		cm.moved = append(cm.moved, Moved{Key: o.Key, What: "was marked for deletion"})
		return true, nil
	}
	base, _ := splitMarks(own(kind, o.Base.Object.Tree()))
	now, marks := splitMarks(own(kind, live.Tree()))
	if changes := diff.Compare(kind, base, now); len(changes) > 0 {
		cm.moved = append(cm.moved, Moved{Key: o.Key, What: "was changed", Deltas: deltas(kind, o, changes, by)})
		return true, nil
	}
	o.Base = &Base{UID: o.Base.UID, ResourceVersion: live.Meta().ResourceVersion, Object: o.Base.Object}
	if o.Action != Update {
		return false, nil
	}
	tree, _ := splitMarks(o.Object.Tree())
	var err error
	o.Object, err = withAnnotations(tree, marks)
	return false, err
}

// splitMarks takes the annotations out of a tree by which controllers keep
// their books on the objects they work for.
func splitMarks(tree map[string]any) (rest, marks map[string]any) {
	meta, _ := tree["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	marks = map[string]any{}
	kept := map[string]any{}
	for name, v := range annotations {
		if strings.HasPrefix(name, "deployment.kubernetes.io/") {
			marks[name] = v
		} else {
			kept[name] = v
		}
	}
	if len(marks) == 0 {
		return tree, marks
	}
	return with(tree, "metadata", with(meta, "annotations", kept)), marks
}

func withAnnotations(tree, values map[string]any) (object.Object, error) {
	if len(values) > 0 {
		meta, _ := tree["metadata"].(map[string]any)
		annotations, _ := meta["annotations"].(map[string]any)
		for name, v := range values {
			annotations = with(annotations, name, v)
		}
		tree = with(tree, "metadata", with(meta, "annotations", annotations))
	}
	return object.FromTree(tree)
}

// unseal makes a Secret to send from the bundle again.
func (cm *commit) unseal(kind api.Kind, o ObjectPlan, live object.Object, doc render.Document) (object.Object, error) {
	if cm.options.Bundle == nil {
		return object.Object{}, diag.List{{
			Code: "SEALED", Object: o.Key.String(),
			Message: "the plan does not hold the values of Secrets, so it cannot be applied by itself",
			Hint:    "give the directory it was made from as well",
		}}
	}
	if doc.Object.IsZero() {
		return object.Object{}, errors.New("apply: the bundle lacks " + o.Key.String())
	}
	previous := cm.release.previous[o.Key]
	if h := cm.release.others[o.Key]; h != nil {
		previous = h.document(o.Key)
	}
	if o.Action == Replace {
		live = object.Object{}
	}
	return desired(kind, previous, doc.Object, live)
}

// done takes the result of a committed transaction.
func (cm *commit) done(res *api.TransactionResult) (*Result, error) {
	if len(res.Objects) != len(cm.items) {
		return nil, fmt.Errorf("apply: committed at revision %d, but the server answered %d operations with %d objects", res.Revision, len(cm.items), len(res.Objects))
	}
	out := &Result{Revision: res.Revision}
	for i, o := range res.Objects {
		switch it := cm.items[i]; {
		case it.kind.GVK() == api.ReleaseKind.GVK() && o.Name() == cm.plan.Release && o.Namespace() == cm.plan.Namespace:
			r, err := api.Decode[api.Release](o)
			if err != nil {
				return nil, err
			}
			out.Release = r.Spec.Revision
		case isRecord(it.kind):
		case it.Action != Delete && !isDeletion(cm.items, i):
			out.Objects = append(out.Objects, o)
		}
	}
	return out, nil
}

func isRecord(k api.Kind) bool {
	return k.GVK() == api.ReleaseKind.GVK() || k.GVK() == api.RevisionKind.GVK()
}

func timestamp() metav1.Time { return metav1.NewTime(time.Now().UTC().Truncate(time.Second)) }
