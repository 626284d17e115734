package apiserver_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/auth"
	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/registry"
)

const image = "i@sha256:0000000000000000000000000000000000000000000000000000000000000000"

// node is a joined node: its client and its serving certificate.
type node struct {
	*client.Client
	pair tls.Certificate
}

// join goes the way of an agent: token, certificate request, certificate.
func join(t testing.TB, h *harness, name string) *node {
	t.Helper()
	boot, err := client.LoadKubeconfig(h.nodeConfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(boot)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, key)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Join(t.Context(), client.JoinRequest{Name: name, CSR: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})})
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	n := &node{}
	if n.pair, err = tls.X509KeyPair(res.Certificate, keyPEM); err != nil {
		t.Fatal(err)
	}
	if n.Client, err = client.New(client.Config{Server: h.url, CA: res.CA, Cert: res.Certificate, Key: keyPEM}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

func TestNode(t *testing.T) {
	h := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	n1, n2, sys, admin := join(t, h, "n1"), join(t, h, "n2"), h.registry.As(registry.System), h.admin(t)
	node := must(t, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}]}}`)
	made, err := n1.Create(ctx, node)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := api.Decode[corev1.Node](made); err != nil || v.Spec.PodCIDR == "" || len(v.Status.Addresses) != 1 {
		t.Errorf("registered: %v %+v", err, v)
	}
	for name, f := range map[string]func() error{
		"another node":           func() error { _, err := n2.UpdateStatus(ctx, made); return err },
		"another node's name":    func() error { _, err := n2.Create(ctx, node); return err },
		"a ConfigMap":            func() error { _, err := n1.Create(ctx, configMap(t, "x")); return err },
		"secrets":                func() error { _, err := n1.List(ctx, api.Secret, api.ListOptions{}); return err },
		"in a transaction":       func() error { return transact(ctx, n1.Client, configMap(t, "x")) },
		"another node's renewal": func() error { _, err := n2.Join(ctx, client.JoinRequest{Name: "n1"}); return err },
	} {
		if err := f(); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := admin.Create(ctx, must(t, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"key","namespace":"default"},"data":{"a":"Yg=="}}`)); err != nil {
		t.Fatal(err)
	}
	secret := api.Secret.Key("default", "key")
	if _, err := n1.Get(ctx, secret); !apierrors.IsForbidden(err) {
		t.Errorf("a Secret that no pod names: %v", err)
	}
	pod := must(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"},"spec":{"containers":[{"name":"c","image":"`+image+`","env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"key","key":"a"}}}]}]}}`)
	if _, err := admin.Create(ctx, pod); err != nil {
		t.Fatal(err)
	}
	if _, err := sys.Bind(ctx, "default", "p", "", "n1", registry.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := n1.Get(ctx, secret); err != nil {
		t.Errorf("a Secret that its pod names: %v", err)
	}
	if _, err := n2.Get(ctx, secret); !apierrors.IsForbidden(err) {
		t.Errorf("another node's Secret: %v", err)
	}
	if pod, err = n1.Get(ctx, pod.Key()); err != nil {
		t.Fatal(err)
	}
	tree := pod.Tree()
	tree["status"].(map[string]any)["phase"] = "Running"
	running, err := object.FromTree(tree)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n2.UpdateStatus(ctx, running); !apierrors.IsForbidden(err) {
		t.Errorf("another node's pod: %v", err)
	}
	if _, err := n1.UpdateStatus(ctx, running); err != nil {
		t.Errorf("its own pod: %v", err)
	}
	if err := admin.Delete(ctx, pod.Key(), ""); err != nil {
		t.Fatal(err)
	}
	if err := n2.Delete(ctx, pod.Key(), ""); !apierrors.IsForbidden(err) {
		t.Errorf("another node's pod is deleted: %v", err)
	}
	if err := n1.Delete(ctx, pod.Key(), pod.Meta().UID); err != nil {
		t.Error(err)
	}
	if _, err := admin.Get(ctx, pod.Key()); !apierrors.IsNotFound(err) {
		t.Errorf("after the agent's deletion: %v", err)
	}
}

func configMap(t testing.TB, name string) object.Object {
	return must(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`","namespace":"default"}}`)
}

func transact(ctx context.Context, c *client.Client, list ...object.Object) error {
	var t api.Transaction
	for _, o := range list {
		t.Operations = append(t.Operations, api.Operation{Action: api.ActionCreate, Object: o})
	}
	_, err := c.Transact(ctx, t)
	return err
}

// TestLogs has an agent of its own: HTTPS with the certificate from joining,
// for nobody but the API server.
func TestLogs(t *testing.T) {
	h := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	n := join(t, h, "n1")
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{n.pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: h.creds.Authority().Pool()})
	if err != nil {
		t.Fatal(err)
	}
	agent := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.PeerCertificates[0].Subject.CommonName != auth.ServerUser {
			http.Error(w, "who are you", http.StatusForbidden)
			return
		}
		if r.URL.Query().Get("previous") == "true" {
			http.Error(w, "no former container", http.StatusNotFound)
			return
		}
		_, _ = fmt.Fprintf(w, "%s tail=%s\n", r.URL.Path, r.URL.Query().Get("tailLines"))
		if r.URL.Query().Get("follow") == "true" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	})}
	served := make(chan error, 1)
	go func() { served <- agent.Serve(l) }()
	defer func() { _ = agent.Close(); <-served }()
	port := l.Addr().(*net.TCPAddr).Port
	status := fmt.Sprintf(`{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":%d}}}`, port)
	if _, err := n.Create(ctx, must(t, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":`+status+`}`)); err != nil {
		t.Fatal(err)
	}
	sys, admin := h.registry.As(registry.System), h.admin(t)
	if _, err := sys.Create(ctx, must(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"},"spec":{"containers":[{"name":"a","image":"`+image+`"},{"name":"b","image":"`+image+`"}]}}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Logs(ctx, "default", "p", client.LogOptions{Container: "a"}); !apierrors.IsBadRequest(err) {
		t.Errorf("unbound: %v", err)
	}
	if _, err := sys.Bind(ctx, "default", "p", "", "n1", registry.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	k := h.kubectl(t)
	if out := k.run(t, "", "logs", "p", "-c", "b", "--tail=3"); out != "/containerLogs/default/p/b tail=3\n" {
		t.Errorf("kubectl logs: %q", out)
	}
	if errOut := k.fails(t, "", "logs", "p", "-c", "b", "--previous"); !strings.Contains(errOut, "no former container") {
		t.Errorf("kubectl logs --previous: %s", errOut)
	}
	if _, err := admin.Logs(ctx, "default", "p", client.LogOptions{}); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "[a b]") {
		t.Errorf("no container named: %v", err)
	}
	if _, err := admin.Logs(ctx, "default", "p", client.LogOptions{Container: "c"}); !apierrors.IsBadRequest(err) {
		t.Errorf("no such container: %v", err)
	}
	body, err := admin.Logs(ctx, "default", "p", client.LogOptions{Container: "a", Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	first := make([]byte, 20)
	if _, err := io.ReadFull(body, first); err != nil || !strings.HasPrefix(string(first), "/containerLogs") {
		t.Errorf("followed: %v %q", err, first)
	}
	begin := time.Now()
	h.stop() // ends what is followed
	if _, err := io.ReadAll(body); err != nil {
		t.Logf("the followed log ended with: %v", err)
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("a followed log held the server for %s", took)
	}
}

// TestOpenAPI checks what kubectl cannot: every reference leads somewhere, and
// merge keys are told.
func TestOpenAPI(t *testing.T) {
	h := start(t)
	c := httpClient(t, h)
	_, b := raw(t, c, "GET", h.url+"/openapi/v3", "", nil)
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	if err := json.Unmarshal(b, &index); err != nil || len(index.Paths) < 6 {
		t.Fatalf("index: %v %s", err, b)
	}
	for p, v := range index.Paths {
		code, b := raw(t, c, "GET", h.url+v.ServerRelativeURL, "", nil)
		if code != 200 {
			t.Errorf("%s: %d", p, code)
			continue
		}
		references(t, p, b)
		if p == "apis/apps/v1" && !strings.Contains(string(b), `"x-kubernetes-patch-merge-key":"name"`) {
			t.Error("merge keys are missing")
		}
	}
	_, b = raw(t, c, "GET", h.url+"/openapi/v2", "", nil)
	references(t, "v2", b)
	cs := clientset(t, h.rest(t, false))
	doc, err := cs.Discovery().OpenAPISchema() // protobuf
	if err != nil || len(doc.GetDefinitions().GetAdditionalProperties()) < 100 {
		t.Errorf("as protobuf: %v", err)
	}
}

func references(t *testing.T, where string, b []byte) {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	n := 0
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				n++
				at := any(doc)
				for _, part := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
					m, _ := at.(map[string]any)
					at = m[part]
				}
				if at == nil {
					t.Errorf("%s: %s leads nowhere", where, ref)
				}
			}
			for _, e := range v {
				walk(e)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(doc)
	if n == 0 {
		t.Errorf("%s: no reference at all", where)
	}
}
