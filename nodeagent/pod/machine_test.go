package pod

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/nodeagent/runtime"
)

var begin = time.Date(2026, 12, 1, 7, 0, 0, 0, time.UTC)

func testPod(policy corev1.RestartPolicy, containers ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid"}}
	p.Spec.RestartPolicy = policy
	for _, name := range containers {
		c := corev1.Container{Name: name, Image: "image-" + name}
		if strings.HasPrefix(name, "init") {
			p.Spec.InitContainers = append(p.Spec.InitContainers, c)
		} else {
			p.Spec.Containers = append(p.Spec.Containers, c)
		}
	}
	p.Status.PodIP = "10.64.0.7"
	return p
}

// script drives a machine and narrates what it does.
type script struct {
	m   *machine
	now time.Time
	out strings.Builder
}

func newScript(p *corev1.Pod) *script { return &script{m: newMachine(p, begin), now: begin} }

// do performs one line: "up NAME", "exit NAME CODE", "missing NAME", "kill
// NAME", "sandbox", "sandbox error", "granted", "wait DURATION", "delete
// DURATION", "down".
func (s *script) do(line string) {
	fmt.Fprintf(&s.out, "> %s\n", line)
	var verb, name string
	code := 0
	_, _ = fmt.Sscan(line, &verb, &name, &code)
	var c *container
	for _, x := range s.m.containers {
		if x.spec.Name == name {
			c = x
		}
	}
	switch verb {
	case "sandbox":
		var err error
		if name != "" {
			err = fmt.Errorf("no namespaces left")
		}
		s.m.sandboxUp(err, s.now)
	case "granted":
		s.m.granted = true
	case "up":
		s.m.up(c, runtime.ImageInfo{}, s.now)
	case "exit":
		s.m.exit(c, runtime.Exit{Code: code}, "", s.now)
	case "missing":
		s.m.missing(c, reasonNoImage, "no image", s.now)
	case "kill":
		s.m.kill(c, 5*time.Second, s.now)
	case "down":
		s.m.sandboxDown()
	case "wait":
		d, _ := time.ParseDuration(name)
		s.now = s.now.Add(d)
	case "delete":
		d, _ := time.ParseDuration(name)
		s.m.leave(d, s.now)
	}
	s.step()
}

func (s *script) step() {
	todo, wake := s.m.step(s.now)
	for _, a := range todo {
		name := map[verb]string{
			prepareSandbox: "prepare sandbox", removeSandbox: "remove sandbox", startContainer: "start ",
			termContainer: "term ", killContainer: "kill ",
		}[a.verb]
		if a.container != nil {
			name += a.container.spec.Name
		}
		fmt.Fprintf(&s.out, "  %s\n", name)
	}
	if !wake.IsZero() {
		fmt.Fprintf(&s.out, "  (wake in %v)\n", wake.Sub(s.now))
	}
	st := s.m.status(s.now)
	line := string(st.Phase)
	for _, c := range append(st.InitContainerStatuses, st.ContainerStatuses...) {
		state := ""
		switch {
		case c.State.Running != nil:
			state = "running"
			if c.Ready {
				state = "ready"
			}
		case c.State.Terminated != nil:
			state = fmt.Sprintf("%s(%d)", c.State.Terminated.Reason, c.State.Terminated.ExitCode)
		default:
			state = c.State.Waiting.Reason
		}
		line += fmt.Sprintf(" %s=%s/%d", c.Name, state, c.RestartCount)
	}
	if s.m.gone() {
		line += " gone"
	}
	fmt.Fprintf(&s.out, "  %s\n", line)
}

func TestTranscripts(t *testing.T) {
	for _, c := range []struct {
		name  string
		pod   *corev1.Pod
		lines string
		want  string
	}{
		{"nothing starts before the grants", testPod(corev1.RestartPolicyAlways, "web"), "sandbox; granted; up web", `
  prepare sandbox
  Pending web=ContainerCreating/0
> sandbox
  Pending web=WaitingForGrants/0
> granted
  start web
  Pending web=ContainerCreating/0
> up web
  Running web=ready/0
`},
		{"init containers in order", testPod(corev1.RestartPolicyAlways, "init-a", "init-b", "web", "log"),
			"granted; sandbox; up init-a; exit init-a 0; up init-b; exit init-b 1; up init-b; exit init-b 0; up web; up log", `
  prepare sandbox
  Pending init-a=ContainerCreating/0 init-b=ContainerCreating/0 web=PodInitializing/0 log=PodInitializing/0
> granted
  Pending init-a=ContainerCreating/0 init-b=ContainerCreating/0 web=PodInitializing/0 log=PodInitializing/0
> sandbox
  start init-a
  Pending init-a=ContainerCreating/0 init-b=ContainerCreating/0 web=PodInitializing/0 log=PodInitializing/0
> up init-a
  Pending init-a=ready/0 init-b=ContainerCreating/0 web=PodInitializing/0 log=PodInitializing/0
> exit init-a 0
  start init-b
  Pending init-a=Completed(0)/0 init-b=ContainerCreating/0 web=PodInitializing/0 log=PodInitializing/0
> up init-b
  Pending init-a=Completed(0)/0 init-b=ready/0 web=PodInitializing/0 log=PodInitializing/0
> exit init-b 1
  start init-b
  Pending init-a=Completed(0)/0 init-b=ContainerCreating/1 web=PodInitializing/0 log=PodInitializing/0
> up init-b
  Pending init-a=Completed(0)/0 init-b=ready/1 web=PodInitializing/0 log=PodInitializing/0
> exit init-b 0
  start web
  start log
  Pending init-a=Completed(0)/0 init-b=Completed(0)/1 web=ContainerCreating/0 log=ContainerCreating/0
> up web
  Running init-a=Completed(0)/0 init-b=Completed(0)/1 web=ready/0 log=ContainerCreating/0
> up log
  Running init-a=Completed(0)/0 init-b=Completed(0)/1 web=ready/0 log=ready/0
`},
		{"restarts back off and recover", testPod(corev1.RestartPolicyAlways, "web"),
			"granted; sandbox; up web; exit web 1; up web; exit web 1; wait 10s; up web; exit web 1; wait 20s; up web; wait 10m; exit web 0", `
  prepare sandbox
  Pending web=ContainerCreating/0
> granted
  Pending web=ContainerCreating/0
> sandbox
  start web
  Pending web=ContainerCreating/0
> up web
  Running web=ready/0
> exit web 1
  start web
  Running web=ContainerCreating/1
> up web
  Running web=ready/1
> exit web 1
  (wake in 10s)
  Running web=CrashLoopBackOff/1
> wait 10s
  start web
  Running web=CrashLoopBackOff/2
> up web
  Running web=ready/2
> exit web 1
  (wake in 20s)
  Running web=CrashLoopBackOff/2
> wait 20s
  start web
  Running web=CrashLoopBackOff/3
> up web
  Running web=ready/3
> wait 10m
  Running web=ready/3
> exit web 0
  start web
  Running web=ContainerCreating/4
`},
		{"a job succeeds", testPod(corev1.RestartPolicyNever, "a", "b"), "granted; sandbox; up a; up b; exit a 0; exit b 0; down; delete 0s", `
  prepare sandbox
  Pending a=ContainerCreating/0 b=ContainerCreating/0
> granted
  Pending a=ContainerCreating/0 b=ContainerCreating/0
> sandbox
  start a
  start b
  Pending a=ContainerCreating/0 b=ContainerCreating/0
> up a
  Running a=ready/0 b=ContainerCreating/0
> up b
  Running a=ready/0 b=ready/0
> exit a 0
  Running a=Completed(0)/0 b=ready/0
> exit b 0
  remove sandbox
  Succeeded a=Completed(0)/0 b=Completed(0)/0
> down
  Succeeded a=Completed(0)/0 b=Completed(0)/0
> delete 0s
  Succeeded a=Completed(0)/0 b=Completed(0)/0 gone
`},
		{"a failed init container fails the pod", testPod(corev1.RestartPolicyNever, "init-a", "web"), "granted; sandbox; up init-a; exit init-a 3", `
  prepare sandbox
  Pending init-a=ContainerCreating/0 web=PodInitializing/0
> granted
  Pending init-a=ContainerCreating/0 web=PodInitializing/0
> sandbox
  start init-a
  Pending init-a=ContainerCreating/0 web=PodInitializing/0
> up init-a
  Pending init-a=ready/0 web=PodInitializing/0
> exit init-a 3
  remove sandbox
  Failed init-a=Error(3)/0 web=PodInitializing/0
`},
		{"deletion asks, then makes", testPod(corev1.RestartPolicyAlways, "web"), "granted; sandbox; up web; delete 30s; delete 60s; wait 29s; wait 1s; exit web 137; down", `
  prepare sandbox
  Pending web=ContainerCreating/0
> granted
  Pending web=ContainerCreating/0
> sandbox
  start web
  Pending web=ContainerCreating/0
> up web
  Running web=ready/0
> delete 30s
  term web
  (wake in 30s)
  Running web=ready/0
> delete 60s
  (wake in 30s)
  Running web=ready/0
> wait 29s
  (wake in 1s)
  Running web=ready/0
> wait 1s
  kill web
  Running web=ready/0
> exit web 137
  remove sandbox
  Running web=Error(137)/0
> down
  Running web=Error(137)/0 gone
`},
		{"deletion while starting", testPod(corev1.RestartPolicyAlways, "web"), "granted; sandbox; delete 0s; up web; exit web 137; down", `
  prepare sandbox
  Pending web=ContainerCreating/0
> granted
  Pending web=ContainerCreating/0
> sandbox
  start web
  Pending web=ContainerCreating/0
> delete 0s
  Pending web=ContainerCreating/0
> up web
  kill web
  Running web=ready/0
> exit web 137
  remove sandbox
  Running web=Error(137)/0
> down
  Running web=Error(137)/0 gone
`},
		{"liveness", testPod(corev1.RestartPolicyAlways, "web"), "granted; sandbox; up web; kill web; wait 5s; exit web 137", `
  prepare sandbox
  Pending web=ContainerCreating/0
> granted
  Pending web=ContainerCreating/0
> sandbox
  start web
  Pending web=ContainerCreating/0
> up web
  Running web=ready/0
> kill web
  term web
  (wake in 5s)
  Running web=running/0
> wait 5s
  kill web
  Running web=running/0
> exit web 137
  start web
  Running web=ContainerCreating/1
`},
		{"missing image, failing sandbox", testPod(corev1.RestartPolicyNever, "web"), "granted; sandbox error; wait 1s; sandbox; missing web; wait 1s; missing web; wait 2s; up web", `
  prepare sandbox
  Pending web=ContainerCreating/0
> granted
  Pending web=ContainerCreating/0
> sandbox error
  (wake in 1s)
  Pending web=FailedCreatePodSandBox/0
> wait 1s
  prepare sandbox
  Pending web=FailedCreatePodSandBox/0
> sandbox
  start web
  Pending web=ContainerCreating/0
> missing web
  (wake in 1s)
  Pending web=ErrImageNeverPull/0
> wait 1s
  start web
  Pending web=ErrImageNeverPull/0
> missing web
  (wake in 2s)
  Pending web=ErrImageNeverPull/0
> wait 2s
  start web
  Pending web=ErrImageNeverPull/0
> up web
  Running web=ready/0
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(c.pod)
			s.step()
			for line := range strings.SplitSeq(c.lines, "; ") {
				s.do(line)
			}
			if d := cmp.Diff(strings.TrimPrefix(c.want, "\n"), s.out.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

// A new agent finds what an earlier one left in the status.
func TestResume(t *testing.T) {
	run := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(begin)}}
	for _, c := range []struct {
		policy corev1.RestartPolicy
		phase  corev1.PodPhase
		want   string
	}{
		{corev1.RestartPolicyAlways, corev1.PodRunning, "  prepare sandbox\n  Running web=ContainerCreating/2\n"},
		{corev1.RestartPolicyNever, corev1.PodRunning, "  remove sandbox\n  Failed web=ContainerStatusUnknown(137)/2\n"},
		{corev1.RestartPolicyNever, corev1.PodSucceeded, "  Succeeded web=ContainerStatusUnknown(137)/2\n"},
	} {
		p := testPod(c.policy, "web")
		p.Status.Phase = c.phase
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", RestartCount: 2, State: run}}
		s := newScript(p)
		s.step()
		if d := cmp.Diff(c.want, s.out.String()); d != "" {
			t.Errorf("%s %s: %s", c.policy, c.phase, d)
		}
	}
}

func TestConditions(t *testing.T) {
	p := testPod(corev1.RestartPolicyAlways, "web")
	p.Status.Conditions = []corev1.PodCondition{{Type: "writ.dev/Granted", Status: corev1.ConditionTrue}}
	m := newMachine(p, begin)
	first := m.status(begin)
	c := m.containers[0]
	m.stage, m.granted = ready, true
	m.up(c, runtime.ImageInfo{}, begin)
	later := m.status(begin.Add(time.Minute))
	get := func(s corev1.PodStatus, k corev1.PodConditionType) corev1.PodCondition {
		for _, c := range s.Conditions {
			if c.Type == k {
				return c
			}
		}
		t.Fatalf("no condition %s", k)
		return corev1.PodCondition{}
	}
	if c := get(first, corev1.PodReady); c.Status != corev1.ConditionFalse || c.Reason != "ContainersNotReady" {
		t.Errorf("before: %+v", c)
	}
	if c := get(later, corev1.PodReady); c.Status != corev1.ConditionTrue || !c.LastTransitionTime.Time.Equal(begin.Add(time.Minute)) {
		t.Errorf("after: %+v", c)
	}
	if c := get(later, corev1.PodInitialized); !c.LastTransitionTime.Time.Equal(begin) {
		t.Errorf("an unchanged condition moved: %+v", c)
	}
	if !Granted(&corev1.Pod{Status: later}) {
		t.Error("another's condition was lost")
	}
}

func TestExpand(t *testing.T) {
	values := map[string]string{"A": "1", "B": "$(A)"}
	for in, want := range map[string]string{
		"":            "",
		"plain":       "plain",
		"$(A)/$(B)":   "1/$(A)",
		"$$(A)":       "$(A)",
		"$$$(A)":      "$1",
		"$(C) $C $":   "$(C) $C $",
		"$(A":         "$(A",
		"a$(A)b$(A)c": "a1b1c",
	} {
		if got := expand(in, values); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzExpand(f *testing.F) {
	f.Add("$$($(A)$(B")
	f.Fuzz(func(t *testing.T, s string) {
		if got := expand(s, nil); !strings.Contains(s, "$$") && got != s {
			t.Errorf("%q became %q without variables", s, got)
		}
	})
}
