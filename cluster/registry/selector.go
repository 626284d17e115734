package registry

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/custom"
	"github.com/writ-dev/writ/cluster/object"
)

// selector is a parsed label and field selector for one kind.
type selector struct {
	// all is set when everything matches.
	all    bool
	labels labels.Selector
	fields fields.Requirements
	kind   api.Kind
	// custom are the fields of a custom kind that may be selected.
	custom []string
}

func (r *Registry) parseSelector(k api.Kind, o api.ListOptions) (*selector, error) {
	s := &selector{kind: k}
	if c, ok := r.Customs().Lookup(k.Group, k.Kind); ok && k.Custom {
		s.custom = c.Selectable
	}
	var err error
	if s.labels, err = labels.Parse(o.LabelSelector); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("unable to parse label selector: %v", err))
	}
	f, err := fields.ParseSelector(o.FieldSelector)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("unable to parse field selector: %v", err))
	}
	s.fields = f.Requirements()
	for _, r := range s.fields {
		if !s.selectable(r.Field) {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("Unable to find %q that match label selector %q, field selector %q: field label not supported: %s", k.GVR().String(), o.LabelSelector, o.FieldSelector, r.Field))
		}
	}
	s.all = s.labels.Empty() && len(s.fields) == 0
	return s, nil
}

func (s *selector) matches(o object.Object) bool {
	if s.all {
		return true
	}
	if !s.labels.Matches(labels.Set(o.Meta().Labels)) {
		return false
	}
	for _, r := range s.fields {
		if equal := s.field(o, r.Field) == r.Value; equal == (r.Operator == "!=") {
			return false
		}
	}
	return true
}

// fieldNames lists what each kind can be selected by, besides its name and
// namespace, as Kubernetes does.
var fieldNames = map[string][]string{
	"Pod":       {"spec.nodeName", "status.phase", "spec.restartPolicy", "status.podIP", "spec.serviceAccountName", "spec.schedulerName", "status.nominatedNodeName", "spec.hostNetwork"},
	"Event":     {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type"},
	"Secret":    {"type"},
	"Node":      {"spec.unschedulable"},
	"Namespace": {"status.phase"},
	"Job":       {"status.successful"},
}

func (s *selector) selectable(name string) bool {
	k := s.kind
	if name == "metadata.name" || (name == "metadata.namespace" && k.Namespaced) {
		return true
	}
	if k.Custom {
		return slices.Contains(s.custom, name)
	}
	for _, f := range fieldNames[k.Kind] {
		if f == name {
			return true
		}
	}
	return false
}

// field returns a field that is selectable.
func (s *selector) field(o object.Object, name string) string {
	k := s.kind
	switch name {
	case "metadata.name":
		return o.Name()
	case "metadata.namespace":
		return o.Namespace()
	}
	if k.Custom {
		if v := custom.Find(o.Tree(), name); v != nil {
			return fmt.Sprint(v)
		}
		return ""
	}
	switch k.Kind {
	case "Pod":
		return podField(o, name)
	case "Event":
		return eventField(o, name)
	case "Secret":
		if v, err := api.Decode[corev1.Secret](o); err == nil {
			return string(v.Type)
		}
	case "Node":
		if v, err := api.Decode[corev1.Node](o); err == nil {
			return strconv.FormatBool(v.Spec.Unschedulable)
		}
	case "Namespace":
		if v, err := api.Decode[corev1.Namespace](o); err == nil {
			return string(v.Status.Phase)
		}
	case "Job":
		if v, err := api.Decode[batchv1.Job](o); err == nil {
			return strconv.Itoa(int(v.Status.Succeeded))
		}
	}
	return ""
}

func podField(o object.Object, name string) string {
	p, err := api.Decode[corev1.Pod](o)
	if err != nil {
		return ""
	}
	switch name {
	case "spec.nodeName":
		return p.Spec.NodeName
	case "status.phase":
		return string(p.Status.Phase)
	case "spec.restartPolicy":
		return string(p.Spec.RestartPolicy)
	case "status.podIP":
		return p.Status.PodIP
	case "spec.serviceAccountName":
		return p.Spec.ServiceAccountName
	case "spec.schedulerName":
		return p.Spec.SchedulerName
	case "status.nominatedNodeName":
		return p.Status.NominatedNodeName
	case "spec.hostNetwork":
		return strconv.FormatBool(p.Spec.HostNetwork)
	}
	return ""
}

func eventField(o object.Object, name string) string {
	e, err := api.Decode[corev1.Event](o)
	if err != nil {
		return ""
	}
	switch name {
	case "involvedObject.kind":
		return e.InvolvedObject.Kind
	case "involvedObject.namespace":
		return e.InvolvedObject.Namespace
	case "involvedObject.name":
		return e.InvolvedObject.Name
	case "involvedObject.uid":
		return string(e.InvolvedObject.UID)
	case "involvedObject.apiVersion":
		return e.InvolvedObject.APIVersion
	case "involvedObject.resourceVersion":
		return e.InvolvedObject.ResourceVersion
	case "involvedObject.fieldPath":
		return e.InvolvedObject.FieldPath
	case "reason":
		return e.Reason
	case "reportingComponent":
		return e.ReportingController
	case "source":
		if e.Source.Component != "" {
			return e.Source.Component
		}
		return e.ReportingController
	case "type":
		return e.Type
	}
	return ""
}

// eventTimes returns when an event was last seen.
func eventTimes(o object.Object) (time.Time, error) {
	e, err := api.Decode[corev1.Event](o)
	if err != nil {
		return time.Time{}, err
	}
	last := e.CreationTimestamp.Time
	times := []time.Time{e.FirstTimestamp.Time, e.LastTimestamp.Time, e.EventTime.Time}
	if e.Series != nil {
		times = append(times, e.Series.LastObservedTime.Time)
	}
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last, nil
}

// parseRevision reads a resourceVersion parameter.
func parseRevision(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("resourceVersion: Invalid value: %q: must be a decimal number", s))
	}
	return n, nil
}
