package admission

import (
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
)

func (p *problems) deployment(d *appsv1.Deployment) {
	s := &d.Spec
	p.count(".spec.replicas", s.Replicas)
	p.count(".spec.revisionHistoryLimit", s.RevisionHistoryLimit)
	p.atLeast(".spec.minReadySeconds", int64(s.MinReadySeconds), 0)
	if d := s.ProgressDeadlineSeconds; d != nil && *d <= s.MinReadySeconds {
		p.invalid(".spec.progressDeadlineSeconds", "must be more than minReadySeconds %d, but is %d", s.MinReadySeconds, *d)
	}
	p.selector(s.Selector, s.Template.Labels)
	p.strategy(s.Strategy)
	p.template(&s.Template, corev1.RestartPolicyAlways)
}

func (p *problems) replicaSet(r *appsv1.ReplicaSet) {
	p.count(".spec.replicas", r.Spec.Replicas)
	p.atLeast(".spec.minReadySeconds", int64(r.Spec.MinReadySeconds), 0)
	p.selector(r.Spec.Selector, r.Spec.Template.Labels)
	p.template(&r.Spec.Template, corev1.RestartPolicyAlways)
}

func (p *problems) job(j *batchv1.Job) {
	s := &j.Spec
	p.count(".spec.parallelism", s.Parallelism)
	p.count(".spec.completions", s.Completions)
	p.count(".spec.backoffLimit", s.BackoffLimit)
	p.count(".spec.ttlSecondsAfterFinished", s.TTLSecondsAfterFinished)
	if a := s.ActiveDeadlineSeconds; a != nil {
		p.atLeast(".spec.activeDeadlineSeconds", *a, 1)
	}
	if s.Selector != nil {
		p.selector(s.Selector, s.Template.Labels)
	}
	p.template(&s.Template, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
}

func (p *problems) count(at string, n *int32) {
	if n != nil {
		p.atLeast(at, int64(*n), 0)
	}
}

// selector checks that a workload selects the pods it makes.
func (p *problems) selector(s *metav1.LabelSelector, template map[string]string) {
	const at = ".spec.selector"
	if s == nil || len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0 {
		p.required(at, "select the template's labels")
		return
	}
	p.labels(at+".matchLabels", s.MatchLabels)
	sel, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		p.invalid(at, "%v", err)
		return
	}
	if !sel.Matches(labels.Set(template)) {
		p.add(api.CodeInvalid, ".spec.template.metadata.labels", "give the template the labels that .spec.selector selects",
			"the selector %q does not match the template's labels", sel)
	}
}

func (p *problems) strategy(s appsv1.DeploymentStrategy) {
	const at = ".spec.strategy"
	if s.Type == appsv1.RecreateDeploymentStrategyType {
		if s.RollingUpdate != nil {
			p.add(api.CodeInvalid, at+".rollingUpdate", "remove it", "has no meaning with type Recreate")
		}
		return
	}
	r := s.RollingUpdate
	if r == nil {
		return
	}
	unavailable := p.intOrPercent(at+".rollingUpdate.maxUnavailable", r.MaxUnavailable)
	surge := p.intOrPercent(at+".rollingUpdate.maxSurge", r.MaxSurge)
	if unavailable == 0 && surge == 0 {
		p.invalid(at+".rollingUpdate", "maxUnavailable and maxSurge are both 0: no pod could ever be replaced")
	}
	if v := r.MaxUnavailable; v != nil && v.Type == intstr.String && unavailable > 100 {
		p.invalid(at+".rollingUpdate.maxUnavailable", "must be at most 100%%, but is %s", v.StrVal)
	}
}

// intOrPercent returns the number, of things or of percent; -1 if it is wrong
// or absent.
func (p *problems) intOrPercent(at string, v *intstr.IntOrString) int {
	if v == nil {
		return -1
	}
	if v.Type == intstr.Int {
		p.atLeast(at, int64(v.IntVal), 0)
		return v.IntValue()
	}
	if bad := validation.IsValidPercent(v.StrVal); bad != nil {
		p.add(api.CodeInvalid, at, "write a number, or a percentage such as 25%", "%q is not a number or percentage", v.StrVal)
		return -1
	}
	n, err := strconv.Atoi(strings.TrimSuffix(v.StrVal, "%"))
	if err != nil {
		p.invalid(at, "%q is too large", v.StrVal)
		return -1
	}
	return n
}
