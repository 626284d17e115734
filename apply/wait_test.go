package apply_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/apply"
	"github.com/writ-dev/writ/apply/converge"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// as creates an object as the control plane does.
func (w *world) as(c api.Client, text string) object.Object {
	w.t.Helper()
	o, err := object.Parse([]byte(text))
	if err == nil {
		o, err = c.Create(w.t.Context(), o)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

func (w *world) status(k object.Key, status string) {
	w.t.Helper()
	tree := w.get(k).Tree()
	v, err := object.Unmarshal([]byte(status))
	if err != nil {
		w.t.Fatal(err)
	}
	tree["status"] = v
	o, err := object.FromTree(tree)
	if err == nil {
		_, err = w.system.UpdateStatus(w.t.Context(), o)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func owner(o object.Object) string {
	return fmt.Sprintf(`"ownerReferences":[{"apiVersion":%q,"kind":%q,"name":%q,"uid":%q,"controller":true}]`, o.APIVersion(), o.Kind(), o.Name(), o.Meta().UID)
}

// TestWait plays the control plane: a Deployment whose pod crashes, is helped,
// and becomes ready.
func TestWait(t *testing.T) {
	w := newWorld(t)
	w.apply(bundle(t, deployment("web", "web:1", ""), configMap("a", "k", "1")))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	news := make(chan apply.Progress, 100)
	done := make(chan error, 1)
	k := api.Deployment.Key("default", "web")
	go func() {
		done <- apply.Wait(ctx, w.user, apply.Goal{Done: []object.Key{k, api.ConfigMap.Key("default", "a")}}, func(p apply.Progress) { news <- p })
	}()
	expect := func(what string, match func(apply.Progress) bool) {
		t.Helper()
		for {
			select {
			case p := <-news:
				if match(p) {
					return
				}
			case err := <-done:
				t.Fatalf("wait ended before %s: %v", what, err)
			case <-ctx.Done():
				t.Fatalf("no %s", what)
			}
		}
	}
	expect("done ConfigMap", func(p apply.Progress) bool {
		return p.Key.Kind == "ConfigMap" && p.Status.State == converge.Done
	})

	template := `"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"main","image":"web:1"}]}}`
	rs := w.as(w.system, `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web-1","namespace":"default",`+owner(w.get(k))+`},"spec":{`+template+`}}`)
	pod := w.as(w.system, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-1-x","namespace":"default","labels":{"app":"web"},`+owner(rs)+`},"spec":{"containers":[{"name":"main","image":"web:1"}]}}`)
	w.status(pod.Key(), `{"phase":"Running","containerStatuses":[{"name":"main","image":"web:1","imageID":"","ready":false,"restartCount":3,
		"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":2,"message":"listening\npanic: no store\n"}}}]}`)
	expect("crash loop", func(p apply.Progress) bool {
		return p.Key == k && p.Status.State == converge.Stuck && p.Status.Reason == "CrashLoopBackOff" &&
			strings.Contains(p.Status.Message, "exit code 2: panic: no store")
	})
	w.as(w.system, `{"apiVersion":"v1","kind":"Event","metadata":{"name":"e1","namespace":"default"},"reason":"BackOff","message":"again","type":"Warning",
		"involvedObject":{"apiVersion":"v1","kind":"Pod","namespace":"default","name":"web-1-x","uid":"`+pod.Meta().UID+`"}}`)
	expect("event about the pod", func(p apply.Progress) bool { return p.Key == k && !p.Event.IsZero() && p.Event.Name() == "e1" })

	w.status(pod.Key(), `{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`)
	w.status(k, `{"observedGeneration":1,"replicas":2,"updatedReplicas":2,"availableReplicas":2,"readyReplicas":2}`)
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-ctx.Done():
		t.Fatal("the wait does not end")
	}
}

func TestWaitNamesWhatIsPending(t *testing.T) {
	w := newWorld(t)
	w.apply(bundle(t, deployment("web", "web:1", "")))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := apply.Wait(ctx, w.user, apply.Goal{Done: []object.Key{api.Deployment.Key("default", "web"), api.Pod.Key("default", "none")}}, func(apply.Progress) {})
	var pending *apply.WaitError
	if !errors.As(err, &pending) || !errors.Is(err, context.DeadlineExceeded) || len(pending.Pending) != 2 {
		t.Fatalf("error is %v", err)
	}
	for _, want := range []string{"Deployment.apps default/web is not done", "Pod default/none is not done: does not exist"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
}

func TestWaitUntilGone(t *testing.T) {
	w := newWorld(t)
	w.apply(bundle(t, configMap("a", "k", "1")))
	k := api.ConfigMap.Key("default", "a")
	var states []string
	told := make(chan struct{}, 10)
	done := make(chan error, 1)
	go func() {
		done <- apply.Wait(t.Context(), w.user, apply.Goal{Gone: []object.Key{k}}, func(p apply.Progress) {
			states = append(states, p.Status.Message)
			told <- struct{}{}
		})
	}()
	<-told
	if err := w.user.Delete(t.Context(), k, ""); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(states, ", "); got != "is being deleted, gone" {
		t.Errorf("progress is %q", got)
	}
}
