package access

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// podLabels returns the labels of the pods that a workload makes.
func podLabels(o object.Object) map[string]string {
	switch o.Kind() {
	case api.Pod.Kind:
		return o.Meta().Labels
	case api.Deployment.Kind:
		if d, err := api.Decode[appsv1.Deployment](o); err == nil {
			return d.Spec.Template.Labels
		}
	case api.ReplicaSet.Kind:
		if r, err := api.Decode[appsv1.ReplicaSet](o); err == nil {
			return r.Spec.Template.Labels
		}
	case api.Job.Kind:
		if j, err := api.Decode[batchv1.Job](o); err == nil {
			return j.Spec.Template.Labels
		}
	case api.CronJob.Kind:
		if c, err := api.Decode[batchv1.CronJob](o); err == nil {
			return c.Spec.JobTemplate.Spec.Template.Labels
		}
	}
	return nil
}
