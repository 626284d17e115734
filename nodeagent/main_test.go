//go:build linux

package nodeagent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/auth"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/registry"
	"github.com/writ-dev/writ/cluster/store"
	"github.com/writ-dev/writ/nodeagent/image"
	"github.com/writ-dev/writ/nodeagent/runtime/sandbox"
)

// scratchEnv names the directory that holds the image store of the first run.
const scratchEnv = "WRIT_AGENT_TEST_SCRATCH"

const appImage = "writ/app:latest"

// scratch is what TestMain prepares: the app's image.
var scratch string

// TestMain runs the tests as they are and, if that is root, once more as
// nobody. Without root they run in a user namespace.
func TestMain(m *testing.M) {
	sandbox.Init()
	if !sandbox.Privileged() {
		code, err := sandbox.Reenter(os.Args[1:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}
	if scratch = os.Getenv(scratchEnv); scratch != "" {
		os.Exit(m.Run())
	}
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runAll(m *testing.M) (code int, err error) {
	if scratch, err = os.MkdirTemp("", "writ-agent-test-"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := os.Chmod(scratch, 0o755); err != nil {
		return 1, err
	}
	images, err := image.Open(filepath.Join(scratch, "images"))
	if err != nil {
		return 1, err
	}
	if _, err := images.Build(context.Background(), image.BuildOptions{Dir: "testdata/app", Ref: appImage}); err != nil {
		return 1, err
	}
	if code = m.Run(); !realRoot() {
		return code, nil
	}
	fmt.Println("once more as nobody:")
	if err := asNobody(); err != nil {
		return 1, err
	}
	return code, nil
}

// realRoot says whether this is root, and not only in a user namespace.
func realRoot() bool {
	ids, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && os.Getuid() == 0 && slices.Equal(strings.Fields(string(ids)), []string{"0", "0", "4294967295"})
}

// asNobody runs this program as a user without rights, on copies of its own.
func asNobody() error {
	const nobody = 65534
	home := filepath.Join(scratch, "nobody")
	program := filepath.Join(home, "agent.test")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	for _, err := range []error{
		os.MkdirAll(filepath.Join(home, "tmp"), 0o755),
		os.WriteFile(program, self, 0o755),
		os.CopyFS(filepath.Join(home, "images"), os.DirFS(filepath.Join(scratch, "images"))),
		os.RemoveAll(filepath.Join(home, "images", "rootfs")),
		exec.Command("chown", "-R", fmt.Sprintf("%d:%d", nobody, nobody), home).Run(),
	} {
		if err != nil {
			return err
		}
	}
	var args []string
	for _, a := range os.Args[1:] {
		if a != "-test.testlogfile" && !hasPrefixAny(a, "-test.testlogfile=", "-test.coverprofile=") {
			args = append(args, a)
		}
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, os.Stdout, os.Stderr
	cmd.Env = []string{scratchEnv + "=" + home, "TMPDIR=" + filepath.Join(home, "tmp"), "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd.Run()
}

func hasPrefixAny(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if len(s) >= len(p) && s[:len(p)] == p {
			return true
		}
	}
	return false
}

// cluster is a registry with an agent on it. The test plays scheduler and
// controllers, as the system.
type cluster struct {
	t        testing.TB
	registry *registry.Registry
	system   api.Client
	creds    *auth.Credentials
	ca       *auth.Authority
	dir      string
	stop     func()
}

const nodeName = "n1"

func newCluster(t testing.TB) *cluster {
	t.Helper()
	s := store.New(store.Options{})
	r, err := registry.New(registry.Options{Store: s, Proposer: store.Local(s)})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, registry: r, system: r.As(registry.System), dir: t.TempDir()}
	if c.creds, err = auth.Open(auth.Options{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	c.ca = c.creds.Authority()
	for _, ns := range []string{"default", "kube-system", "kube-node-lease", "bank"} {
		c.create(api.Namespace, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
	}
	c.start(c.client())
	return c
}

// client is the agent's own.
func (c *cluster) client() api.Client {
	return c.registry.As(registry.User{Name: "system:node:" + nodeName, Groups: []string{"system:nodes"}})
}

// start starts the agent; c.stop ends it and checks that it ends well.
func (c *cluster) start(client api.Client) {
	c.t.Helper()
	images, err := image.Open(filepath.Join(scratch, "images"))
	if err != nil {
		c.t.Fatal(err)
	}
	rt, err := sandbox.New(sandbox.Options{Dir: filepath.Join(c.dir, "run"), Images: images})
	if err != nil {
		c.t.Fatal(err)
	}
	pair, err := c.ca.Issue(auth.Subject{Name: "system:node:" + nodeName, Groups: []string{"system:nodes"}, Hosts: []string{"127.0.0.1"}})
	if err != nil {
		c.t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, Options{
			Name: nodeName, Client: client, Runtime: rt, Dir: filepath.Join(c.dir, "agent"),
			TLS: &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: c.ca.Pool()},
		})
	}()
	c.stop = sync.OnceFunc(func() {
		cancel()
		start := time.Now()
		select {
		case err := <-done:
			if err != nil {
				c.t.Errorf("agent: %v", err)
			}
			if took := time.Since(start); took > 5*time.Second {
				c.t.Errorf("the agent took %v to stop", took)
			}
		case <-time.After(20 * time.Second):
			c.t.Fatal("the agent did not stop")
		}
		if err := rt.Close(); err != nil {
			c.t.Error(err)
		}
	})
	c.t.Cleanup(c.stop)
	c.eventually("node is ready", func() error {
		_, err := get[corev1.Node](c.t.Context(), c.system, api.Node.Key("", nodeName))
		return err
	})
}

// eventually waits until f returns nil.
func (c *cluster) eventually(what string, f func() error) {
	c.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (c *cluster) create(k api.Kind, typed any) object.Object {
	c.t.Helper()
	o, err := api.Encode(k, typed)
	if err != nil {
		c.t.Fatal(err)
	}
	o, err = c.system.Create(c.t.Context(), o)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		c.t.Fatalf("create %s: %v", k.Kind, err)
	}
	return o
}

// app is a pod that runs the app with args, bound to the node.
func app(name string, args ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": name}}}
	grace := int64(1)
	p.Spec.TerminationGracePeriodSeconds = &grace
	p.Spec.NodeName = nodeName
	p.Spec.Containers = []corev1.Container{{Name: "app", Image: appImage, Args: args}}
	return p
}

// run creates a pod without access to anything and lets it start.
func (c *cluster) run(p *corev1.Pod) *corev1.Pod {
	c.t.Helper()
	p = c.bind(p)
	c.grant(p)
	return c.running(p)
}

// bind creates a pod on the node: it has an address and no grants yet.
func (c *cluster) bind(p *corev1.Pod) *corev1.Pod {
	c.t.Helper()
	o := c.create(api.Pod, p)
	p, err := api.Decode[corev1.Pod](o)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := netip.ParseAddr(p.Status.PodIP); err != nil {
		c.t.Fatalf("pod %s got no address: %v", p.Name, err)
	}
	return p
}

// running waits for a pod to run.
func (c *cluster) running(p *corev1.Pod) *corev1.Pod {
	c.t.Helper()
	return c.until(p, "running", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
}

func (c *cluster) until(p *corev1.Pod, what string, ok func(*corev1.Pod) bool) *corev1.Pod {
	c.t.Helper()
	var now *corev1.Pod
	c.eventually("pod "+p.Name+" "+what, func() error {
		var err error
		if now, err = get[corev1.Pod](c.t.Context(), c.system, api.Pod.Key(p.Namespace, p.Name)); err != nil {
			return err
		}
		if !ok(now) {
			return fmt.Errorf("status %+v", now.Status)
		}
		return nil
	})
	return now
}

// grant writes grants, each with the pod as consumer, and the condition, in
// one transaction, as the dependency controller does.
func (c *cluster) grant(p *corev1.Pod, grants ...*api.Grant) {
	c.t.Helper()
	for {
		live, err := get[corev1.Pod](c.t.Context(), c.system, api.Pod.Key(p.Namespace, p.Name))
		if err != nil {
			c.t.Fatal(err)
		}
		live = live.DeepCopy()
		live.Status.Conditions = append(live.Status.Conditions, corev1.PodCondition{
			Type: api.ConditionGranted, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
		})
		var t api.Transaction
		for _, g := range grants {
			t.Operations = append(t.Operations, c.operation(api.ActionCreate, api.GrantKind, g))
		}
		t.Operations = append(t.Operations, c.operation(api.ActionUpdateStatus, api.Pod, live))
		_, err = c.system.Transact(c.t.Context(), t)
		if err == nil {
			return
		}
		if !apierrors.IsConflict(err) {
			c.t.Fatalf("grant: %v", err)
		}
	}
}

func (c *cluster) operation(a api.Action, k api.Kind, typed any) api.Operation {
	c.t.Helper()
	o, err := api.Encode(k, typed)
	if err != nil {
		c.t.Fatal(err)
	}
	return api.Operation{Action: a, Object: o}
}

// grantOf lets consumer use a Service, whose endpoints are port 8080 of pods.
func grantOf(consumer *corev1.Pod, s *corev1.Service, pods ...*corev1.Pod) *api.Grant {
	g := &api.Grant{ObjectMeta: metav1.ObjectMeta{Name: consumer.Name + "-" + s.Name}}
	g.Spec = api.GrantSpec{
		Dependency: "default/" + s.Name, DependencyUID: "u", ConsumerNamespace: consumer.Namespace,
		Consumer: "Deployment/" + consumer.Name, ServiceNamespace: s.Namespace, ServiceName: s.Name, ClusterIP: s.Spec.ClusterIP,
		From: []api.GrantSource{{IP: consumer.Status.PodIP, PodUID: string(consumer.UID)}},
	}
	for _, proto := range []string{"TCP", "UDP"} {
		port := api.GrantPort{Name: "http-" + proto, Protocol: proto, Port: 80}
		for _, p := range pods {
			port.Endpoints = append(port.Endpoints, api.GrantEndpoint{IP: p.Status.PodIP, Port: 8080, PodUID: string(p.UID)})
		}
		g.Spec.Ports = append(g.Spec.Ports, port)
	}
	return g
}
