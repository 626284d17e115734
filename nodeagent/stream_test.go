//go:build linux

package nodeagent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/client-go/util/exec"

	"github.com/writ-dev/writ/cluster/apiserver"
)

// serveAPI serves the cluster's API over HTTPS and returns a kubeconfig.
func (c *cluster) serveAPI() string {
	c.t.Helper()
	srv, err := apiserver.New(apiserver.Options{Registry: c.registry, Credentials: c.creds, Version: "test"})
	if err != nil {
		c.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	c.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			c.t.Error(err)
		}
	})
	path := filepath.Join(c.dir, "kubeconfig")
	if err := c.creds.WriteAdminKubeconfig(path, "https://"+l.Addr().String()); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// podURL is that of a subresource of a pod.
func podURL(t testing.TB, config *rest.Config, p *corev1.Pod, sub string, options *corev1.PodExecOptions) *url.URL {
	t.Helper()
	config.APIPath, config.GroupVersion, config.NegotiatedSerializer = "/api", &corev1.SchemeGroupVersion, scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	r := client.Post().Resource("pods").Namespace(p.Namespace).Name(p.Name).SubResource(sub)
	if options != nil {
		r = r.VersionedParams(options, scheme.ParameterCodec)
	}
	return r.URL()
}

// sizes is a terminal that is resized once.
type sizes struct{ list []remotecommand.TerminalSize }

func (s *sizes) Next() *remotecommand.TerminalSize {
	if len(s.list) == 0 {
		return nil
	}
	z := s.list[0]
	s.list = s.list[1:]
	return &z
}

// TestExecStreams runs commands over both protocols.
func TestExecStreams(t *testing.T) {
	c := newCluster(t)
	p := c.run(app("p", "serve"))
	config, err := clientcmd.BuildConfigFromFlags("", c.serveAPI())
	if err != nil {
		t.Fatal(err)
	}
	for _, protocol := range []string{"WebSocket", "SPDY"} {
		t.Run(protocol, func(t *testing.T) {
			run := func(ctx context.Context, o corev1.PodExecOptions, s remotecommand.StreamOptions) error {
				t.Helper()
				o.Container, o.Stdin, o.Stdout, o.Stderr = "app", s.Stdin != nil, s.Stdout != nil, s.Stderr != nil
				u := podURL(t, config, p, "exec", &o)
				executor, err := remotecommand.NewSPDYExecutor(config, "POST", u)
				if protocol == "WebSocket" {
					executor, err = remotecommand.NewWebSocketExecutor(config, "GET", u.String())
				}
				if err != nil {
					t.Fatal(err)
				}
				return executor.StreamWithContext(ctx, s)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			var out, errs bytes.Buffer
			text := strings.Repeat("0123456789abcdef", 20000)
			if err := run(ctx, corev1.PodExecOptions{Command: []string{"app", "echo"}}, remotecommand.StreamOptions{Stdin: strings.NewReader(text), Stdout: &out, Stderr: &errs}); err != nil || out.String() != text || errs.String() != "END" {
				t.Errorf("echo: %v, %d bytes, errors %q", err, out.Len(), errs.String())
			}
			out.Reset()
			err := run(ctx, corev1.PodExecOptions{Command: []string{"app", "say", "bye", "7"}}, remotecommand.StreamOptions{Stdout: &out})
			var code utilexec.CodeExitError
			if !errors.As(err, &code) || code.Code != 7 || !strings.HasSuffix(out.String(), "bye\n") {
				t.Errorf("exit code: %v, output %q", err, out.String())
			}
			if err := run(ctx, corev1.PodExecOptions{Command: []string{"nothing"}}, remotecommand.StreamOptions{Stdout: &out}); err == nil || !strings.Contains(err.Error(), "not found") {
				t.Errorf("a command that is not there: %v", err)
			}
			out.Reset()
			err = run(ctx, corev1.PodExecOptions{Command: []string{"app", "terminal", "132"}, TTY: true}, remotecommand.StreamOptions{
				Stdin: blocked{ctx}, Stdout: &out, Tty: true, TerminalSizeQueue: &sizes{[]remotecommand.TerminalSize{{Width: 80, Height: 25}, {Width: 132, Height: 50}}},
			})
			if err != nil || out.String() != "132 by 50\r\n" {
				t.Errorf("terminal: %v %q", err, out.String())
			}
			// When the client goes, its command ends.
			short, leave := context.WithTimeout(ctx, time.Second)
			_ = run(short, corev1.PodExecOptions{Command: []string{"app", "stubborn"}}, remotecommand.StreamOptions{Stdout: io.Discard})
			leave()
			out.Reset()
			c.eventually("the command of a client that is gone", func() error {
				out.Reset()
				err := run(ctx, corev1.PodExecOptions{Command: []string{"app", "processes"}}, remotecommand.StreamOptions{Stdout: &out})
				if err == nil && strings.Contains(out.String(), "stubborn") {
					err = fmt.Errorf("still runs: %s", out.String())
				}
				return err
			})
		})
	}
}

// blocked is a keyboard that nobody touches.
type blocked struct{ ctx context.Context }

func (b blocked) Read([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, io.EOF
}

// TestPortForwardSPDY connects to a port inside a pod, which no grant allows.
func TestPortForwardSPDY(t *testing.T) {
	c := newCluster(t)
	p := c.run(app("p", "serve"))
	config, err := clientcmd.BuildConfigFromFlags("", c.serveAPI())
	if err != nil {
		t.Fatal(err)
	}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		t.Fatal(err)
	}
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, "POST", podURL(t, config, p, "portforward", nil))
	stop, ready := make(chan struct{}), make(chan struct{})
	f, err := portforward.New(dialer, []string{":8080", ":9"}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- f.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	case <-time.After(10 * time.Second):
		t.Fatal("not ready")
	}
	ports, err := f.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for range 20 {
		resp, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/name", ports[0].Local))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(b) != "p" {
			t.Fatalf("got %q", b)
		}
	}
	if resp, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/", ports[1].Local)); err == nil {
		resp.Body.Close()
		t.Error("a port at which nobody listens answers")
	}
	// After an error from the pod, this client ends.
	if err := <-done; !errors.Is(err, portforward.ErrLostConnectionToPod) {
		t.Error(err)
	}
}

// TestKubectlStreams is the real kubectl: exec, cp, attach, port-forward.
func TestKubectlStreams(t *testing.T) {
	kubectl := os.Getenv("WRIT_KUBECTL")
	if kubectl == "" {
		var err error
		if kubectl, err = exec.LookPath("kubectl"); err != nil {
			t.Fatal("there is no kubectl: run `make test`, or set WRIT_KUBECTL")
		}
	}
	c := newCluster(t)
	p := c.run(app("p", "serve"))
	config := c.serveAPI()
	command := func(ctx context.Context, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, kubectl, args...)
		cmd.Dir, cmd.Env = c.dir, append(os.Environ(), "KUBECONFIG="+config, "HOME="+c.dir, "KUBECACHEDIR="+filepath.Join(c.dir, "cache"))
		return cmd
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run := func(args ...string) string {
		t.Helper()
		cmd := command(ctx, args...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("kubectl %v: %v: %s", args, err, errs.String())
		}
		return string(out)
	}
	var exit *exec.ExitError
	if _, err := command(ctx, "exec", "p", "--", "app", "say", "x", "5").Output(); !errors.As(err, &exit) || exit.ExitCode() != 5 {
		t.Errorf("exit code: %v", err)
	}
	if out, err := command(ctx, "exec", "p", "-c", "other", "--", "app").CombinedOutput(); err == nil || !strings.Contains(string(out), "container not found") && !strings.Contains(string(out), "other") {
		t.Errorf("a container that is not there: %v %s", err, out)
	}
	in := command(ctx, "exec", "-i", "p", "--", "app", "echo")
	in.Stdin = strings.NewReader("typed")
	if out, err := in.Output(); err != nil || string(out) != "typed" {
		t.Errorf("exec -i: %v %q", err, out)
	}
	run("exec", "p", "--", "app", "install", "tar")
	if err := os.WriteFile(filepath.Join(c.dir, "there"), []byte("and back"), 0o644); err != nil {
		t.Fatal(err)
	}
	run("cp", "there", "p:/there")
	run("cp", "p:/there", "back")
	if b, err := os.ReadFile(filepath.Join(c.dir, "back")); err != nil || string(b) != "and back" {
		t.Errorf("cp: %v %q", err, b)
	}
	get := c.published(p)
	attached, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	a := command(attached, "attach", "p")
	out, err := a.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 1)
	go func() {
		b := make([]byte, 100)
		n, _ := out.Read(b)
		shown <- string(b[:n])
	}()
	for waiting := true; waiting; {
		select {
		case s := <-shown:
			if s != "printed\n" {
				t.Errorf("attach showed %q", s)
			}
			waiting = false
		case <-time.After(200 * time.Millisecond):
			get("/print", "text", "printed")
		}
	}
	stop()
	_ = a.Wait()
	forward := command(ctx, "port-forward", "p", ":8080")
	if out, err = forward.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := forward.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = forward.Process.Kill(); _ = forward.Wait() }()
	b := make([]byte, 200)
	n, err := out.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	var port int
	if _, err := fmt.Sscanf(string(b[:n]), "Forwarding from 127.0.0.1:%d", &port); err != nil {
		t.Fatalf("%v: %s", err, b[:n])
	}
	resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/name", port))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != "p" {
		t.Errorf("through port-forward: %q", body)
	}
}
