//go:build linux

package nodeagent

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/writ-dev/writ/cluster/api"
)

// service creates a Service of a namespace, with port 80.
func (c *cluster) service(namespace, name string, kind corev1.ServiceType) *corev1.Service {
	c.t.Helper()
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	s.Spec.Type = kind
	s.Spec.Selector = map[string]string{"app": name}
	s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}}
	o := c.create(api.Service, s)
	s, err := api.Decode[corev1.Service](o)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// published makes a pod reachable for the test: the agent publishes a node
// port that leads to it.
func (c *cluster) published(p *corev1.Pod) func(path string, query ...string) string {
	c.t.Helper()
	s := c.service(p.Namespace, p.Name, corev1.ServiceTypeNodePort)
	c.slice(s, p)
	base := fmt.Sprintf("http://127.0.0.1:%d", s.Spec.Ports[0].NodePort)
	return func(path string, query ...string) string {
		c.t.Helper()
		q := url.Values{}
		for i := 0; i < len(query); i += 2 {
			q.Set(query[i], query[i+1])
		}
		var body string
		c.eventually("GET "+path, func() error {
			client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
			resp, err := client.Get(base + path + "?" + q.Encode())
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			body = string(b)
			return err
		})
		return body
	}
}

func (c *cluster) slice(s *corev1.Service, pods ...*corev1.Pod) {
	c.t.Helper()
	name, port, proto := "http", int32(8080), corev1.ProtocolTCP
	e := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: s.Name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &proto}},
	}
	yes := true
	for _, p := range pods {
		e.Endpoints = append(e.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{p.Status.PodIP}, Conditions: discoveryv1.EndpointConditions{Ready: &yes},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID},
		})
	}
	c.create(api.EndpointSlice, e)
}

// undeclared waits for the Event that tells of an attempt.
func (c *cluster) undeclared(p *corev1.Pod, to string) *corev1.Event {
	c.t.Helper()
	var found *corev1.Event
	c.eventually("event of "+p.Name+" to "+to, func() error {
		list, err := c.system.List(c.t.Context(), api.EventKind, api.ListOptions{})
		if err != nil {
			return err
		}
		for _, o := range list.Items {
			e, err := api.Decode[corev1.Event](o)
			if err != nil {
				return err
			}
			if e.Reason == api.ReasonUndeclared && e.InvolvedObject.UID == p.UID && e.Annotations[api.AnnotationTo] == to {
				found = e
				return nil
			}
		}
		return errors.New("no such event")
	})
	return found
}

// The whole point: what is declared works, by name and by address; what is not
// is refused at once, by name and by address, and told.
func TestDeclaredWorksUndeclaredIsRefused(t *testing.T) {
	c := newCluster(t)
	store := c.run(app("store", "serve"))
	storeService := c.service("default", "store", corev1.ServiceTypeClusterIP)
	c.slice(storeService, store)
	web, intruder := c.bind(app("web", "serve")), c.bind(app("intruder", "serve"))
	c.grant(web, grantOf(web, storeService, store))
	c.grant(intruder)
	c.running(web)
	c.running(intruder)
	askWeb, askIntruder := c.published(web), c.published(intruder)

	for _, address := range []string{"store:80", "store.default:80", "store.default.svc.cluster.local:80", storeService.Spec.ClusterIP + ":80", store.Status.PodIP + ":8080"} {
		if got := askWeb("/try", "network", "tcp", "address", address); got != "ok store" {
			t.Errorf("declared %s: %s", address, got)
		}
	}
	if got := askWeb("/try", "network", "udp", "address", "store:80"); got != "ok" {
		t.Errorf("declared UDP: %s", got)
	}
	for _, address := range []string{storeService.Spec.ClusterIP + ":80", store.Status.PodIP + ":8080"} {
		start := time.Now()
		if got := askIntruder("/try", "network", "tcp", "address", address); !strings.Contains(got, "connection refused") {
			t.Errorf("undeclared %s: %s", address, got)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("the refusal took %v", took)
		}
	}
	if got := askIntruder("/lookup", "name", "store"); !strings.Contains(got, "misbehaving") {
		t.Errorf("undeclared name: %s", got)
	}
	if got := askIntruder("/try", "network", "tcp", "address", "8.8.8.8:53"); !strings.Contains(got, "refused") {
		t.Errorf("another resolver: %s", got)
	}
	e := c.undeclared(intruder, "default/store:80")
	c.eventually("all attempts are counted", func() error {
		if e = c.undeclared(intruder, "default/store:80"); e.Count != 3 {
			return fmt.Errorf("count %d: %s", e.Count, e.Message)
		}
		return nil
	})
	if from := e.Annotations[api.AnnotationFrom]; from != "Pod/intruder" {
		t.Errorf("from %q", from)
	}
	c.undeclared(intruder, "8.8.8.8:53")
	list, err := c.system.List(t.Context(), api.EventKind, api.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Items {
		if e, _ := api.Decode[corev1.Event](o); e.Reason == api.ReasonUndeclared && e.InvolvedObject.Name == "web" {
			t.Errorf("declared access was reported: %s", e.Message)
		}
	}
}

// Case 34: the first packet of the first container finds the rules in place,
// and no container starts before.
func TestStartGate(t *testing.T) {
	c := newCluster(t)
	store := c.run(app("store", "serve"))
	service := c.service("default", "store", corev1.ServiceTypeClusterIP)
	web := c.bind(app("web", "try", service.Spec.ClusterIP+":80"))
	waiting := c.until(web, "waiting", func(p *corev1.Pod) bool { return len(p.Status.ContainerStatuses) == 1 })
	if w := waiting.Status.ContainerStatuses[0].State.Waiting; w == nil || w.Reason != "WaitingForGrants" {
		t.Errorf("before the grant: %+v", waiting.Status.ContainerStatuses[0].State)
	}
	c.grant(web, grantOf(web, service, store))
	c.running(web)
	c.eventually("log", func() error {
		log, err := c.log(web, "")
		if err != nil {
			return err
		}
		if !strings.Contains(log, "result ok store\n") {
			return fmt.Errorf("log: %s", log)
		}
		return nil
	})
}

// Cases 39, 44, 51: revocation reaches the node, also when the watch was lost.
func TestRevocation(t *testing.T) {
	c := newCluster(t)
	store, web := c.run(app("store", "serve")), c.bind(app("web", "serve"))
	service := c.service("default", "store", corev1.ServiceTypeClusterIP)
	g := grantOf(web, service, store)
	c.grant(web, g)
	c.running(web)
	ask := c.published(web)
	if got := ask("/try", "network", "tcp", "address", "store:80"); got != "ok store" {
		t.Fatalf("declared: %s", got)
	}
	if err := c.system.Delete(t.Context(), api.GrantKind.Key("", g.Name), ""); err != nil {
		t.Fatal(err)
	}
	c.eventually("revoked", func() error {
		if got := ask("/try", "network", "tcp", "address", service.Spec.ClusterIP+":80"); !strings.Contains(got, "refused") {
			return errors.New(got)
		}
		return nil
	})
}

// Case 12: an address in a grant counts only for the pod it was written for.
func TestGrantOfAnotherPodsAddress(t *testing.T) {
	c := newCluster(t)
	store, web := c.run(app("store", "serve")), c.bind(app("web", "serve"))
	service := c.service("default", "store", corev1.ServiceTypeClusterIP)
	g := grantOf(web, service, store)
	g.Spec.From[0].PodUID = "a-pod-that-is-gone"
	c.grant(web, g)
	c.running(web)
	ask := c.published(web)
	if got := ask("/try", "network", "tcp", "address", store.Status.PodIP+":8080"); !strings.Contains(got, "refused") {
		t.Errorf("the grant of a former holder of the address: %s", got)
	}
	if got := ask("/lookup", "name", "store"); !strings.Contains(got, "misbehaving") {
		t.Errorf("the name of a former holder of the address: %s", got)
	}
}

func TestDeletionStopsAndRemoves(t *testing.T) {
	c := newCluster(t)
	p := c.run(app("web", "stubborn"))
	c.published(p)("/name") // it ignores SIGTERM before it serves
	key := api.Pod.Key(p.Namespace, p.Name)
	start := time.Now()
	if err := c.system.Delete(t.Context(), key, string(p.UID)); err != nil {
		t.Fatal(err)
	}
	c.eventually("object is gone", func() error {
		if _, err := c.system.Get(t.Context(), key); err == nil {
			return errors.New("it is there")
		}
		return nil
	})
	if took := time.Since(start); took < 900*time.Millisecond || took > 4*time.Second {
		t.Errorf("stopping took %v of 1 s grace", took)
	}
}
