package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
)

func (r *rules) replicationController(c *corev1.ReplicationController) {
	r.count(".spec.replicas", c.Spec.Replicas)
	if c.Spec.Template == nil {
		r.required(".spec.template", "")
		return
	}
	// Without a selector it is the template's labels.
	if len(c.Spec.Selector) > 0 {
		r.selector(&metav1.LabelSelector{MatchLabels: c.Spec.Selector}, c.Spec.Template.Labels)
	}
	r.template(".spec.template", c.Spec.Template, nil, corev1.RestartPolicyAlways)
}

func (r *rules) deployment(d *appsv1.Deployment) {
	s := &d.Spec
	r.count(".spec.replicas", s.Replicas)
	r.count(".spec.revisionHistoryLimit", s.RevisionHistoryLimit)
	r.atLeast(".spec.minReadySeconds", int64(s.MinReadySeconds), 0)
	if p := s.ProgressDeadlineSeconds; p != nil && *p <= s.MinReadySeconds {
		r.invalid(".spec.progressDeadlineSeconds", "must be more than minReadySeconds %d, but is %d", s.MinReadySeconds, *p)
	}
	r.selector(s.Selector, s.Template.Labels)
	switch u := s.Strategy.RollingUpdate; {
	case u == nil:
	case s.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		r.add(api.CodeImmutable, ".spec.strategy.rollingUpdate", "remove it", "has no meaning with type Recreate")
	default:
		r.rolling(".spec.strategy.rollingUpdate", u.MaxUnavailable, u.MaxSurge)
	}
	r.template(".spec.template", &s.Template, nil, corev1.RestartPolicyAlways)
}

func (r *rules) replicaSet(s *appsv1.ReplicaSet) {
	r.count(".spec.replicas", s.Spec.Replicas)
	r.atLeast(".spec.minReadySeconds", int64(s.Spec.MinReadySeconds), 0)
	r.selector(s.Spec.Selector, s.Spec.Template.Labels)
	r.template(".spec.template", &s.Spec.Template, nil, corev1.RestartPolicyAlways)
}

func (r *rules) daemonSet(d *appsv1.DaemonSet) {
	r.atLeast(".spec.minReadySeconds", int64(d.Spec.MinReadySeconds), 0)
	r.selector(d.Spec.Selector, d.Spec.Template.Labels)
	if u := d.Spec.UpdateStrategy.RollingUpdate; u != nil {
		r.rolling(".spec.updateStrategy.rollingUpdate", u.MaxUnavailable, u.MaxSurge)
	}
	r.template(".spec.template", &d.Spec.Template, nil, corev1.RestartPolicyAlways)
}

func (r *rules) statefulSet(s *appsv1.StatefulSet) {
	spec := &s.Spec
	r.count(".spec.replicas", spec.Replicas)
	r.atLeast(".spec.minReadySeconds", int64(spec.MinReadySeconds), 0)
	r.selector(spec.Selector, spec.Template.Labels)
	if spec.ServiceName != "" {
		r.valid(".spec.serviceName", spec.ServiceName, validation.IsDNS1123Subdomain)
	}
	switch u := spec.UpdateStrategy; {
	case u.RollingUpdate == nil:
	case u.Type == appsv1.OnDeleteStatefulSetStrategyType:
		r.add(api.CodeImmutable, ".spec.updateStrategy.rollingUpdate", "remove it", "has no meaning with type OnDelete")
	default:
		r.count(".spec.updateStrategy.rollingUpdate.partition", u.RollingUpdate.Partition)
	}
	var claims []string
	for i := range spec.VolumeClaimTemplates {
		c, at := &spec.VolumeClaimTemplates[i], api.IndexPath(".spec.volumeClaimTemplates", i)
		r.name(at+".metadata.name", c.Name, validation.IsDNS1123Subdomain)
		if slices.Contains(claims, c.Name) {
			r.add(api.CodeDuplicate, at+".metadata.name", "", "%q is there twice", c.Name)
		}
		r.claim(at+".spec", &c.Spec)
		claims = append(claims, c.Name)
	}
	r.template(".spec.template", &spec.Template, claims, corev1.RestartPolicyAlways)
}

func (r *rules) job(at string, s *batchv1.JobSpec) {
	for _, n := range []struct {
		name string
		v    *int32
	}{
		{"parallelism", s.Parallelism}, {"completions", s.Completions}, {"backoffLimit", s.BackoffLimit},
		{"ttlSecondsAfterFinished", s.TTLSecondsAfterFinished}, {"backoffLimitPerIndex", s.BackoffLimitPerIndex}, {"maxFailedIndexes", s.MaxFailedIndexes},
	} {
		r.count(at+"."+n.name, n.v)
	}
	if d := s.ActiveDeadlineSeconds; d != nil {
		r.atLeast(at+".activeDeadlineSeconds", *d, 0)
	}
	manual := s.ManualSelector != nil && *s.ManualSelector
	if s.Selector != nil && manual {
		r.selectorAt(at, s.Selector, s.Template.Labels)
	} else if s.Selector != nil {
		r.add(api.CodeImmutable, at+".selector", "remove it; Kubernetes makes one", "may be given only with manualSelector: true")
	}
	indexed := s.CompletionMode != nil && *s.CompletionMode == batchv1.IndexedCompletion
	switch {
	case indexed && s.Completions == nil:
		r.add(api.CodeRequired, at+".completions", "", "is required with completionMode Indexed")
	case !indexed && s.BackoffLimitPerIndex != nil:
		r.add(api.CodeInvalid, at+".backoffLimitPerIndex", "use completionMode: Indexed", "has no meaning without indexes")
	}
	r.template(at+".template", &s.Template, nil, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	if p := s.PodFailurePolicy; p != nil && s.Template.Spec.RestartPolicy != corev1.RestartPolicyNever {
		r.add(api.CodeInvalid, at+".podFailurePolicy", "use restartPolicy: Never", "needs pods that are not restarted")
	}
}

func (r *rules) cronJob(c *batchv1.CronJob) {
	s := &c.Spec
	r.schedule(".spec.schedule", s.Schedule)
	if z := s.TimeZone; z != nil && (*z == "" || strings.EqualFold(*z, "local")) {
		r.add(api.CodeInvalid, ".spec.timeZone", "use a name such as Europe/Berlin or Etc/UTC", "%q is no time zone", *z)
	}
	if d := s.StartingDeadlineSeconds; d != nil {
		r.atLeast(".spec.startingDeadlineSeconds", *d, 0)
	}
	r.count(".spec.successfulJobsHistoryLimit", s.SuccessfulJobsHistoryLimit)
	r.count(".spec.failedJobsHistoryLimit", s.FailedJobsHistoryLimit)
	r.job(".spec.jobTemplate.spec", &s.JobTemplate.Spec)
}

// template checks a pod template. claims are the volumes that the workload
// adds; allowed are the restart policies that make sense.
func (r *rules) template(at string, t *corev1.PodTemplateSpec, claims []string, allowed ...corev1.RestartPolicy) {
	r.labels(at+".metadata.labels", t.Labels)
	r.annotations(at+".metadata.annotations", t.Annotations)
	r.podSpec(at+".spec", &t.Spec, claims)
	policy := t.Spec.RestartPolicy
	if len(allowed) == 0 || slices.Contains(allowed, policy) || policy == "" && allowed[0] == corev1.RestartPolicyAlways {
		return
	}
	var words []string
	for _, a := range allowed {
		words = append(words, string(a))
	}
	if policy == "" {
		r.add(api.CodeRequired, at+".spec.restartPolicy", "use "+join(words), "is required: without it pods are always restarted, and the job never ends")
		return
	}
	r.add(api.CodeUnsupported, at+".spec.restartPolicy", "use "+join(words), "%q is not allowed here", policy)
}

// selector checks that a workload selects the pods that it makes.
func (r *rules) selector(s *metav1.LabelSelector, template map[string]string) {
	r.selectorAt(".spec", s, template)
}

func (r *rules) selectorAt(at string, s *metav1.LabelSelector, template map[string]string) {
	if s == nil || len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0 {
		r.add(api.CodeRequired, at+".selector", "select the template's labels", "must select something")
		return
	}
	sel, ok := r.labelSelector(at+".selector", s)
	if ok && !sel.Matches(labels.Set(template)) {
		r.add(api.CodeInvalid, at+".template.metadata.labels", "give the template the labels that "+at+".selector selects",
			"the selector %q does not match the template's labels", sel)
	}
}

// labelSelector checks a selector and gives it in a form that can be applied.
func (r *rules) labelSelector(at string, s *metav1.LabelSelector) (labels.Selector, bool) {
	if s == nil {
		return labels.Nothing(), true
	}
	before := len(r.problems)
	r.labels(at+".matchLabels", s.MatchLabels)
	for i, e := range s.MatchExpressions {
		path := api.IndexPath(at+".matchExpressions", i)
		r.name(path+".key", e.Key, validation.IsQualifiedName)
		switch e.Operator {
		case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
			if len(e.Values) == 0 {
				r.add(api.CodeRequired, path+".values", "", "is required with operator %s", e.Operator)
			}
		case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
			if len(e.Values) > 0 {
				r.add(api.CodeImmutable, path+".values", "remove it", "has no meaning with operator %s", e.Operator)
			}
		}
		for j, v := range e.Values {
			r.valid(api.IndexPath(path+".values", j), v, validation.IsValidLabelValue)
		}
	}
	sel, err := metav1.LabelSelectorAsSelector(s)
	return sel, err == nil && len(r.problems) == before
}

// rolling checks the numbers of a rolling update.
func (r *rules) rolling(at string, unavailable, surge *intstr.IntOrString) {
	u, s := r.numberOrPercent(at+".maxUnavailable", unavailable), r.numberOrPercent(at+".maxSurge", surge)
	if u == 0 && s == 0 {
		r.invalid(at, "maxUnavailable and maxSurge are both 0: no pod could ever be replaced")
	}
	if unavailable != nil && unavailable.Type == intstr.String && u > 100 {
		r.invalid(at+".maxUnavailable", "must be at most 100%%, but is %s", unavailable.StrVal)
	}
}

// numberOrPercent returns the number, of things or of percent; -1 if it is
// wrong or absent.
func (r *rules) numberOrPercent(at string, v *intstr.IntOrString) int {
	if v == nil {
		return -1
	}
	if v.Type == intstr.Int {
		r.atLeast(at, int64(v.IntVal), 0)
		return v.IntValue()
	}
	n, err := strconv.Atoi(strings.TrimSuffix(v.StrVal, "%"))
	if err != nil || len(validation.IsValidPercent(v.StrVal)) > 0 {
		r.add(api.CodeInvalid, at, "write a number, or a percentage such as 25%", "%q is not a number or percentage", v.StrVal)
		return -1
	}
	return n
}

// cronFields are the fields of a schedule with their least and greatest number.
var cronFields = []struct {
	name      string
	low, high int
	names     []string
}{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of the month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of the week", 0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// schedule checks a time table in the syntax of cron.
func (r *rules) schedule(at, s string) {
	const hint = `write five fields, minute hour day month weekday, such as "30 4 * * 1-5"`
	if strings.Contains(s, "TZ") {
		r.add(api.CodeInvalid, at, "use timeZone", "must not name a time zone")
		return
	}
	switch s {
	case "":
		r.required(at, hint)
		return
	case "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly":
		return
	}
	if every, ok := strings.CutPrefix(s, "@every "); ok {
		if d, err := time.ParseDuration(every); err != nil || d <= 0 {
			r.add(api.CodeInvalid, at, "write a duration such as 30m", "%q is not a duration", every)
		}
		return
	}
	fields := strings.Fields(s)
	if len(fields) != len(cronFields) {
		r.add(api.CodeInvalid, at, hint, "%q has %d fields and must have 5", s, len(fields))
		return
	}
	for i, f := range fields {
		if bad := cronField(i, f); bad != "" {
			r.add(api.CodeInvalid, at, hint, "%s: %s", cronFields[i].name, bad)
		}
	}
}

// cronField says what is wrong with one field: lists of numbers, names,
// ranges and steps.
func cronField(i int, field string) string {
	for part := range strings.SplitSeq(field, ",") {
		span, step, stepped := strings.Cut(part, "/")
		if n, err := strconv.Atoi(step); stepped && (err != nil || n < 1) {
			return fmt.Sprintf("%q is not a step", step)
		}
		if span == "*" || span == "?" {
			continue
		}
		from, to, isRange := strings.Cut(span, "-")
		low, bad := cronNumber(i, from)
		if bad != "" {
			return bad
		}
		if !isRange {
			continue
		}
		high, bad := cronNumber(i, to)
		if bad != "" {
			return bad
		}
		if low > high {
			return fmt.Sprintf("the range %s ends before it begins", span)
		}
	}
	return ""
}

func cronNumber(i int, text string) (int, string) {
	f := cronFields[i]
	if j := slices.Index(f.names, strings.ToLower(text)); j >= 0 {
		return f.low + j, ""
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.low || n > f.high {
		return 0, fmt.Sprintf("%q is not %d to %d", text, f.low, f.high)
	}
	return n, ""
}
