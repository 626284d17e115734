package apiserver_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/registry"
)

func (h *harness) rest(t testing.TB, protobuf bool) *rest.Config {
	t.Helper()
	c, err := clientcmd.BuildConfigFromFlags("", h.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c.QPS = -1
	if protobuf {
		c.ContentType = runtime.ContentTypeProtobuf
		c.AcceptContentTypes = runtime.ContentTypeProtobuf + ",application/json"
	}
	return c
}

func clientset(t testing.TB, c *rest.Config) *kubernetes.Clientset {
	t.Helper()
	cs, err := kubernetes.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

// TestClientset goes through the life of objects, sending JSON and sending
// protobuf.
func TestClientset(t *testing.T) {
	for _, protobuf := range []bool{false, true} {
		t.Run(map[bool]string{false: "json", true: "protobuf"}[protobuf], func(t *testing.T) {
			h := start(t)
			cs := clientset(t, h.rest(t, protobuf))
			ctx := t.Context()
			cms := cs.CoreV1().ConfigMaps("default")
			made, err := cms.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"}, Data: map[string]string{"a": "1"}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if made.UID == "" || made.ResourceVersion == "" || made.CreationTimestamp.IsZero() || len(made.Name) != 7 {
				t.Errorf("stamps are missing: %+v", made.ObjectMeta)
			}
			w, err := cms.Watch(ctx, metav1.ListOptions{ResourceVersion: made.ResourceVersion, FieldSelector: "metadata.name=" + made.Name})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			next := made.DeepCopy()
			next.Data["a"] = "2"
			updated, err := cms.Update(ctx, next, metav1.UpdateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := cms.Update(ctx, next, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
				t.Errorf("stale update: %v", err)
			}
			if _, err := cms.Patch(ctx, made.Name, types.StrategicMergePatchType, []byte(`{"data":{"b":"3"}}`), metav1.PatchOptions{}); err != nil {
				t.Error(err)
			}
			l, err := cms.List(ctx, metav1.ListOptions{})
			if err != nil || len(l.Items) != 1 || !cmp.Equal(l.Items[0].Data, map[string]string{"a": "2", "b": "3"}) {
				t.Errorf("list: %v %v", err, l)
			}
			wrong := types.UID("wrong")
			if err := cms.Delete(ctx, made.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}}); !apierrors.IsConflict(err) {
				t.Errorf("delete with a wrong UID: %v", err)
			}
			if err := cms.Delete(ctx, made.Name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
			if _, err := cms.Get(ctx, made.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("get after delete: %v", err)
			}
			var seen []string
			for len(seen) < 3 {
				select {
				case e := <-w.ResultChan():
					seen = append(seen, string(e.Type)+" "+e.Object.(*corev1.ConfigMap).Data["a"])
				case <-time.After(5 * time.Second):
					t.Fatalf("watch stalled after %v", seen)
				}
			}
			if diff := cmp.Diff([]string{"MODIFIED 2", "MODIFIED 2", "DELETED 2"}, seen); diff != "" {
				t.Error(diff)
			}
			deploymentScale(t, cs)
			_ = updated
		})
	}
}

func deploymentScale(t *testing.T, cs *kubernetes.Clientset) {
	t.Helper()
	labels := map[string]string{"app": "x"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i@sha256:0000000000000000000000000000000000000000000000000000000000000000"}}}}}}
	ds := cs.AppsV1().Deployments("default")
	if _, err := ds.Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s, err := ds.GetScale(t.Context(), "d", metav1.GetOptions{})
	if err != nil || s.Spec.Replicas != 1 || s.Status.Selector != "app=x" {
		t.Fatalf("scale: %v %+v", err, s)
	}
	s.Spec.Replicas = 3
	if s, err = ds.UpdateScale(t.Context(), "d", s, metav1.UpdateOptions{}); err != nil || s.Spec.Replicas != 3 {
		t.Fatalf("update scale: %v %+v", err, s)
	}
	got, err := ds.Get(t.Context(), "d", metav1.GetOptions{})
	if err != nil || *got.Spec.Replicas != 3 || got.Generation != 2 {
		t.Errorf("after scaling: %v, %+v", err, got)
	}
	got.Status.Replicas, got.Spec.Paused = 3, true
	got, err = ds.UpdateStatus(t.Context(), got, metav1.UpdateOptions{})
	if err != nil || got.Status.Replicas != 3 || got.Spec.Paused || got.Generation != 2 {
		t.Errorf("after a status update: %v, paused %v, generation %d", err, got.Spec.Paused, got.Generation)
	}
}

// TestInformer uses client-go's informers as they come: with WatchList, so
// they wait for the bookmark that ends the initial events.
func TestInformer(t *testing.T) {
	h := start(t)
	cs := clientset(t, h.rest(t, true))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	create := func(name string) {
		t.Helper()
		if _, err := cs.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("before")
	f := informers.NewSharedInformerFactory(cs, 0)
	inf := f.Core().V1().ConfigMaps().Informer()
	pods := f.Core().V1().Pods().Informer() // nothing there: only the bookmark comes
	f.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), inf.HasSynced, pods.HasSynced) {
		t.Fatal("informers did not sync")
	}
	if keys := inf.GetStore().ListKeys(); !slices.Contains(keys, "default/before") {
		t.Errorf("synced without default/before: %v", keys)
	}
	create("after")
	err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 5*time.Second, true, func(context.Context) (bool, error) {
		_, ok, err := inf.GetStore().GetByKey("default/after")
		return ok, err
	})
	if err != nil {
		t.Errorf("default/after was not seen: %v", err)
	}
	cancel()
	f.Shutdown()
}

func TestWatchSemantics(t *testing.T) {
	h := start(t)
	cs := clientset(t, h.rest(t, false))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := cs.CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{ResourceVersion: "999999"}); !apierrors.IsTimeout(err) {
		t.Errorf("watch from the future: %v", err)
	}
	w, err := cs.CoreV1().Namespaces().Watch(ctx, metav1.ListOptions{TimeoutSeconds: new(int64)})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if e := <-w.ResultChan(); e.Type != watch.Added {
			t.Errorf("a watch from nowhere begins with %s", e.Type)
		}
	}
	w.Stop()
	one := int64(1)
	w, err = cs.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{TimeoutSeconds: &one, ResourceVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for range w.ResultChan() { //nolint:revive // only its end counts
	}
	if took := time.Since(begin); took < 500*time.Millisecond || took > 5*time.Second {
		t.Errorf("a watch of 1 s lasted %s", took)
	}
	// Watches end when the server does, promptly.
	w, err = cs.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{ResourceVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	begin = time.Now()
	h.stop()
	for range w.ResultChan() { //nolint:revive // only its end counts
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("the server took %s to stop", took)
	}
}

// TestOwnClient goes through cluster/client: watch from 0, transactions,
// refusals by operation.
func TestOwnClient(t *testing.T) {
	h := start(t)
	c := h.admin(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if v, err := c.Version(ctx); err != nil || v.Major != "1" {
		t.Errorf("version: %v %v", v, err)
	}
	if err := c.Ready(ctx); err == nil {
		t.Log("ready")
	} else {
		t.Error(err)
	}
	events, err := c.Watch(ctx, api.ConfigMap, 0, api.ListOptions{Namespace: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if e := <-events; e.Type != api.Bookmark || e.Revision == 0 {
		t.Fatalf("first event: %+v", e)
	}
	ns, cm := must(t, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`), must(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop"}}`)
	tx := api.Transaction{Operations: []api.Operation{{Action: api.ActionCreate, Object: ns}, {Action: api.ActionCreate, Object: cm}}}
	tx.DryRun = true
	if _, err := c.Transact(ctx, tx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(ctx, ns.Key()); !apierrors.IsNotFound(err) {
		t.Errorf("after a dry run: %v", err)
	}
	tx.DryRun = false
	res, err := c.Transact(ctx, tx)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range res.Objects {
		if rev, uid := o.Meta().ResourceVersion, o.Meta().UID; uid == "" || rev == "" || rev != res.Objects[0].Meta().ResourceVersion {
			t.Errorf("%s: revision %q, uid %q", o.Key(), rev, uid)
		}
	}
	for e := range events {
		if e.Type == api.Added {
			if e.Object.Name() != "a" || e.Revision != res.Revision {
				t.Errorf("event: %+v, transaction %d", e, res.Revision)
			}
			break
		}
	}
	_, err = c.Transact(ctx, api.Transaction{Operations: []api.Operation{
		{Action: api.ActionCreate, Object: must(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","namespace":"shop"}}`)},
		{Action: api.ActionUpdate, Object: cm, ResourceVersion: "1"},
		{Action: api.ActionCreate, Object: must(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"nowhere"}}`)},
	}})
	if !apierrors.IsConflict(err) {
		t.Fatalf("refused transaction: %v", err)
	}
	var fields []string
	for _, cause := range err.(apierrors.APIStatus).Status().Details.Causes {
		fields = append(fields, cause.Field)
	}
	if diff := cmp.Diff([]string{"operations[1]", "operations[2]"}, fields); diff != "" {
		t.Error(diff)
	}
	if _, err := c.Get(ctx, api.ConfigMap.Key("shop", "b")); !apierrors.IsNotFound(err) {
		t.Errorf("a refused transaction wrote: %v", err)
	}
	h.stop()
	if _, err := c.Get(ctx, cm.Key()); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("without a server: %v", err)
	}
}

func TestPodLife(t *testing.T) {
	h := start(t)
	ctx := t.Context()
	sys, cs := h.registry.As(registry.System), clientset(t, h.rest(t, false))
	if _, err := sys.Create(ctx, must(t, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}`)); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i@sha256:0000000000000000000000000000000000000000000000000000000000000000"}}}}
	pods := cs.CoreV1().Pods("default")
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n1"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p, err := pods.Get(ctx, "p", metav1.GetOptions{})
	if err != nil || p.Spec.NodeName != "n1" || p.Status.PodIP == "" || len(p.Status.PodIPs) != 1 {
		t.Fatalf("bound: %v %+v", err, p)
	}
	if err := pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n1"}}, metav1.CreateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("bound twice: %v", err)
	}
	if _, err := pods.GetLogs("p", &corev1.PodLogOptions{}).DoRaw(ctx); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("log without an agent: %v", err)
	}
	if err := pods.Delete(ctx, "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if p, err = pods.Get(ctx, "p", metav1.GetOptions{}); err != nil || p.DeletionTimestamp == nil || *p.DeletionGracePeriodSeconds != 30 {
		t.Fatalf("terminating: %v %+v", err, p)
	}
	zero := int64(0)
	if err := pods.Delete(ctx, "p", metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
	if _, err = pods.Get(ctx, "p", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("deleted for good: %v", err)
	}
}

func TestUnauthenticated(t *testing.T) {
	h := start(t)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: h.adminTLS(t)}}
	c.Transport.(*http.Transport).TLSClientConfig.Certificates = nil
	defer c.CloseIdleConnections()
	for path, want := range map[string]int{"/healthz": 200, "/livez": 200, "/readyz": 200, "/version": 401, "/api/v1/secrets": 401, "/": 401, "/openapi/v3": 401} {
		resp, err := c.Get(h.url + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
		}
	}
}
