package check

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/render"
)

// podSet is the pods of one document. Path is where its template is; empty for
// a Pod.
type podSet struct {
	key    object.Key
	path   string
	labels map[string]string
	spec   *corev1.PodSpec
}

const (
	inSpec = ".spec.template"
	inJob  = ".spec.jobTemplate.spec.template"
)

// templates are where kinds have their pods.
var templates = map[string]string{
	"Pod": "", "ReplicationController": inSpec, "Deployment.apps": inSpec, "ReplicaSet.apps": inSpec,
	"StatefulSet.apps": inSpec, "DaemonSet.apps": inSpec, "Job.batch": inSpec, "CronJob.batch": inJob,
}

// pods are the pods of all documents that have any, by document and by label.
type pods struct {
	byKey   map[object.Key]podSet
	byLabel map[podLabel][]podSet
}

type podLabel struct{ namespace, key, value string }

func podsOf(documents []render.Document) pods {
	out := pods{map[object.Key]podSet{}, map[podLabel][]podSet{}}
	for _, d := range documents {
		p, ok := podOf(d.Object)
		if !ok {
			continue
		}
		out.byKey[p.key] = p
		for k, v := range p.labels {
			l := podLabel{p.key.Namespace, k, v}
			out.byLabel[l] = append(out.byLabel[l], p)
		}
	}
	return out
}

// selected are the pods that a Service selects, in the order of the documents.
func (p pods) selected(namespace string, selector map[string]string) []podSet {
	for k, v := range selector {
		// One label leaves few; the whole selector decides.
		all := labels.SelectorFromSet(selector)
		return slices.DeleteFunc(slices.Clone(p.byLabel[podLabel{namespace, k, v}]), func(s podSet) bool { return !all.Matches(labels.Set(s.labels)) })
	}
	return nil // a Service without a selector selects nothing
}

func podOf(o object.Object) (podSet, bool) {
	k := o.Key()
	name := k.Kind
	if k.Group != "" {
		name += "." + k.Group
	}
	path, ok := templates[name]
	if !ok {
		return podSet{}, false
	}
	t := &corev1.PodTemplateSpec{}
	var into any
	switch path {
	case "":
		into = &struct {
			Metadata *metav1.ObjectMeta `json:"metadata"`
			Spec     *corev1.PodSpec    `json:"spec"`
		}{&t.ObjectMeta, &t.Spec}
	case inSpec:
		type spec struct {
			Template *corev1.PodTemplateSpec `json:"template"`
		}
		into = &struct {
			Spec spec `json:"spec"`
		}{spec{t}}
	default:
		type job struct {
			Template *corev1.PodTemplateSpec `json:"template"`
		}
		type template struct {
			Spec job `json:"spec"`
		}
		type spec struct {
			JobTemplate template `json:"jobTemplate"`
		}
		into = &struct {
			Spec spec `json:"spec"`
		}{spec{template{job{t}}}}
	}
	if json.Unmarshal(o.JSON(), into) != nil {
		return podSet{}, false // its schema has said so
	}
	return podSet{key: k, path: path, labels: t.Labels, spec: &t.Spec}, true
}
