package apiserver_test

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/cluster/apiserver"
	"github.com/writ-dev/writ/cluster/auth"
	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/cluster/registry"
	"github.com/writ-dev/writ/cluster/store"
)

// harness is a whole API server in this process: real HTTPS, real
// credentials, a real store with the local proposer.
type harness struct {
	registry   *registry.Registry
	creds      *auth.Credentials
	url        string
	kubeconfig string
	nodeConfig string
	// stop ends the server and waits for it.
	stop func()
}

func start(t testing.TB) *harness {
	t.Helper()
	s := store.New(store.Options{})
	return startOn(t, s, store.Local(s))
}

func startOn(t testing.TB, s *store.Store, p store.Proposer) *harness {
	t.Helper()
	return startWith(t, s, p, func(*apiserver.Options) {})
}

// startWith lets the test change the server's options.
func startWith(t testing.TB, s *store.Store, p store.Proposer, change func(*apiserver.Options)) *harness {
	t.Helper()
	reg, err := registry.New(registry.Options{Store: s, Proposer: p})
	if err != nil {
		t.Fatal(err)
	}
	if err := reg.As(registry.System).Bootstrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	creds, err := auth.Open(auth.Options{Dir: filepath.Join(dir, "pki")})
	if err != nil {
		t.Fatal(err)
	}
	o := apiserver.Options{Registry: reg, Credentials: creds, Version: "test"}
	change(&o)
	srv, err := apiserver.New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{registry: reg, creds: creds, url: "https://" + l.Addr().String(), kubeconfig: filepath.Join(dir, "admin.kubeconfig"), nodeConfig: filepath.Join(dir, "node.kubeconfig")}
	if err := creds.WriteAdminKubeconfig(h.kubeconfig, h.url); err != nil {
		t.Fatal(err)
	}
	if err := creds.WriteNodeKubeconfig(h.nodeConfig, h.url); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	stopped := false
	h.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("serve: %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("the server did not stop within 10 s")
		}
	}
	t.Cleanup(h.stop)
	return h
}

// admin returns Writ's own client, as the administrator.
func (h *harness) admin(t testing.TB) *client.Client {
	t.Helper()
	c, err := client.FromKubeconfig(h.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// adminTLS is for requests by hand.
func (h *harness) adminTLS(t testing.TB) *tls.Config {
	t.Helper()
	return h.userTLS(t, auth.AdminUser, auth.GroupMasters)
}

func (h *harness) userTLS(t testing.TB, name string, groups ...string) *tls.Config {
	t.Helper()
	p, err := h.creds.Authority().Issue(auth.Subject{Name: name, Groups: groups})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{RootCAs: h.creds.Authority().Pool(), Certificates: []tls.Certificate{pair}}
}

// kubectl is the real program. WRIT_KUBECTL names it; else it is on PATH.
type kubectl struct {
	path, home, config string
}

func (h *harness) kubectl(t testing.TB) *kubectl {
	t.Helper()
	path := os.Getenv("WRIT_KUBECTL")
	if path == "" {
		var err error
		if path, err = exec.LookPath("kubectl"); err != nil {
			t.Fatal("these tests run the real kubectl, and there is none: run `make test`, which finds or builds one, or set WRIT_KUBECTL to a kubectl of version 1.32 or newer")
		}
	}
	return &kubectl{path: path, home: t.TempDir(), config: h.kubeconfig}
}

// try runs kubectl with stdin and returns what it printed.
func (k *kubectl) try(t testing.TB, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.path, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+k.config, "HOME="+k.home, "KUBECACHEDIR="+filepath.Join(k.home, "cache"))
	cmd.Stdin = strings.NewReader(stdin)
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	return out.String(), errOut.String(), err
}

// run is try for commands that must succeed.
func (k *kubectl) run(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	out, errOut, err := k.try(t, stdin, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\nstdout: %s\nstderr: %s", strings.Join(args, " "), err, out, errOut)
	}
	return out
}

// fails is try for commands that must not succeed; it returns stderr.
func (k *kubectl) fails(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	out, errOut, err := k.try(t, stdin, args...)
	if err == nil {
		t.Fatalf("kubectl %s succeeded\nstdout: %s", strings.Join(args, " "), out)
	}
	return errOut
}

// nodeTLS is for requests by hand as a node.
func (h *harness) nodeTLS(n *node) *tls.Config {
	return &tls.Config{RootCAs: h.creds.Authority().Pool(), Certificates: []tls.Certificate{n.pair}}
}
