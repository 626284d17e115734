package access

import (
	"testing"

	"github.com/writ-dev/writ/cluster/api"
)

// TestWorkloadOfJob follows a pod to the Job or CronJob that it acts for.
func TestWorkloadOfJob(t *testing.T) {
	const pod = `Pod run: {apiVersion: v1, kind: Pod, metadata: {name: run, namespace: d, uid: P, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: night-1, uid: J, controller: true}]}}`
	const job = `Job night-1: {apiVersion: batch/v1, kind: Job, metadata: {name: night-1, namespace: d, uid: J`
	const cron = `CronJob night: {apiVersion: batch/v1, kind: CronJob, metadata: {name: night, namespace: d, uid: C}}`
	const byCron = `, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: night, uid: C, controller: true}]}}`
	for _, c := range []struct {
		name  string
		edits []string
		want  string
	}{
		{"a Job", []string{pod, job + "}}"}, "Job/night-1"},
		{"a CronJob", []string{pod, job + byCron, cron}, "CronJob/night"},
		{"no Job", []string{pod}, ""},
		{"no CronJob", []string{pod, job + byCron}, ""},
		{"another CronJob of the name", []string{pod, job + byCron, cron, `CronJob night: {metadata: {uid: C2}}`}, ""},
		{"a controller of another kind", []string{pod, job + `, ownerReferences: [{apiVersion: example.com/v1, kind: CronJob, name: night, uid: C, controller: true}]}}`, cron}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := state(t, c.edits...)
			o, _ := s.Get(api.Pod.Key("d", "run"))
			w, ok := WorkloadOf(s, o)
			if !ok && c.want == "" {
				return
			}
			if w.String() != c.want {
				t.Errorf("acts for %q, want %q", w, c.want)
			}
		})
	}
}
