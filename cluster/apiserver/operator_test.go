package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/yaml"
)

var widgetResource = schema.GroupVersionResource{Group: "shop.example", Version: "v1", Resource: "widgets"}

// operator keeps a ConfigMap for each Widget, in the way of controllers made
// for Kubernetes: elected by a Lease, fed by informers, with a queue of keys,
// writing by server-side apply and the status subresource.
type operator struct {
	name    string
	core    *kubernetes.Clientset
	dynamic dynamic.Interface
	queue   workqueue.TypedRateLimitingInterface[string]
	widgets cache.GenericLister
	leads   atomic.Bool
}

func newOperator(t *testing.T, config *rest.Config, name string) *operator {
	t.Helper()
	d, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &operator{name: name, core: clientset(t, config), dynamic: d}
}

// run campaigns, and works while it leads. It returns when ctx ends.
func (o *operator) run(ctx context.Context) error {
	failed := make(chan error, 1)
	e, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: "widget-operator"}, Client: o.core.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.name},
		},
		LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				o.leads.Store(true)
				failed <- o.work(ctx)
			},
			OnStoppedLeading: func() { o.leads.Store(false) },
		},
	})
	if err != nil {
		return err
	}
	e.Run(ctx)
	select {
	case err := <-failed:
		return err
	case <-time.After(10 * time.Second):
		return errors.New("the work has not ended")
	}
}

func (o *operator) work(ctx context.Context) error {
	o.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	defer o.queue.ShutDown()
	mine := dynamicinformer.NewDynamicSharedInformerFactory(o.dynamic, 0)
	others := informers.NewSharedInformerFactory(o.core, 0)
	w := mine.ForResource(widgetResource)
	o.widgets = w.Lister()
	maps := others.Core().V1().ConfigMaps().Informer()
	add := func(obj any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			o.queue.Add(key)
		}
	}
	owner := func(obj any) {
		if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		if cm, ok := obj.(*corev1.ConfigMap); ok {
			if ref := metav1.GetControllerOf(cm); ref != nil && ref.Kind == "Widget" {
				o.queue.Add(cm.Namespace + "/" + ref.Name)
			}
		}
	}
	for _, x := range []struct {
		informer cache.SharedIndexInformer
		handle   func(any)
	}{{w.Informer(), add}, {maps, owner}} {
		if _, err := x.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: x.handle, UpdateFunc: func(_, n any) { x.handle(n) }, DeleteFunc: x.handle}); err != nil {
			return err
		}
	}
	mine.Start(ctx.Done())
	others.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), w.Informer().HasSynced, maps.HasSynced) {
		return errors.New("caches do not fill")
	}
	go func() { <-ctx.Done(); o.queue.ShutDown() }()
	for {
		key, down := o.queue.Get()
		if down {
			mine.Shutdown()
			others.Shutdown()
			return nil
		}
		if err := o.reconcile(ctx, key); err != nil && ctx.Err() == nil {
			o.queue.AddRateLimited(key)
		} else {
			o.queue.Forget(key)
		}
		o.queue.Done(key)
	}
}

func (o *operator) reconcile(ctx context.Context, key string) error {
	obj, err := o.widgets.Get(key)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	w := obj.(*unstructured.Unstructured).DeepCopy()
	color, _, _ := unstructured.NestedString(w.Object, "spec", "color")
	yes := true
	cm := applycorev1.ConfigMap(w.GetName(), w.GetNamespace()).WithData(map[string]string{"color": color, "by": o.name}).
		WithOwnerReferences(&applymetav1.OwnerReferenceApplyConfiguration{
			APIVersion: ptr(w.GetAPIVersion()), Kind: ptr(w.GetKind()), Name: ptr(w.GetName()), UID: ptr(w.GetUID()), Controller: &yes, BlockOwnerDeletion: &yes,
		})
	if _, err := o.core.CoreV1().ConfigMaps(w.GetNamespace()).Apply(ctx, cm, metav1.ApplyOptions{FieldManager: "widget-operator", Force: true}); err != nil {
		return err
	}
	if phase, _, _ := unstructured.NestedString(w.Object, "status", "phase"); phase == "Made" {
		return nil
	}
	if err := unstructured.SetNestedField(w.Object, "Made", "status", "phase"); err != nil {
		return err
	}
	_, err = o.dynamic.Resource(widgetResource).Namespace(w.GetNamespace()).UpdateStatus(ctx, w, metav1.UpdateOptions{FieldManager: "widget-operator"})
	return err
}

func ptr[T any](v T) *T { return &v }

// TestOperator runs two operators, of which one leads, and ends the leader.
func TestOperator(t *testing.T) {
	h := start(t)
	config := h.rest(t, false)
	d, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	core := clientset(t, config)
	ctx := t.Context()
	var crd unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(widgets), &crd.Object); err != nil {
		t.Fatal(err)
	}
	definitions := d.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := definitions.Create(ctx, &crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	type running struct {
		*operator
		stop context.CancelFunc
		done chan error
	}
	var all []running
	for i := range 2 {
		ctx, cancel := context.WithCancel(ctx)
		r := running{newOperator(t, config, fmt.Sprintf("operator-%d", i)), cancel, make(chan error, 1)}
		go func() { r.done <- r.run(ctx) }()
		all = append(all, r)
	}
	eventually := func(what string, f func() error) {
		t.Helper()
		var err error
		for range 400 {
			if err = f(); err == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Fatalf("%s: %v", what, err)
	}
	list := d.Resource(widgetResource).Namespace("default")
	create := func(name string) {
		t.Helper()
		w := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "shop.example/v1", "kind": "Widget", "metadata": map[string]any{"name": name}, "spec": map[string]any{"color": "red"}}}
		if _, err := list.Create(ctx, w, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	made := func(name string) func() error {
		return func() error {
			cm, err := core.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			w, err := list.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if phase, _, _ := unstructured.NestedString(w.Object, "status", "phase"); phase != "Made" || cm.Data["color"] != "red" {
				return fmt.Errorf("phase %q, data %v", phase, cm.Data)
			}
			return nil
		}
	}
	create("one")
	eventually("the first widget", made("one"))
	leader, other := all[0], all[1]
	if other.leads.Load() {
		leader, other = other, leader
	}
	if !leader.leads.Load() || other.leads.Load() {
		t.Fatal("not exactly one operator leads")
	}
	// What is changed by hand is put right, and what is deleted made again.
	if _, err := core.CoreV1().ConfigMaps("default").Patch(ctx, "one", types.MergePatchType, []byte(`{"data":{"color":"black"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually("a change by hand", made("one"))
	if err := core.CoreV1().ConfigMaps("default").Delete(ctx, "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually("a deletion by hand", made("one"))
	leader.stop()
	if err := <-leader.done; err != nil {
		t.Errorf("the leader ended with: %v", err)
	}
	create("two")
	eventually("a widget after the change of leaders", made("two"))
	if cm, err := core.CoreV1().ConfigMaps("default").Get(ctx, "two", metav1.GetOptions{}); err != nil || cm.Data["by"] != other.name {
		t.Errorf("made by %v, %v, not by %s", cm.Data["by"], err, other.name)
	}
	if err := list.Delete(ctx, "two", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually("what a widget owned is gone", func() error {
		if _, err := core.CoreV1().ConfigMaps("default").Get(ctx, "two", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("still there: %v", err)
		}
		return nil
	})
	other.stop()
	if err := <-other.done; err != nil {
		t.Errorf("the other ended with: %v", err)
	}
}
