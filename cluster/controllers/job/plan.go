package job

import (
	"cmp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// The delay before failed pods are replaced: firstDelay after the first
	// round of failures, then twice as long each time, up to maxDelay.
	firstDelay, maxDelay = 10 * time.Second, 6 * time.Minute
)

// input is all that a plan depends on.
type input struct {
	job  *batchv1.Job
	pods []pod
	now  time.Time
}

// decision is the next step of a Job.
type decision struct {
	status batchv1.JobStatus
	// counted are ended pods that the status now includes.
	counted []pod
	create  int
	delete  []pod
	// remove says that the Job has outlived its ttlSecondsAfterFinished.
	remove bool
	// An event of the step, if any.
	event, eventType, message string
	// again is when to look again though nothing has changed; 0 is never.
	again time.Duration
}

// plan decides from in alone.
func plan(in input) *decision {
	p := &decision{status: *in.job.Status.DeepCopy()}
	var active []pod
	terminating, ready, restarts := int32(0), int32(0), int32(0)
	for _, q := range in.pods {
		switch {
		case ended(q.Pod):
			p.count(q)
		case q.DeletionTimestamp != nil:
			terminating++
		default:
			active = append(active, q)
			restarts += restartsOf(q.Pod)
			if isReady(q.Pod) {
				ready++
			}
		}
	}
	if over := finished(in.job); over != nil {
		p.delete = active
		p.set(0, 0, terminating)
		p.expire(in, over)
		return p
	}
	if in.job.Spec.Suspend != nil && *in.job.Spec.Suspend {
		p.suspend(in, active)
		p.set(0, 0, terminating+int32(len(active)))
		return p
	}
	p.resume(in)
	switch reason, message := p.verdict(in, len(active), int(terminating), restarts); {
	case reason == reasonDone:
		p.finish(in, batchv1.JobComplete, batchv1.JobReasonCompletionsReached, message)
		p.delete = active
		p.set(0, 0, terminating+int32(len(active)))
		return p
	case reason != "":
		p.finish(in, batchv1.JobFailed, reason, message)
		p.delete = active
		p.set(0, 0, terminating+int32(len(active)))
		return p
	}
	p.scale(in, active, int(terminating))
	p.set(int32(len(active)+p.create-len(p.delete)), ready, terminating)
	return p
}

func (p *decision) set(active, ready, terminating int32) {
	p.status.Active, p.status.Ready, p.status.Terminating = active, &ready, &terminating
}

// count adds an ended pod to the status, once.
func (p *decision) count(q pod) {
	if !q.tracked() || len(p.counted) == maxBatch {
		return // The change of those counted now brings us back.
	}
	p.counted = append(p.counted, q)
	if q.Status.Phase == corev1.PodSucceeded {
		p.status.Succeeded++
	} else {
		p.status.Failed++
	}
}

// reasonDone is the verdict on a Job that has succeeded.
const reasonDone = "done"

// verdict says whether the Job is over, and why.
func (p *decision) verdict(in input, active, terminating int, restarts int32) (reason, message string) {
	limit := int32(6)
	if in.job.Spec.BackoffLimit != nil {
		limit = *in.job.Spec.BackoffLimit
	}
	if in.job.Spec.Completions != nil {
		if p.status.Succeeded >= *in.job.Spec.Completions {
			return reasonDone, "Reached expected number of succeeded pods"
		}
	} else if p.status.Succeeded > 0 && active+terminating == 0 {
		return reasonDone, "A pod has succeeded and all others have ended"
	}
	if p.status.Failed+restarts > limit {
		return batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit"
	}
	if s := in.job.Spec.ActiveDeadlineSeconds; s != nil {
		left := time.Duration(*s)*time.Second - in.now.Sub(p.status.StartTime.Time)
		if left <= 0 {
			return batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline"
		}
		p.wait(left)
	}
	return "", ""
}

// scale decides how many pods there should be.
func (p *decision) scale(in input, active []pod, terminating int) {
	want := 1
	if in.job.Spec.Parallelism != nil {
		want = int(*in.job.Spec.Parallelism)
	}
	if in.job.Spec.Completions != nil {
		want = min(want, int(*in.job.Spec.Completions-p.status.Succeeded))
	} else if p.status.Succeeded > 0 {
		want = min(want, len(active)) // The work is done; nobody new.
	}
	switch diff := want - len(active); {
	case diff < 0:
		// Those that have come least far go first.
		slices.SortFunc(active, func(a, b pod) int {
			return cmp.Or(cmp.Compare(progress(a.Pod), progress(b.Pod)),
				b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
		})
		p.delete = active[:-diff]
	case diff-terminating > 0:
		if left := backoff(in); left > 0 {
			p.wait(left)
			return
		}
		p.create = min(diff-terminating, maxBatch)
	}
}

func progress(p *corev1.Pod) int {
	switch {
	case p.Spec.NodeName == "":
		return 0
	case p.Status.Phase != corev1.PodRunning:
		return 1
	case !isReady(p):
		return 2
	}
	return 3
}

// backoff returns how much longer to wait before failed pods are replaced: by
// how many have failed, per parallel pod, since the last success.
func backoff(in input) time.Duration {
	var success, last time.Time
	for _, p := range in.pods {
		if p.Status.Phase == corev1.PodSucceeded && endTime(p.Pod).After(success) {
			success = endTime(p.Pod)
		}
	}
	n := 0
	for _, p := range in.pods {
		if t := endTime(p.Pod); p.Status.Phase == corev1.PodFailed && t.After(success) {
			n++
			if t.After(last) {
				last = t
			}
		}
	}
	if n == 0 {
		return 0
	}
	parallel := 1
	if in.job.Spec.Parallelism != nil {
		parallel = max(1, int(*in.job.Spec.Parallelism))
	}
	round := (n + parallel - 1) / parallel
	return min(maxDelay, firstDelay<<min(round-1, 16)) - in.now.Sub(last)
}

// expire removes the Job when it is over for long enough.
func (p *decision) expire(in input, over *batchv1.JobCondition) {
	ttl := in.job.Spec.TTLSecondsAfterFinished
	if ttl == nil {
		return
	}
	left := time.Duration(*ttl)*time.Second - in.now.Sub(over.LastTransitionTime.Time)
	if left <= 0 {
		p.remove = true
		return
	}
	p.wait(left)
}

func (p *decision) wait(t time.Duration) {
	if p.again == 0 || t < p.again {
		p.again = t
	}
}

func (p *decision) suspend(in input, active []pod) {
	p.delete = active
	p.status.StartTime = nil
	if c := condition(&p.status, batchv1.JobSuspended); c == nil || c.Status != corev1.ConditionTrue {
		p.condition(in, batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "Job suspended")
		p.event, p.eventType, p.message = "Suspended", corev1.EventTypeNormal, "Job suspended"
	}
}

func (p *decision) resume(in input) {
	if c := condition(&p.status, batchv1.JobSuspended); c != nil && c.Status == corev1.ConditionTrue {
		p.condition(in, batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", "Job resumed")
		p.event, p.eventType, p.message = "Resumed", corev1.EventTypeNormal, "Job resumed"
	}
	if p.status.StartTime == nil {
		t := stamp(in.now)
		p.status.StartTime = &t
	}
}

// finish sets the conditions of a Job that is over, the earlier of which
// clients take as the announcement of the later.
func (p *decision) finish(in input, t batchv1.JobConditionType, reason, message string) {
	announce := batchv1.JobSuccessCriteriaMet
	p.event, p.eventType, p.message = "Completed", corev1.EventTypeNormal, "Job completed"
	if t == batchv1.JobFailed {
		announce = batchv1.JobFailureTarget
		p.event, p.eventType, p.message = reason, corev1.EventTypeWarning, message
	} else {
		now := stamp(in.now)
		p.status.CompletionTime = &now
	}
	p.condition(in, announce, corev1.ConditionTrue, reason, message)
	p.condition(in, t, corev1.ConditionTrue, reason, message)
	if ttl := in.job.Spec.TTLSecondsAfterFinished; ttl != nil {
		p.again = max(time.Nanosecond, time.Duration(*ttl)*time.Second)
	} else {
		p.again = 0
	}
}

func (p *decision) condition(in input, t batchv1.JobConditionType, st corev1.ConditionStatus, reason, message string) {
	now := stamp(in.now)
	c := batchv1.JobCondition{Type: t, Status: st, Reason: reason, Message: message, LastProbeTime: now, LastTransitionTime: now}
	if have := condition(&p.status, t); have != nil {
		*have = c
		return
	}
	p.status.Conditions = append(p.status.Conditions, c)
}

func condition(s *batchv1.JobStatus, t batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == t {
			return &s.Conditions[i]
		}
	}
	return nil
}

// finished returns the condition that says the Job is over, or nil.
func finished(job *batchv1.Job) *batchv1.JobCondition {
	for _, t := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		if c := condition(&job.Status, t); c != nil && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

func stamp(t time.Time) metav1.Time { return metav1.NewTime(t.UTC().Truncate(time.Second)) }

// ended reports whether a pod counts as over: also one that was deleted before
// it ran anywhere, of which no node will report an end.
func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed ||
		p.DeletionTimestamp != nil && (p.DeletionGracePeriodSeconds == nil || *p.DeletionGracePeriodSeconds == 0)
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func restartsOf(p *corev1.Pod) int32 {
	var n int32
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		n += c.RestartCount
	}
	return n
}

// endTime is when an ended pod was last heard of.
func endTime(p *corev1.Pod) time.Time {
	t := p.CreationTimestamp.Time
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Terminated != nil && c.State.Terminated.FinishedAt.After(t) {
			t = c.State.Terminated.FinishedAt.Time
		}
	}
	for _, c := range p.Status.Conditions {
		if c.LastTransitionTime.After(t) {
			t = c.LastTransitionTime.Time
		}
	}
	return t
}
