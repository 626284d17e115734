package converge

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// hopeless are the waiting reasons that do not pass by themselves.
var hopeless = []string{
	"CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName",
	"ImageInspectError", "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
}

// podStatus is done when the pod is ready, or has ended well.
func podStatus(o object.Object) (Status, error) {
	p, err := api.Decode[corev1.Pod](o)
	if err != nil {
		return Status{}, err
	}
	switch p.Status.Phase {
	case corev1.PodSucceeded:
		return Status{Done, "Succeeded", "has ended"}, nil
	case corev1.PodFailed:
		if s, ok := containerTrouble(p); ok {
			return s, nil
		}
		return Status{Stuck, word(p.Status.Reason, "Failed"), word(p.Status.Message, "has failed")}, nil
	}
	if s, ok := containerTrouble(p); ok {
		return s, nil
	}
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue:
			return Status{Done, "Ready", "ready"}, nil
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable:
			return Status{Stuck, c.Reason, "no node takes it: " + c.Message}, nil
		}
	}
	return Status{Moving, word(string(p.Status.Phase), "Pending"), phase(p)}, nil
}

// containerTrouble looks for a container that will not run as it is.
func containerTrouble(p *corev1.Pod) (Status, bool) {
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		switch w, t := c.State.Waiting, c.State.Terminated; {
		case w != nil && slices.Contains(hopeless, w.Reason):
			message := w.Message
			if w.Reason == "CrashLoopBackOff" {
				message = fmt.Sprintf("has ended %d times%s", c.RestartCount+1, ending(c.LastTerminationState.Terminated))
			}
			return Status{Stuck, w.Reason, "container " + c.Name + ": " + word(message, w.Reason)}, true
		case t != nil && t.ExitCode != 0 && p.Status.Phase == corev1.PodFailed:
			return Status{Stuck, word(t.Reason, "Error"), "container " + c.Name + " has ended" + ending(t)}, true
		}
	}
	return Status{}, false
}

// ending tells how a container ended, with the last line of what it said.
func ending(t *corev1.ContainerStateTerminated) string {
	if t == nil {
		return ""
	}
	text := fmt.Sprintf(", the last time with exit code %d", t.ExitCode)
	switch {
	case t.Reason == "OOMKilled":
		text = ", the last time for lack of memory"
	case t.Signal != 0:
		text = fmt.Sprintf(", the last time by signal %d", t.Signal)
	}
	if said := strings.TrimSpace(t.Message); said != "" {
		lines := strings.Split(said, "\n")
		text += ": " + lines[len(lines)-1]
	}
	return text
}

// phase says in what part of its start a pod is.
func phase(p *corev1.Pod) string {
	if p.Spec.NodeName == "" {
		return "waits for a node"
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil {
			return "container " + c.Name + ": " + word(w.Message, word(w.Reason, "waiting"))
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == api.ConditionGranted && c.Status != corev1.ConditionTrue && c.Message != "" {
			return c.Message
		}
	}
	for _, c := range p.Status.ContainerStatuses {
		if !c.Ready && c.State.Running != nil {
			return "container " + c.Name + " runs but is not ready"
		}
	}
	return "is being started on node " + p.Spec.NodeName
}

// word is s, or other when s is empty.
func word(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
