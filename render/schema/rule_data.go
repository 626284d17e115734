package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
)

// maxData is the bound on the data of one ConfigMap or Secret, in bytes.
const maxData = 1 << 20

func (r *rules) configMap(c *corev1.ConfigMap) {
	size := 0
	for _, key := range slices.Sorted(maps.Keys(c.Data)) {
		r.valid(api.FieldPath(".data", key), key, validation.IsConfigMapKey)
		size += len(key) + len(c.Data[key])
	}
	for _, key := range slices.Sorted(maps.Keys(c.BinaryData)) {
		at := api.FieldPath(".binaryData", key)
		r.valid(at, key, validation.IsConfigMapKey)
		if _, ok := c.Data[key]; ok {
			r.add(api.CodeDuplicate, at, "remove one", "%q is in data as well", key)
		}
		size += len(key) + len(c.BinaryData[key])
	}
	r.size(size)
}

func (r *rules) size(n int) {
	if n > maxData {
		r.add(api.CodeInvalid, ".data", "split it", "has %d bytes and may have %d", n, maxData)
	}
}

// secretKeys are the keys that a Secret of each type must have.
var secretKeys = map[corev1.SecretType][]string{
	corev1.SecretTypeTLS:              {corev1.TLSCertKey, corev1.TLSPrivateKeyKey},
	corev1.SecretTypeSSHAuth:          {corev1.SSHAuthPrivateKey},
	corev1.SecretTypeDockerConfigJson: {corev1.DockerConfigJsonKey},
	corev1.SecretTypeDockercfg:        {corev1.DockerConfigKey},
}

func (r *rules) secret(s *corev1.Secret) {
	all := map[string][]byte{}
	maps.Copy(all, s.Data)
	for k, v := range s.StringData {
		all[k] = []byte(v)
	}
	size := 0
	for _, key := range slices.Sorted(maps.Keys(all)) {
		at := api.FieldPath(".data", key)
		if _, plain := s.StringData[key]; plain {
			at = api.FieldPath(".stringData", key)
		}
		r.valid(at, key, validation.IsConfigMapKey)
		size += len(key) + len(all[key])
	}
	r.size(size)
	for _, key := range secretKeys[s.Type] {
		v, ok := all[key]
		switch {
		case !ok:
			r.add(api.CodeRequired, api.FieldPath(".data", key), "", "a Secret of type %s needs it", s.Type)
		case strings.HasPrefix(string(s.Type), "kubernetes.io/dockerc") && !json.Valid(v):
			r.invalid(api.FieldPath(".data", key), "must be JSON")
		}
	}
	if s.Type == corev1.SecretTypeBasicAuth && all[corev1.BasicAuthUsernameKey] == nil && all[corev1.BasicAuthPasswordKey] == nil {
		r.add(api.CodeRequired, ".data", "add username or password", "a Secret of type %s needs one", s.Type)
	}
}

func (r *rules) persistentVolume(v *corev1.PersistentVolume) {
	if len(v.Spec.AccessModes) == 0 {
		r.add(api.CodeRequired, ".spec.accessModes", "use [ReadWriteOnce]", "must have an access mode")
	}
	if q, ok := v.Spec.Capacity[corev1.ResourceStorage]; !ok {
		r.add(api.CodeRequired, ".spec.capacity.storage", "say how large, such as 10Gi", "is required")
	} else if q.Sign() <= 0 {
		r.invalid(".spec.capacity.storage", "must be more than 0, but is %s", q.String())
	}
	r.one(".spec", members(&v.Spec.PersistentVolumeSource))
	if l := v.Spec.Local; l != nil && v.Spec.NodeAffinity == nil {
		r.add(api.CodeRequired, ".spec.nodeAffinity", "say on which node it is", "a local volume needs it")
	}
}

func (r *rules) limitRange(l *corev1.LimitRange) {
	for i, item := range l.Spec.Limits {
		at := api.IndexPath(".spec.limits", i)
		for _, name := range slices.Sorted(maps.Keys(item.Min)) {
			least := item.Min[name]
			if most, ok := item.Max[name]; ok && least.Cmp(most) > 0 {
				r.invalid(api.FieldPath(at+".min", string(name)), "%s is more than the max %s", least.String(), most.String())
			}
		}
		if item.Type == corev1.LimitTypePod && (len(item.Default) > 0 || len(item.DefaultRequest) > 0) {
			r.add(api.CodeImmutable, at, "use type Container", "a limit of type Pod has no defaults")
		}
	}
}

func (r *rules) resourceQuota(q *corev1.ResourceQuota) {
	for _, name := range slices.Sorted(maps.Keys(q.Spec.Hard)) {
		at := api.FieldPath(".spec.hard", string(name))
		v := q.Spec.Hard[name]
		if v.Sign() < 0 {
			r.invalid(at, "must not be negative, but is %s", v.String())
		}
		r.valid(at, string(name), validation.IsQualifiedName)
	}
}

// maxPriority is the highest priority that users may define.
const maxPriority = 1_000_000_000

func (r *rules) priorityClass(p *schedulingv1.PriorityClass) {
	system := strings.HasPrefix(p.Name, "system-")
	if system && p.Name != "system-node-critical" && p.Name != "system-cluster-critical" {
		r.add(api.CodeImmutable, ".metadata.name", "use another name", `names that begin with "system-" are reserved`)
	}
	if !system && p.Value > maxPriority {
		r.invalid(".value", "must be at most %d, but is %d", maxPriority, p.Value)
	}
}

func (r *rules) disruptionBudget(s *policyv1.PodDisruptionBudgetSpec) {
	if s.MinAvailable != nil && s.MaxUnavailable != nil {
		r.add(api.CodeInvalid, ".spec", "keep one", "has both minAvailable and maxUnavailable")
	}
	r.numberOrPercent(".spec.minAvailable", s.MinAvailable)
	r.numberOrPercent(".spec.maxUnavailable", s.MaxUnavailable)
	r.labelSelectorIf(".spec.selector", s.Selector)
}

func (r *rules) autoscaler(s *autoscalingv2.HorizontalPodAutoscalerSpec) {
	r.name(".spec.scaleTargetRef.kind", s.ScaleTargetRef.Kind, pathSegment)
	r.name(".spec.scaleTargetRef.name", s.ScaleTargetRef.Name, pathSegment)
	least := int32(1)
	if s.MinReplicas != nil {
		least = *s.MinReplicas
		r.atLeast(".spec.minReplicas", int64(least), 0)
	}
	r.atLeast(".spec.maxReplicas", int64(s.MaxReplicas), 1)
	if s.MaxReplicas >= 1 && s.MaxReplicas < least {
		r.invalid(".spec.maxReplicas", "must be at least minReplicas %d, but is %d", least, s.MaxReplicas)
	}
	fields := map[autoscalingv2.MetricSourceType]string{
		"Object": "object", "Pods": "pods", "Resource": "resource", "ContainerResource": "containerResource", "External": "external",
	}
	for i := range s.Metrics {
		m, at := &s.Metrics[i], api.IndexPath(".spec.metrics", i)
		there := members(m)
		r.one(at, there)
		if want := fields[m.Type]; want != "" && !there[want] {
			r.add(api.CodeRequired, at+"."+want, "", "is required with type %s", m.Type)
		}
		if m.Resource != nil {
			r.target(at+".resource.target", &m.Resource.Target)
		}
		if m.ContainerResource != nil {
			r.target(at+".containerResource.target", &m.ContainerResource.Target)
		}
	}
}

// target checks that a metric's target has the value that its type speaks of.
func (r *rules) target(at string, t *autoscalingv2.MetricTarget) {
	want, there := "", false
	switch t.Type {
	case autoscalingv2.UtilizationMetricType:
		want, there = "averageUtilization", t.AverageUtilization != nil
	case autoscalingv2.AverageValueMetricType:
		want, there = "averageValue", t.AverageValue != nil
	default:
		return
	}
	if !there {
		r.add(api.CodeRequired, at+"."+want, "", "is required with type %s", t.Type)
	}
}
