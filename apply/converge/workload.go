package converge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

func deployment(o object.Object, v View) (Status, error) {
	d, err := api.Decode[appsv1.Deployment](o)
	if err != nil {
		return Status{}, err
	}
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	s := d.Status
	moving := ""
	switch {
	case d.Spec.Paused && s.ObservedGeneration >= d.Generation:
		return Status{Stuck, "Paused", "the deployment is paused"}, nil
	case s.ObservedGeneration < d.Generation:
		moving = "waits for the cluster to take up generation " + fmt.Sprint(d.Generation)
	case s.UpdatedReplicas < want:
		moving = count(s.UpdatedReplicas, want, "of the new version exist")
	case s.Replicas > s.UpdatedReplicas:
		moving = fmt.Sprintf("%d pods of the old version are left", s.Replicas-s.UpdatedReplicas)
	case s.AvailableReplicas < want:
		moving = count(s.AvailableReplicas, want, "ready")
	default:
		return Status{Done, "", count(s.AvailableReplicas, want, "ready")}, nil
	}
	for _, c := range s.Conditions {
		switch {
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			return Status{Stuck, c.Reason, c.Message}, nil
		case c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse:
			return because(Status{Stuck, c.Reason, c.Message}, newestPods(o, v)), nil
		}
	}
	return because(Status{Moving, "Progressing", moving}, newestPods(o, v)), nil
}

// newestPods are the pods of a Deployment's newest ReplicaSet: trouble of the
// version that is being replaced is no news.
func newestPods(o object.Object, v View) []object.Object {
	sets := v.below(o.Meta().UID, "apps", "ReplicaSet")
	if len(sets) == 0 {
		return nil
	}
	newest := slices.MaxFunc(sets, func(a, b object.Object) int {
		return cmp.Or(cmp.Compare(deploymentRevision(a), deploymentRevision(b)),
			strings.Compare(a.Meta().CreationTimestamp, b.Meta().CreationTimestamp))
	})
	return v.below(newest.Meta().UID, "", "Pod")
}

// deploymentRevision is the number the Deployment controller gave a ReplicaSet.
func deploymentRevision(o object.Object) int {
	n := 0
	_, _ = fmt.Sscan(o.Meta().Annotations["deployment.kubernetes.io/revision"], &n) // 0 when there is none
	return n
}

func replicaSet(o object.Object, v View) (Status, error) {
	r, err := api.Decode[appsv1.ReplicaSet](o)
	if err != nil {
		return Status{}, err
	}
	want := int32(1)
	if r.Spec.Replicas != nil {
		want = *r.Spec.Replicas
	}
	s := r.Status
	switch {
	case s.ObservedGeneration < r.Generation:
	case s.Replicas == want && s.AvailableReplicas == want:
		return Status{Done, "", count(s.AvailableReplicas, want, "ready")}, nil
	}
	for _, c := range s.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
			return Status{Stuck, c.Reason, c.Message}, nil
		}
	}
	moving := Status{Moving, "Progressing", count(s.AvailableReplicas, want, "ready")}
	return because(moving, v.below(o.Meta().UID, "", "Pod")), nil
}

func job(o object.Object, v View) (Status, error) {
	j, err := api.Decode[batchv1.Job](o)
	if err != nil {
		return Status{}, err
	}
	want := int32(1)
	if j.Spec.Completions != nil {
		want = *j.Spec.Completions
	}
	for _, c := range j.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			return Status{Done, "Complete", count(j.Status.Succeeded, want, "succeeded")}, nil
		case batchv1.JobFailed:
			return because(Status{Stuck, c.Reason, "the job failed: " + c.Message}, v.below(o.Meta().UID, "", "Pod")), nil
		case batchv1.JobSuspended:
			return Status{Stuck, "Suspended", "the job is suspended"}, nil
		}
	}
	moving := Status{Moving, "Running", count(j.Status.Succeeded, want, "succeeded")}
	return because(moving, v.below(o.Meta().UID, "", "Pod")), nil
}

// because adds the trouble of the first troubled pod to s: a workload whose
// pod is stuck is stuck.
func because(s Status, pods []object.Object) Status {
	for _, p := range pods {
		ps, err := podStatus(p)
		if err == nil && ps.State == Stuck {
			return Status{Stuck, ps.Reason, fmt.Sprintf("%s; pod %s: %s", s.Message, p.Name(), ps.Message)}
		}
	}
	return s
}
