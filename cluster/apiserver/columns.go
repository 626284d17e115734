package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

var workloadWide = []column{wideText("Containers"), wideText("Images"), wideText("Selector")}

// printers hold the columns that kubectl's users expect of each kind.
var printers = map[string]printer{
	"Namespace": {[]column{colName, text("Status"), colAge}, typed(func(v *corev1.Namespace, o object.Object, now time.Time) []any {
		return []any{v.Name, string(v.Status.Phase), age(o, now)}
	})},
	"Node": {[]column{colName, text("Status"), text("Roles"), colAge, text("Version"), wideText("Internal-IP"), wideText("External-IP"), wideText("OS-Image"), wideText("Kernel-Version"), wideText("Container-Runtime")}, typed(nodeCells)},
	"Pod":  {[]column{colName, text("Ready"), text("Status"), text("Restarts"), colAge, wideText("IP"), wideText("Node"), wideText("Nominated Node"), wideText("Readiness Gates")}, typed(podCells)},
	"Service": {[]column{colName, text("Type"), text("Cluster-IP"), text("External-IP"), text("Port(s)"), colAge, wideText("Selector")},
		typed(serviceCells)},
	"ConfigMap": {[]column{colName, count("Data"), colAge}, typed(func(v *corev1.ConfigMap, o object.Object, now time.Time) []any {
		return []any{v.Name, len(v.Data) + len(v.BinaryData), age(o, now)}
	})},
	"Secret": {[]column{colName, text("Type"), count("Data"), colAge}, typed(func(v *corev1.Secret, o object.Object, now time.Time) []any {
		return []any{v.Name, string(v.Type), len(v.Data), age(o, now)}
	})},
	"ServiceAccount": {[]column{colName, count("Secrets"), colAge}, typed(func(v *corev1.ServiceAccount, o object.Object, now time.Time) []any {
		return []any{v.Name, len(v.Secrets), age(o, now)}
	})},
	"Event": {[]column{{name: "Last Seen", kind: "string"}, text("Type"), text("Reason"), text("Object"), wideText("Subobject"), wideText("Source"), text("Message"), wideText("First Seen"), {name: "Count", kind: "integer", wide: true}, wideText("Name")}, typed(eventCells)},
	"Deployment": {append([]column{colName, text("Ready"), count("Up-to-date"), count("Available"), colAge}, workloadWide...), typed(func(v *appsv1.Deployment, o object.Object, now time.Time) []any {
		return append([]any{v.Name, fmt.Sprintf("%d/%d", v.Status.ReadyReplicas, orOne(v.Spec.Replicas)), v.Status.UpdatedReplicas, v.Status.AvailableReplicas, age(o, now)}, templateCells(&v.Spec.Template.Spec, v.Spec.Selector)...)
	})},
	"ReplicaSet": {append([]column{colName, count("Desired"), count("Current"), count("Ready"), colAge}, workloadWide...), typed(func(v *appsv1.ReplicaSet, o object.Object, now time.Time) []any {
		return append([]any{v.Name, orOne(v.Spec.Replicas), v.Status.Replicas, v.Status.ReadyReplicas, age(o, now)}, templateCells(&v.Spec.Template.Spec, v.Spec.Selector)...)
	})},
	"Job": {append([]column{colName, text("Status"), text("Completions"), text("Duration"), colAge}, workloadWide...), typed(jobCells)},
	"EndpointSlice": {[]column{colName, text("AddressType"), text("Ports"), text("Endpoints"), colAge}, typed(func(v *discoveryv1.EndpointSlice, o object.Object, now time.Time) []any {
		var ports, ends []string
		for _, p := range v.Ports {
			if p.Port != nil {
				ports = append(ports, strconv.Itoa(int(*p.Port)))
			}
		}
		for _, e := range v.Endpoints {
			ends = append(ends, e.Addresses...)
		}
		return []any{v.Name, string(v.AddressType), someOf(ports, 3), someOf(ends, 3), age(o, now)}
	})},
	"CustomResourceDefinition": definitionPrinter,
	"Lease": {[]column{colName, text("Holder"), colAge}, typed(func(v *coordinationv1.Lease, o object.Object, now time.Time) []any {
		holder := ""
		if v.Spec.HolderIdentity != nil {
			holder = *v.Spec.HolderIdentity
		}
		return []any{v.Name, holder, age(o, now)}
	})},
	"Role":        {[]column{colName, colCreated}, roleCells},
	"ClusterRole": {[]column{colName, colCreated}, roleCells},
	"RoleBinding": {bindingColumns, typed(func(v *rbacv1.RoleBinding, o object.Object, now time.Time) []any {
		return bindingCells(v.RoleRef, v.Subjects, o, now)
	})},
	"ClusterRoleBinding": {bindingColumns, typed(func(v *rbacv1.ClusterRoleBinding, o object.Object, now time.Time) []any {
		return bindingCells(v.RoleRef, v.Subjects, o, now)
	})},
	"Dependency": {[]column{colName, text("Consumer"), text("Target"), text("Ports"), text("Status"), colAge}, typed(dependencyCells)},
	"Grant": {[]column{colName, text("Consumer"), text("Service"), text("Cluster-IP"), count("From"), count("Endpoints"), colAge}, typed(func(v *api.Grant, o object.Object, now time.Time) []any {
		ends := 0
		for _, p := range v.Spec.Ports {
			ends += len(p.Endpoints)
		}
		return []any{v.Name, v.Spec.ConsumerNamespace + "/" + v.Spec.Consumer, v.Spec.ServiceNamespace + "/" + v.Spec.ServiceName, orNone(v.Spec.ClusterIP), len(v.Spec.From), ends, age(o, now)}
	})},
	"Source": {sourceColumns, typed(sourceCells)},
	"Release": {[]column{colName, count("Revision"), text("Digest"), count("Objects"), text("Applied"), wideText("By"), colAge}, typed(func(v *api.Release, o object.Object, now time.Time) []any {
		return []any{v.Name, v.Spec.Revision, shortDigest(v.Spec.Digest), len(v.Spec.Inventory), since(v.Spec.AppliedAt.Time, now), v.Spec.AppliedBy, age(o, now)}
	})},
	"ReleaseRevision": {[]column{colName, text("Digest"), text("Applied"), text("By"), wideText("Source"), colAge}, typed(func(v *api.ReleaseRevision, o object.Object, now time.Time) []any {
		return []any{v.Name, shortDigest(v.Spec.Digest), since(v.Spec.AppliedAt.Time, now), v.Spec.AppliedBy, v.Spec.Source, age(o, now)}
	})},
}

func shortDigest(digest string) string {
	if algorithm, hex, ok := strings.Cut(digest, ":"); ok && len(hex) > 12 {
		return algorithm + ":" + hex[:12]
	}
	return digest
}

func orOne(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

func orNone(s string) string {
	if s == "" {
		return "<none>"
	}
	return s
}

// someOf joins the first few.
func someOf(list []string, most int) string {
	if len(list) == 0 {
		return "<unset>"
	}
	if len(list) > most {
		return strings.Join(list[:most], ",") + fmt.Sprintf(" + %d more...", len(list)-most)
	}
	return strings.Join(list, ",")
}

func templateCells(p *corev1.PodSpec, sel *metav1.LabelSelector) []any {
	var names, images []string
	for _, c := range p.Containers {
		names, images = append(names, c.Name), append(images, c.Image)
	}
	return []any{strings.Join(names, ","), strings.Join(images, ","), metav1.FormatLabelSelector(sel)}
}

func nodeCells(v *corev1.Node, o object.Object, now time.Time) []any {
	status := "Unknown"
	for _, c := range v.Status.Conditions {
		if c.Type == corev1.NodeReady {
			status = map[corev1.ConditionStatus]string{corev1.ConditionTrue: "Ready", corev1.ConditionFalse: "NotReady", corev1.ConditionUnknown: "NotReady"}[c.Status]
		}
	}
	if v.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	var roles []string
	for _, l := range slices.Sorted(maps.Keys(v.Labels)) {
		if role, ok := strings.CutPrefix(l, "node-role.kubernetes.io/"); ok && role != "" {
			roles = append(roles, role)
		}
	}
	ips := map[corev1.NodeAddressType]string{}
	for _, a := range v.Status.Addresses {
		if ips[a.Type] == "" {
			ips[a.Type] = a.Address
		}
	}
	i := v.Status.NodeInfo
	return []any{v.Name, status, orNone(strings.Join(roles, ",")), age(o, now), i.KubeletVersion, orNone(ips[corev1.NodeInternalIP]), orNone(ips[corev1.NodeExternalIP]), orUnknown(i.OSImage), orUnknown(i.KernelVersion), orUnknown(i.ContainerRuntimeVersion)}
}

func orUnknown(s string) string {
	if s == "" {
		return "<unknown>"
	}
	return s
}

func podCells(v *corev1.Pod, o object.Object, now time.Time) []any {
	ready, restarts, reason := 0, 0, podReason(v)
	var lastRestart time.Time
	for _, c := range v.Status.ContainerStatuses {
		if c.Ready && c.State.Running != nil {
			ready++
		}
		restarts += int(c.RestartCount)
		if t := c.LastTerminationState.Terminated; t != nil && t.FinishedAt.After(lastRestart) {
			lastRestart = t.FinishedAt.Time
		}
	}
	shown := strconv.Itoa(restarts)
	if restarts > 0 && !lastRestart.IsZero() {
		shown += " (" + since(lastRestart, now) + " ago)"
	}
	return []any{v.Name, fmt.Sprintf("%d/%d", ready, len(v.Spec.Containers)), reason, shown, age(o, now), orNone(v.Status.PodIP), orNone(v.Spec.NodeName), orNone(v.Status.NominatedNodeName), "<none>"}
}

// podReason is the word that tells most about a pod's state.
func podReason(v *corev1.Pod) string {
	if v.DeletionTimestamp != nil {
		return "Terminating"
	}
	reason := string(v.Status.Phase)
	if v.Status.Reason != "" {
		reason = v.Status.Reason
	}
	for i, c := range v.Status.InitContainerStatuses {
		switch t := c.State.Terminated; {
		case t != nil && t.ExitCode == 0:
			continue
		case t != nil:
			return "Init:" + terminatedReason(t)
		case c.State.Waiting != nil && c.State.Waiting.Reason != "" && c.State.Waiting.Reason != "PodInitializing":
			return "Init:" + c.State.Waiting.Reason
		}
		return fmt.Sprintf("Init:%d/%d", i, len(v.Spec.InitContainers))
	}
	running := false
	for _, c := range slices.Backward(v.Status.ContainerStatuses) {
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			reason = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			reason = terminatedReason(c.State.Terminated)
		case c.State.Running != nil && c.Ready:
			running = true
		}
	}
	if reason == "Completed" && running {
		return "Running"
	}
	return reason
}

func terminatedReason(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

func serviceCells(v *corev1.Service, o object.Object, now time.Time) []any {
	external := "<none>"
	if v.Spec.Type == corev1.ServiceTypeExternalName {
		external = v.Spec.ExternalName
	}
	var ports []string
	for _, p := range v.Spec.Ports {
		s := strconv.Itoa(int(p.Port))
		if p.NodePort != 0 {
			s += ":" + strconv.Itoa(int(p.NodePort))
		}
		ports = append(ports, s+"/"+string(p.Protocol))
	}
	return []any{v.Name, string(v.Spec.Type), orNone(v.Spec.ClusterIP), external, orNone(strings.Join(ports, ",")), age(o, now), orNone(metav1.FormatLabelSelector(metav1.SetAsLabelSelector(v.Spec.Selector)))}
}

func eventCells(v *corev1.Event, _ object.Object, now time.Time) []any {
	first, last, n := v.FirstTimestamp.Time, v.LastTimestamp.Time, int(v.Count)
	if first.IsZero() {
		first = v.EventTime.Time
	}
	if last.IsZero() {
		last = first
	}
	if v.Series != nil {
		last, n = v.Series.LastObservedTime.Time, int(v.Series.Count)
	}
	source := v.Source.Component
	if source == "" {
		source = v.ReportingController
	}
	if v.Source.Host != "" {
		source += ", " + v.Source.Host
	}
	target := strings.ToLower(v.InvolvedObject.Kind)
	if v.InvolvedObject.Name != "" {
		target += "/" + v.InvolvedObject.Name
	}
	return []any{since(last, now), v.Type, v.Reason, target, v.InvolvedObject.FieldPath, source, strings.TrimSpace(v.Message), since(first, now), max(n, 1), v.Name}
}

func jobCells(v *batchv1.Job, o object.Object, now time.Time) []any {
	status := "Running"
	for _, c := range v.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuspended:
			status = string(c.Type)
		}
	}
	if v.DeletionTimestamp != nil {
		status = "Terminating"
	}
	completions := fmt.Sprintf("%d/%d", v.Status.Succeeded, orOne(v.Spec.Completions))
	took := ""
	if s := v.Status.StartTime; s != nil {
		end := now
		if v.Status.CompletionTime != nil {
			end = v.Status.CompletionTime.Time
		}
		took = duration.HumanDuration(end.Sub(s.Time))
	}
	return append([]any{v.Name, status, completions, took, age(o, now)}, templateCells(&v.Spec.Template.Spec, v.Spec.Selector)...)
}

func dependencyCells(v *api.Dependency, o object.Object, now time.Time) []any {
	target, ports := "<none>", "*"
	if s := v.Spec.Target.Service; s != nil {
		ns := s.Namespace
		if ns == "" {
			ns = v.Namespace
		}
		target = ns + "/" + s.Name
		var names []string
		for _, p := range s.Ports {
			names = append(names, string(p))
		}
		if len(names) > 0 {
			ports = strings.Join(names, ",")
		}
	}
	return []any{v.Name, v.Spec.Consumer.Kind + "/" + v.Spec.Consumer.Name, target, ports, v.Status.Phase, age(o, now)}
}
