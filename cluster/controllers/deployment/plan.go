package deployment

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/controller"
)

// decision is the next step of a rollout.
type decision struct {
	// create is the present template's ReplicaSet when there was none.
	create *appsv1.ReplicaSet
	// update are ReplicaSets that change, remove those that history forgets.
	update []*appsv1.ReplicaSet
	remove []set
	// revision is the Deployment's; 0 when it has no ReplicaSet.
	revision int64
	status   appsv1.DeploymentStatus
	events   []string
	// again is when to look again though nothing has changed; 0 is never.
	again time.Duration
	err   error
}

// plan decides from in alone.
func plan(in input) *decision {
	p := &decision{}
	d := in.deployment
	present, old := sortSets(d, in.sets)
	scales := step(in, present, old)
	reason := ""
	switch {
	case present == nil && !d.Spec.Paused && (d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType || !waiting(in, old)):
		if p.create, p.err = newSet(in, old, scales.present); p.err != nil {
			return p
		}
		p.revision = revision(p.create)
		p.scaled("up", p.create.Name, 0, scales.present)
		reason = reasonCreated
	case present != nil:
		rev := int64(0)
		if last := lastRevision(old); revision(present.ReplicaSet) <= last && !d.Spec.Paused {
			rev = last + 1
			reason = reasonFound
		} else if revision(present.ReplicaSet) == 0 {
			rev = 1
		}
		rs := p.change(d, present, scales.present, rev)
		p.revision = revision(rs)
	}
	for i := range old {
		p.change(d, &old[i], scales.old[i], 0)
	}
	p.status, p.again = status(in, present, old, reason)
	if p.create == nil && !d.Spec.Paused && complete(d, &p.status) {
		p.remove = forgotten(d, old)
	}
	return p
}

// waiting reports whether Recreate must not start pods of the new template.
func waiting(in input, old []set) bool {
	return in.oldPods || slices.ContainsFunc(old, func(s set) bool { return replicas(s) > 0 || s.Status.Replicas > 0 })
}

// change scales and annotates a ReplicaSet, if that changes anything.
func (p *decision) change(d *appsv1.Deployment, s *set, n int, rev int64) *appsv1.ReplicaSet {
	rs := s.DeepCopy()
	was := replicas(*s)
	if n != was {
		m := int32(n)
		rs.Spec.Replicas = &m
		if n > was {
			p.scaled("up", s.Name, was, n)
		} else {
			p.scaled("down", s.Name, was, n)
		}
	}
	annotated := (n > 0 || rev != 0) && annotate(rs, d, rev)
	minReady := rev != 0 || n > 0
	if minReady && rs.Spec.MinReadySeconds != d.Spec.MinReadySeconds {
		rs.Spec.MinReadySeconds = d.Spec.MinReadySeconds
		annotated = true
	}
	if n != was || annotated {
		p.update = append(p.update, rs)
	}
	return rs
}

func (p *decision) scaled(way, name string, from, to int) {
	if from != to {
		p.events = append(p.events, fmt.Sprintf("Scaled %s replica set %s from %d to %d", way, name, from, to))
	}
}

// newSet makes the ReplicaSet of the present template.
func newSet(in input, old []set, n int) (*appsv1.ReplicaSet, error) {
	d := in.deployment
	hash, err := templateHash(&d.Spec.Template, d.Status.CollisionCount)
	if err != nil {
		return nil, err
	}
	labels := maps.Clone(d.Spec.Template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	selector := d.Spec.Selector.DeepCopy()
	if selector == nil {
		selector = &metav1.LabelSelector{}
	}
	if selector.MatchLabels == nil {
		selector.MatchLabels = map[string]string{}
	}
	selector.MatchLabels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	count := int32(n)
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: d.Name + "-" + hash, Namespace: d.Namespace, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{controller.ControllerReference(api.Deployment, in.object)},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &count, MinReadySeconds: d.Spec.MinReadySeconds, Selector: selector,
			Template: *d.Spec.Template.DeepCopy(),
		},
	}
	rs.Spec.Template.Labels = maps.Clone(labels)
	annotate(rs, d, lastRevision(old)+1)
	return rs, nil
}

// forgotten returns the empty ReplicaSets beyond revisionHistoryLimit.
func forgotten(d *appsv1.Deployment, old []set) []set {
	limit := 10
	if d.Spec.RevisionHistoryLimit != nil {
		limit = int(*d.Spec.RevisionHistoryLimit)
	}
	var empty []set
	for _, s := range old {
		if replicas(s) == 0 && s.Status.Replicas == 0 && s.Status.ObservedGeneration >= s.Generation {
			empty = append(empty, s)
		}
	}
	slices.SortStableFunc(empty, func(a, b set) int { return int(revision(a.ReplicaSet) - revision(b.ReplicaSet)) })
	return empty[:max(0, len(empty)-limit)]
}

// operations puts the decision into one transaction.
func (p *decision) operations(in input) ([]api.Operation, error) {
	if p.err != nil {
		return nil, p.err
	}
	var ops []api.Operation
	if p.create != nil {
		op, err := controller.CreateOperation(api.ReplicaSet, p.create)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	for _, rs := range p.update {
		op, err := controller.UpdateOperation(api.ReplicaSet, rs)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	for _, s := range p.remove {
		op := controller.DeleteOperation(s.object)
		op.ResourceVersion = s.object.Meta().ResourceVersion
		ops = append(ops, op)
	}
	if rev := strconv.FormatInt(p.revision, 10); p.revision != 0 && in.deployment.Annotations[revisionAnnotation] != rev {
		d := in.deployment.DeepCopy()
		if d.Annotations == nil {
			d.Annotations = map[string]string{}
		}
		d.Annotations[revisionAnnotation] = rev
		op, err := controller.UpdateOperation(api.Deployment, d)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	op, changed, err := controller.StatusOperation(in.object, p.status)
	if err != nil {
		return nil, err
	}
	if changed {
		ops = append(ops, op)
	}
	return ops, nil
}
