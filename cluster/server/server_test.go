package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/server"
)

// running is a server in this process.
type running struct {
	*server.Server
	cancel context.CancelFunc
	done   chan error
}

func start(t testing.TB, data string) *running {
	t.Helper()
	s, err := server.New(server.Options{Data: data, Listen: "127.0.0.1:0", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Server: s, cancel: cancel, done: make(chan error, 1)}
	go func() { r.done <- s.Run(ctx) }()
	select {
	case <-s.Ready():
	case err := <-r.done:
		t.Fatal(err)
	}
	t.Cleanup(func() { r.stop(t) })
	return r
}

// stop may be called twice.
func (r *running) stop(t testing.TB) {
	t.Helper()
	r.cancel()
	select {
	case err := <-r.done:
		if err != nil {
			t.Errorf("run: %v", err)
		}
		r.done <- nil
	case <-time.After(10 * time.Second):
		t.Error("the server did not stop within 10 s")
	}
}

func (r *running) admin(t testing.TB) *client.Client {
	t.Helper()
	c, err := client.FromKubeconfig(r.AdminKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func doc(t testing.TB, format string, args ...any) object.Object {
	t.Helper()
	o, err := object.Parse(fmt.Appendf(nil, format, args...))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func create(t testing.TB, c *client.Client, o object.Object) object.Object {
	t.Helper()
	out, err := c.Create(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// eventually watches a kind until ok is content with its objects.
func eventually(t testing.TB, c *client.Client, k api.Kind, what string, ok func([]object.Object) bool) []object.Object {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	events, err := c.Watch(ctx, k, 0, api.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range events {
		l, err := c.List(ctx, k, api.ListOptions{})
		if err == nil && ok(l.Items) {
			return l.Items
		}
	}
	l, err := c.List(t.Context(), k, api.ListOptions{})
	if err == nil && ok(l.Items) {
		return l.Items
	}
	t.Fatalf("%s: not so within 20 s; %v", what, err)
	return nil
}

const image = "i@sha256:0000000000000000000000000000000000000000000000000000000000000000"

func deployment(t testing.TB, name string, replicas int) object.Object {
	return doc(t, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q,"namespace":"default"},"spec":{"replicas":%d,"selector":{"matchLabels":{"app":%q}},
		"template":{"metadata":{"labels":{"app":%q}},"spec":{"containers":[{"name":"c","image":%q}]}}}}`, name, replicas, name, name, image)
}

func setStatus(t testing.TB, c *client.Client, o object.Object, edit func(status map[string]any)) {
	t.Helper()
	tree := o.Tree()
	delete(tree["metadata"].(map[string]any), "resourceVersion")
	status, ok := tree["status"].(map[string]any)
	if !ok {
		status = map[string]any{}
		tree["status"] = status
	}
	edit(status)
	next, err := object.FromTree(tree)
	if err == nil {
		_, err = c.UpdateStatus(t.Context(), next)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestWhole goes from documents to endpoints and grants; the test is the node
// agent. Then the server starts again and all is as it was.
func TestWhole(t *testing.T) {
	data := t.TempDir()
	s := start(t, data)
	c := s.admin(t)
	create(t, c, doc(t, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},
		"status":{"allocatable":{"cpu":"4","memory":"4Gi","pods":"10"},"conditions":[{"type":"Ready","status":"True"}]}}`))
	create(t, c, doc(t, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"store","namespace":"default"},
		"spec":{"selector":{"app":"store"},"ports":[{"port":6379}]}}`))
	create(t, c, deployment(t, "store", 2))
	create(t, c, deployment(t, "web", 1))
	create(t, c, doc(t, `{"apiVersion":"writ.dev/v1alpha1","kind":"Dependency","metadata":{"name":"web-store","namespace":"default"},
		"spec":{"consumer":{"kind":"Deployment","name":"web"},"target":{"service":{"name":"store","ports":["6379"]}}}}`))

	pods := eventually(t, c, api.Pod, "three pods are bound, addressed and granted", func(pods []object.Object) bool {
		n := 0
		for _, o := range pods {
			p, err := api.Decode[corev1.Pod](o)
			if err != nil || p.Spec.NodeName != "n1" || p.Status.PodIP == "" {
				continue
			}
			for _, cond := range p.Status.Conditions {
				if cond.Type == api.ConditionGranted && cond.Status == corev1.ConditionTrue {
					n++
				}
			}
		}
		return n == 3
	})
	for _, o := range pods {
		setStatus(t, c, o, func(status map[string]any) {
			status["phase"] = "Running"
			status["conditions"] = append(status["conditions"].([]any), map[string]any{"type": "Ready", "status": "True"})
		})
	}
	eventually(t, c, api.Deployment, "both are available", func(list []object.Object) bool {
		available := int32(0)
		for _, o := range list {
			if d, err := api.Decode[appsv1.Deployment](o); err == nil {
				available += d.Status.AvailableReplicas
			}
		}
		return available == 3
	})
	eventually(t, c, api.GrantKind, "web may reach both pods of store", func(list []object.Object) bool {
		for _, o := range list {
			g, err := api.Decode[api.Grant](o)
			if err == nil && g.Spec.Consumer == "Deployment/web" && g.Spec.ServiceName == "store" && len(g.Spec.From) == 1 &&
				len(g.Spec.Ports) == 1 && len(g.Spec.Ports[0].Endpoints) == 2 {
				return true
			}
		}
		return false
	})

	before := names(t, c)
	s.stop(t)
	s = start(t, data)
	if after := names(t, s.admin(t)); after != before {
		t.Errorf("after a restart there is\n%s\nbefore it was\n%s", after, before)
	}
}

// names lists every object that does not come and go by itself, with its UID.
func names(t testing.TB, c *client.Client) string {
	t.Helper()
	var b strings.Builder
	for _, k := range api.Kinds {
		if k.Kind == api.EventKind.Kind {
			continue
		}
		l, err := c.List(t.Context(), k, api.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range l.Items {
			fmt.Fprintln(&b, o.Key(), o.Meta().UID, o.Meta().ResourceVersion)
		}
	}
	return b.String()
}

func TestRefusals(t *testing.T) {
	data := t.TempDir()
	s := start(t, data)
	run := func(data, listen string) error {
		t.Helper()
		s, err := server.New(server.Options{Data: data, Listen: listen})
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		return s.Run(ctx)
	}
	refused := func(err error, parts ...string) {
		t.Helper()
		for _, p := range parts {
			if err == nil || !strings.Contains(err.Error(), p) {
				t.Errorf("error is %v, want one with %q", err, p)
			}
		}
	}
	refused(run(data, "127.0.0.1:0"), data, "in use")

	other := filepath.Join(t.TempDir(), "data")
	address := strings.TrimPrefix(s.URL(), "https://")
	refused(run(other, address), address, "in use", "--listen")
	if _, err := os.Stat(other); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a server without a port made its data directory: %v", err)
	}
	refused(run(other, "nonsense"), "nonsense", "host:port")
	refused(run(other, "203.0.113.1:0"), "203.0.113.1", "cannot assign")

	s.stop(t)
	version := filepath.Join(data, "raft", "version")
	if err := os.WriteFile(version, []byte("writ data 99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(run(data, "127.0.0.1:0"), data, "version 99")

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(run(file, "127.0.0.1:0"), file)
}

// TestStop: an open watch does not hold the server up, and ends cleanly.
func TestStop(t *testing.T) {
	s := start(t, t.TempDir())
	c := s.admin(t)
	events, err := c.Watch(t.Context(), api.ConfigMap, 0, api.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	<-events
	begin := time.Now()
	s.stop(t)
	t.Logf("stopped after %s", time.Since(begin))
	for range events {
	}
	if _, err := c.List(t.Context(), api.ConfigMap, api.ListOptions{}); err == nil {
		t.Error("a stopped server answers")
	}
}

// TestLogLost: a server that cannot write its log stops and says why.
func TestLogLost(t *testing.T) {
	data := t.TempDir()
	s := start(t, data)
	c := s.admin(t)
	// The next segment of the log cannot be made in a directory that is gone.
	if err := os.RemoveAll(filepath.Join(data, "raft", "wal")); err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("x", 1<<19)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for i := 0; ctx.Err() == nil; i++ {
		if _, err := c.Create(ctx, doc(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d","namespace":"default"},"data":{"v":%q}}`, i, big)); err != nil {
			break
		}
	}
	select {
	case err := <-s.done:
		if err == nil || !strings.Contains(err.Error(), "log") {
			t.Errorf("it stopped with %v", err)
		}
		s.done <- nil
	case <-ctx.Done():
		t.Error("a server without its log goes on")
	}
}

func TestReadyAndVersion(t *testing.T) {
	s := start(t, t.TempDir())
	c := s.admin(t)
	if err := c.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	v, err := c.Version(t.Context())
	if err != nil || !strings.HasSuffix(v.GitVersion, "+writ-test") {
		b, _ := json.Marshal(v)
		t.Errorf("version %s, %v", b, err)
	}
}
