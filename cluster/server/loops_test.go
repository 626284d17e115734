package server_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/cluster/object"
)

// nodes makes nodes and plays their agents: pods that are bound and granted
// become ready after a moment, or end as their label "ends" says; pods that
// are deleted go after a moment.
func nodes(t *testing.T, c *client.Client, names ...string) {
	t.Helper()
	for _, name := range names {
		create(t, c, doc(t, `{"apiVersion":"v1","kind":"Node","metadata":{"name":%q},
			"status":{"allocatable":{"cpu":"4","memory":"4Gi","pods":"30"},"conditions":[{"type":"Ready","status":"True"}]}}`, name))
	}
	ctx, cancel := context.WithCancel(t.Context())
	events, err := c.Watch(ctx, api.Pod, 0, api.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	begun := map[string]bool{}
	wg.Go(func() {
		for e := range events {
			if e.Type != api.Added && e.Type != api.Modified {
				continue
			}
			p, err := api.Decode[corev1.Pod](e.Object)
			if err != nil || p.Spec.NodeName == "" || !slices.Contains(names, p.Spec.NodeName) {
				continue
			}
			pause := time.Duration(rand.IntN(20)) * time.Millisecond
			uid := string(p.UID)
			switch {
			case p.DeletionTimestamp != nil && !begun["-"+uid]:
				begun["-"+uid] = true
				wg.Go(func() { time.Sleep(pause); remove(ctx, c, e.Object) })
			case p.DeletionTimestamp == nil && conditionTrue(p, api.ConditionGranted) && !begun[uid]:
				begun[uid] = true
				wg.Go(func() { time.Sleep(pause); bring(ctx, c, e.Object.Key(), p.Labels["ends"]) })
			}
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
}

func conditionTrue(p *corev1.Pod, kind corev1.PodConditionType) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}

func remove(ctx context.Context, c *client.Client, o object.Object) {
	none := int64(0)
	_ = c.DeleteWith(ctx, o.Key(), client.DeleteOptions{UID: o.Meta().UID, GracePeriodSeconds: &none})
}

// bring updates a pod's status until that is not overtaken.
func bring(ctx context.Context, c *client.Client, k object.Key, ends string) {
	for ctx.Err() == nil {
		o, err := c.Get(ctx, k)
		if err != nil {
			return
		}
		tree := o.Tree()
		status := tree["status"].(map[string]any)
		switch ends {
		case "":
			status["phase"] = "Running"
			conditions, _ := status["conditions"].([]any)
			status["conditions"] = append(conditions, map[string]any{"type": "Ready", "status": "True", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)})
		default:
			status["phase"] = ends
		}
		if o, err = object.FromTree(tree); err != nil {
			return
		}
		if _, err = c.UpdateStatus(ctx, o); !apierrors.IsConflict(err) {
			return
		}
	}
}

func update(t *testing.T, c *client.Client, k object.Key, edit func(tree map[string]any)) {
	t.Helper()
	for {
		o, err := c.Get(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		tree := o.Tree()
		edit(tree)
		if o, err = object.FromTree(tree); err != nil {
			t.Fatal(err)
		}
		if _, err = c.Update(t.Context(), o); apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
}

func spec(tree map[string]any) map[string]any { return tree["spec"].(map[string]any) }

func setEnv(tree map[string]any, value string) {
	template := spec(tree)["template"].(map[string]any)
	container := spec(template)["containers"].([]any)[0].(map[string]any)
	container["env"] = []any{map[string]any{"name": "V", "value": value}}
}

func rolledOut(replicas int32) func([]object.Object) bool {
	return func(list []object.Object) bool {
		for _, o := range list {
			d, err := api.Decode[appsv1.Deployment](o)
			s := d.Status
			if err != nil || s.ObservedGeneration < d.Generation || s.UpdatedReplicas != replicas || s.Replicas != replicas || s.AvailableReplicas != replicas {
				return false
			}
		}
		return len(list) > 0
	}
}

// TestRollingUpdate changes the template again and again, also during a
// rollout. At no revision are there too many pods, or too few ready ones.
func TestRollingUpdate(t *testing.T) {
	c := start(t, t.TempDir()).admin(t)
	nodes(t, c, "n1", "n2")
	const replicas, surge, unavailable = 6, 2, 1
	d := deployment(t, "web", replicas).Tree()
	spec(d)["strategy"] = map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": surge, "maxUnavailable": unavailable}}
	spec(d)["revisionHistoryLimit"] = 2
	o, err := object.FromTree(d)
	if err != nil {
		t.Fatal(err)
	}
	o = create(t, c, o)
	eventually(t, c, api.Deployment, "first rollout", rolledOut(replicas))

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, err := c.Watch(ctx, api.Pod, 0, api.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		pods := map[string]*corev1.Pod{}
		complete := false
		for e := range events {
			// What one transaction does is seen one event after another: judge
			// where the next revision begins.
			if e.Type == api.Bookmark {
				complete = true
				all, ready := 0, 0
				for _, p := range pods {
					if p.DeletionTimestamp == nil {
						all++
						if conditionTrue(p, corev1.PodReady) {
							ready++
						}
					}
				}
				if all > replicas+surge || ready < replicas-unavailable {
					t.Errorf("at revision %d there are %d pods and %d are ready", e.Revision, all, ready)
				}
				continue
			}
			p, err := api.Decode[corev1.Pod](e.Object)
			if err != nil {
				t.Error(err)
				return
			}
			if pods[p.Name] = p; e.Type == api.Deleted {
				delete(pods, p.Name)
			}
		}
		if !complete {
			t.Error("the watch showed nothing")
		}
	}()
	key := o.Key()
	update(t, c, key, func(tree map[string]any) { setEnv(tree, "1") })
	eventually(t, c, api.ReplicaSet, "the second has begun", func(list []object.Object) bool { return len(list) == 2 })
	for i := range 4 {
		update(t, c, key, func(tree map[string]any) { setEnv(tree, fmt.Sprint(i+2)) })
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
	}
	eventually(t, c, api.Deployment, "last rollout", rolledOut(replicas))

	// Back to an earlier template: its ReplicaSet is used again.
	sets := eventually(t, c, api.ReplicaSet, "history is forgotten", func(list []object.Object) bool { return len(list) == 3 })
	var earlier *appsv1.ReplicaSet
	for _, o := range sets {
		if rs, err := api.Decode[appsv1.ReplicaSet](o); err == nil && *rs.Spec.Replicas == 0 && len(rs.Spec.Template.Spec.Containers[0].Env) > 0 {
			earlier = rs
		}
	}
	update(t, c, key, func(tree map[string]any) { setEnv(tree, earlier.Spec.Template.Spec.Containers[0].Env[0].Value) })
	eventually(t, c, api.Deployment, "rollback", rolledOut(replicas))
	sets = eventually(t, c, api.ReplicaSet, "one set has all pods", func(list []object.Object) bool {
		used := 0
		for _, o := range list {
			if rs, err := api.Decode[appsv1.ReplicaSet](o); err == nil && *rs.Spec.Replicas > 0 {
				used++
			}
		}
		return used == 1
	})
	for _, o := range sets {
		rs, err := api.Decode[appsv1.ReplicaSet](o)
		if err != nil {
			t.Fatal(err)
		}
		if *rs.Spec.Replicas > 0 && rs.UID != earlier.UID {
			t.Error("a rollback made a new ReplicaSet")
		}
	}
	cancel()
	<-watched
}

// TestScheduling: pods spread, are bound together, and learn why they wait.
func TestScheduling(t *testing.T) {
	c := start(t, t.TempDir()).admin(t)
	big := doc(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"big","namespace":"default"},
		"spec":{"containers":[{"name":"c","image":%q,"resources":{"requests":{"cpu":"8"}}}]}}`, image)
	create(t, c, big)
	said := func(want string) func([]object.Object) bool {
		return func(list []object.Object) bool {
			for _, o := range list {
				p, err := api.Decode[corev1.Pod](o)
				if err == nil && p.Name == "big" {
					return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
						return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && strings.Contains(c.Message, want)
					})
				}
			}
			return false
		}
	}
	eventually(t, c, api.Pod, "no node", said("no node has joined"))
	nodes(t, c, "n1", "n2", "n3")
	eventually(t, c, api.Pod, "no room", said("3 insufficient cpu"))

	create(t, c, deployment(t, "web", 30))
	pods := eventually(t, c, api.Pod, "all are bound", func(list []object.Object) bool {
		n := 0
		for _, o := range list {
			if p, err := api.Decode[corev1.Pod](o); err == nil && p.Spec.NodeName != "" {
				n++
			}
		}
		return n == 30
	})
	per := map[string]int{}
	for _, o := range pods {
		if p, err := api.Decode[corev1.Pod](o); err == nil && p.Spec.NodeName != "" {
			per[p.Spec.NodeName]++
		}
	}
	if want := map[string]int{"n1": 10, "n2": 10, "n3": 10}; !maps.Equal(per, want) {
		t.Errorf("pods are on %v, want %v", per, want)
	}
	create(t, c, doc(t, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"large"},
		"status":{"allocatable":{"cpu":"16","memory":"4Gi","pods":"30"},"conditions":[{"type":"Ready","status":"True"}]}}`))
	eventually(t, c, api.Pod, "the new node takes it", func(list []object.Object) bool {
		return slices.ContainsFunc(list, func(o object.Object) bool {
			p, err := api.Decode[corev1.Pod](o)
			return err == nil && p.Name == "big" && p.Spec.NodeName == "large"
		})
	})
}

func TestJobs(t *testing.T) {
	c := start(t, t.TempDir()).admin(t)
	nodes(t, c, "n1")
	job := func(name, ends, more string) {
		create(t, c, doc(t, `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":%q,"namespace":"default"},"spec":{%s,
			"template":{"metadata":{"labels":{"ends":%q}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":%q}]}}}}`, name, more, ends, image))
	}
	job("good", "Succeeded", `"completions":5,"parallelism":2`)
	job("bad", "Failed", `"completions":5,"backoffLimit":0`)
	eventually(t, c, api.Job, "one completes, one fails", func(list []object.Object) bool {
		done := 0
		for _, o := range list {
			j, err := api.Decode[batchv1.Job](o)
			if err != nil {
				t.Fatal(err)
			}
			if j.Status.Active > 2 || j.Status.Succeeded > 5 || j.Status.Failed > 1 {
				t.Fatalf("job %s: %+v", j.Name, j.Status)
			}
			for _, cond := range j.Status.Conditions {
				switch {
				case cond.Status != corev1.ConditionTrue:
				case j.Name == "good" && cond.Type == batchv1.JobComplete && j.Status.Succeeded == 5:
					done++
				case j.Name == "bad" && cond.Type == batchv1.JobFailed && cond.Reason == "BackoffLimitExceeded" && j.Status.Failed == 1:
					done++
				}
			}
		}
		return done == 2
	})
}

func TestEndpointsFollowPods(t *testing.T) {
	c := start(t, t.TempDir()).admin(t)
	nodes(t, c, "n1")
	create(t, c, doc(t, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"default"},"spec":{"selector":{"app":"web"},"ports":[{"port":80,"targetPort":8080}]}}`))
	create(t, c, deployment(t, "web", 3))
	ready := func(want int) func([]object.Object) bool {
		return func(list []object.Object) bool {
			n := 0
			for _, o := range list {
				s, err := api.Decode[discoveryv1.EndpointSlice](o)
				if err != nil || len(s.Ports) != 1 || *s.Ports[0].Port != 8080 {
					return false
				}
				for _, e := range s.Endpoints {
					if e.Conditions.Ready != nil && *e.Conditions.Ready && len(e.Addresses) == 1 {
						n++
					}
				}
			}
			return n == want
		}
	}
	eventually(t, c, api.EndpointSlice, "three are ready", ready(3))
	update(t, c, api.Deployment.Key("default", "web"), func(tree map[string]any) { spec(tree)["replicas"] = 1 })
	eventually(t, c, api.EndpointSlice, "one is ready", ready(1))
	if err := c.Delete(t.Context(), api.Service.Key("default", "web"), ""); err != nil {
		t.Fatal(err)
	}
	eventually(t, c, api.EndpointSlice, "none is left", func(list []object.Object) bool { return len(list) == 0 })
}

// TestDeletion: owners and what they own go in the order that was asked for,
// and a namespace goes when it is empty.
func TestDeletion(t *testing.T) {
	c := start(t, t.TempDir()).admin(t)
	nodes(t, c, "n1")
	none := func(list []object.Object) bool { return len(list) == 0 }
	for _, how := range []string{"Background", "Foreground"} {
		create(t, c, deployment(t, "web", 2))
		eventually(t, c, api.Deployment, "rollout", rolledOut(2))
		if err := c.DeleteWith(t.Context(), api.Deployment.Key("default", "web"), client.DeleteOptions{Propagation: how}); err != nil {
			t.Fatal(err)
		}
		eventually(t, c, api.Deployment, how+": the Deployment goes", none)
		if how == "Foreground" {
			for _, k := range []api.Kind{api.ReplicaSet, api.Pod} {
				if l, err := c.List(t.Context(), k, api.ListOptions{}); err != nil || len(l.Items) > 0 {
					t.Errorf("a foreground deletion ended before %s %v, %v", k.Kind, l, err)
				}
			}
		}
		eventually(t, c, api.ReplicaSet, how+": the ReplicaSet goes", none)
		eventually(t, c, api.Pod, how+": the pods go", none)
	}
	create(t, c, deployment(t, "web", 1))
	eventually(t, c, api.Deployment, "rollout", rolledOut(1))
	if err := c.DeleteWith(t.Context(), api.Deployment.Key("default", "web"), client.DeleteOptions{Propagation: "Orphan"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, c, api.ReplicaSet, "an orphan stays", func(list []object.Object) bool {
		return len(list) == 1 && list[0].Controller() == nil
	})

	create(t, c, doc(t, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`))
	eventually(t, c, api.ServiceAccount, "every namespace has an account", func(list []object.Object) bool {
		return slices.ContainsFunc(list, func(o object.Object) bool { return o.Namespace() == "shop" && o.Name() == "default" })
	})
	create(t, c, doc(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop"}}`))
	if err := c.Delete(t.Context(), api.Namespace.Key("", "shop"), ""); err != nil {
		t.Fatal(err)
	}
	eventually(t, c, api.Namespace, "the namespace goes", func(list []object.Object) bool {
		return !slices.ContainsFunc(list, func(o object.Object) bool { return o.Name() == "shop" })
	})
	if _, err := c.Get(t.Context(), api.ConfigMap.Key("shop", "a")); !apierrors.IsNotFound(err) {
		t.Errorf("what was in a namespace outlived it: %v", err)
	}
}

// TestAggregation: a labelled role joins the default ones, and leaves them.
func TestAggregation(t *testing.T) {
	c := start(t, t.TempDir()).admin(t)
	has := func(want bool) func([]object.Object) bool {
		return func(list []object.Object) bool {
			found := 0
			for _, o := range list {
				if slices.Contains([]string{"view", "edit", "admin"}, o.Name()) && strings.Contains(string(o.JSON()), "widgets") {
					found++
				}
			}
			return found == 3 && want || found == 0 && !want
		}
	}
	create(t, c, doc(t, `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"widgets","labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}},
		"rules":[{"apiGroups":["example.com"],"resources":["widgets"],"verbs":["get"]}]}`))
	eventually(t, c, api.ClusterRole, "view, edit and admin have it", has(true))
	if err := c.Delete(t.Context(), api.ClusterRole.Key("", "widgets"), ""); err != nil {
		t.Fatal(err)
	}
	eventually(t, c, api.ClusterRole, "none has it", has(false))
}
