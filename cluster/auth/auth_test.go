package auth_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/cluster/access"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/auth"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/rbac"
)

func open(t *testing.T, dir string, now time.Time, hosts ...string) *auth.Credentials {
	t.Helper()
	c, err := auth.Open(auth.Options{Dir: dir, Hosts: hosts, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func leaf(t *testing.T, b []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(b)
	if block == nil {
		t.Fatalf("no PEM: %s", b)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFilesAreReusedAndRenewed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	now := time.Now()
	files := []string{"ca.crt", "ca.key", "server.crt", "server.key", "apiserver-client.crt", "node.token"}
	state := func() (out []string) {
		for _, f := range files {
			out = append(out, string(read(t, filepath.Join(dir, f))))
		}
		return out
	}
	open(t, dir, now)
	first := state()
	open(t, dir, now.Add(time.Hour))
	if diff := cmp.Diff(first, state()); diff != "" {
		t.Errorf("opened again, files changed: %s", diff)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
	open(t, dir, now, "example.test")
	if got := leaf(t, read(t, filepath.Join(dir, "server.crt"))).DNSNames; !slices.Contains(got, "example.test") {
		t.Errorf("a new name is not in the certificate: %v", got)
	}
	open(t, dir, now.Add(300*24*time.Hour))
	later := state()
	if first[0] != later[0] || first[1] != later[1] || first[5] != later[5] {
		t.Error("the authority or the token was replaced")
	}
	if first[2] == later[2] || first[4] == later[4] {
		t.Error("certificates about to expire were kept")
	}
	if err := os.Remove(filepath.Join(dir, "ca.key")); err != nil {
		t.Fatal(err)
	}
	if _, err := auth.Open(auth.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "ca.key") {
		t.Errorf("half an authority: %v", err)
	}
}

func request(t *testing.T, subject pkix.Name, key any, ips ...net.IP) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject, IPAddresses: ips, DNSNames: []string{"kubernetes.default"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

func TestSignNode(t *testing.T) {
	a := open(t, t.TempDir(), time.Now()).Authority()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	csr := request(t, pkix.Name{CommonName: "admin", Organization: []string{auth.GroupMasters}}, key, net.IPv4(10, 0, 0, 1))
	b, err := a.SignNode("n1", csr)
	if err != nil {
		t.Fatal(err)
	}
	c := leaf(t, b)
	if c.Subject.CommonName != "system:node:n1" || !slices.Equal(c.Subject.Organization, []string{auth.GroupNodes}) || c.IsCA {
		t.Errorf("the request chose its subject: %v", c.Subject)
	}
	if !slices.Equal(c.DNSNames, []string{"n1"}) || len(c.IPAddresses) != 1 {
		t.Errorf("names %v %v", c.DNSNames, c.IPAddresses)
	}
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	broken := bytes.Replace(csr, []byte("M"), []byte("N"), 1)
	for name, bad := range map[string][]byte{"nothing": nil, "text": []byte("x"), "broken": broken, "rsa": request(t, pkix.Name{}, weak)} {
		if _, err := a.SignNode("n1", bad); err == nil {
			t.Errorf("%s was signed", name)
		}
	}
}

func FuzzSignNode(f *testing.F) {
	a, err := auth.OpenAuthority(f.TempDir(), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("n1", []byte("-----BEGIN CERTIFICATE REQUEST-----\nMA==\n-----END CERTIFICATE REQUEST-----\n"))
	f.Fuzz(func(t *testing.T, name string, csr []byte) {
		if _, err := a.SignNode(name, csr); err == nil {
			t.Skip("a valid request")
		}
	})
}

func TestAuthenticate(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, time.Now())
	other := open(t, t.TempDir(), time.Now())
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, err := c.Authenticate(r)
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(u.Name + " " + strings.Join(u.Groups, ",")))
	}))
	tlsConfig := c.ServerTLS()
	tlsConfig.NextProtos = []string{"http/1.1"}
	srv.Listener = tls.NewListener(srv.Listener, tlsConfig)
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	srv.Start()
	defer srv.Close()
	url := strings.Replace(srv.URL, "http://", "https://", 1)
	token := strings.TrimSpace(string(read(t, filepath.Join(dir, "node.token"))))
	issue := func(c *auth.Credentials, s auth.Subject) []tls.Certificate {
		p, err := c.Authority().Issue(s)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(p.Cert, p.Key)
		if err != nil {
			t.Fatal(err)
		}
		return []tls.Certificate{pair}
	}
	for _, test := range []struct {
		name, header, want string
		certs              []tls.Certificate
		refused            bool
	}{
		{name: "nobody", want: "401"},
		{name: "token", header: "Bearer " + token, want: "system:bootstrap:node system:bootstrappers,system:authenticated"},
		{name: "wrong token", header: "Bearer " + token + "0", want: "401"},
		{name: "empty token", header: "Bearer ", want: "401"},
		{name: "basic", header: "Basic " + token, want: "401"},
		{name: "certificate", certs: issue(c, auth.Subject{Name: "a", Groups: []string{"g"}}), want: "a g,system:authenticated"},
		{name: "certificate without a name", certs: issue(c, auth.Subject{Groups: []string{auth.GroupMasters}}), want: "401"},
		{name: "certificate of another cluster", certs: issue(other, auth.Subject{Name: "a", Groups: []string{auth.GroupMasters}}), refused: true},
		{name: "server's certificate", certs: issue(c, auth.Subject{Name: "a", Hosts: []string{"x"}, ServerOnly: true}), refused: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.Authority().Pool(), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				if len(test.certs) == 0 {
					return new(tls.Certificate), nil
				}
				return &test.certs[0], nil
			}}}
			defer tr.CloseIdleConnections()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if test.header != "" {
				req.Header.Set("Authorization", test.header)
			}
			resp, err := tr.RoundTrip(req)
			if test.refused {
				if err == nil {
					_ = resp.Body.Close()
					t.Fatalf("answered %d", resp.StatusCode)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var b bytes.Buffer
			_, _ = b.ReadFrom(resp.Body)
			if got := b.String(); got != test.want && (test.want != "401" || resp.StatusCode != 401) {
				t.Errorf("%d %q, want %q", resp.StatusCode, got, test.want)
			}
		})
	}
}

// defaults is a state with nothing but the default roles.
func defaults(t *testing.T) *access.Objects {
	t.Helper()
	var all []object.Object
	for _, r := range rbac.DefaultRoles() {
		all = append(all, encode(t, api.ClusterRole, r))
	}
	for _, b := range rbac.DefaultBindings() {
		all = append(all, encode(t, api.ClusterRoleBinding, b))
	}
	return access.NewObjects(all)
}

func encode(t *testing.T, k api.Kind, v any) object.Object {
	t.Helper()
	o, err := api.Encode(k, v)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAuthorize(t *testing.T) {
	facts := auth.Facts{
		Roles: func() *rbac.Index { return rbac.Compile(defaults(t)) },
		PodNode: func(_, name string) (string, bool) {
			node, ok := map[string]string{"mine": "n1", "other": "n2", "unbound": ""}[name]
			return node, ok
		},
		NodeReads: func(node, resource, _, name string) bool {
			return node == "n1" && resource == "secrets" && name == "used"
		},
	}
	admin := auth.User{Name: "root", Groups: []string{auth.GroupMasters}}
	node := auth.User{Name: "system:node:n1", Groups: []string{auth.GroupNodes, auth.GroupAuthenticated}}
	fake := auth.User{Name: "system:node:n1", Groups: []string{auth.GroupAuthenticated}}
	boot := auth.User{Name: auth.BootstrapUser, Groups: []string{auth.GroupBootstrap, auth.GroupAuthenticated}}
	for _, test := range []struct {
		user auth.User
		a    auth.Attributes
		want bool
	}{
		{admin, auth.Attributes{Verb: "delete", Resource: "secrets", Namespace: "x", Name: "y"}, true},
		{boot, auth.Attributes{Verb: "post", Path: "/writ/v1/join"}, true},
		{boot, auth.Attributes{Verb: "get", Path: "/version"}, true},
		{boot, auth.Attributes{Verb: "list", Resource: "pods"}, false},
		{boot, auth.Attributes{Verb: "get", Path: "/metrics"}, false},
		{boot, auth.Attributes{Verb: "create", Resource: "nodes", Name: "n1"}, false},
		{fake, auth.Attributes{Verb: "list", Resource: "pods"}, false},
		{fake, auth.Attributes{Verb: "post", Path: "/writ/v1/join"}, false},
		{node, auth.Attributes{Verb: "list", Resource: "pods"}, true},
		{node, auth.Attributes{Verb: "watch", Group: "writ.dev", Resource: "grants"}, true},
		{node, auth.Attributes{Verb: "get", Resource: "pods", Subresource: "log", Namespace: "d", Name: "mine"}, false},
		{node, auth.Attributes{Verb: "get", Resource: "secrets", Namespace: "d", Name: "used"}, true},
		{node, auth.Attributes{Verb: "get", Resource: "secrets", Namespace: "d", Name: "unused"}, false},
		{node, auth.Attributes{Verb: "list", Resource: "secrets", Namespace: "d"}, false},
		{node, auth.Attributes{Verb: "watch", Resource: "secrets", Namespace: "d", Name: "used"}, false},
		{node, auth.Attributes{Verb: "get", Resource: "configmaps", Namespace: "d", Name: "used"}, false},
		{node, auth.Attributes{Verb: "create", Resource: "nodes", Name: "n1"}, true},
		{node, auth.Attributes{Verb: "create", Resource: "nodes", Name: "n2"}, false},
		{node, auth.Attributes{Verb: "update", Resource: "nodes", Subresource: "status", Name: "n1"}, true},
		{node, auth.Attributes{Verb: "update", Resource: "nodes", Subresource: "status", Name: "n2"}, false},
		{node, auth.Attributes{Verb: "delete", Resource: "nodes", Name: "n1"}, false},
		{node, auth.Attributes{Verb: "update", Resource: "pods", Subresource: "status", Namespace: "d", Name: "mine"}, true},
		{node, auth.Attributes{Verb: "update", Resource: "pods", Subresource: "status", Namespace: "d", Name: "other"}, false},
		{node, auth.Attributes{Verb: "update", Resource: "pods", Subresource: "status", Namespace: "d", Name: "unbound"}, false},
		{node, auth.Attributes{Verb: "update", Resource: "pods", Namespace: "d", Name: "mine"}, false},
		{node, auth.Attributes{Verb: "create", Resource: "pods", Namespace: "d", Name: "new"}, false},
		{node, auth.Attributes{Verb: "create", Resource: "pods", Subresource: "binding", Namespace: "d", Name: "mine"}, false},
		{node, auth.Attributes{Verb: "delete", Resource: "pods", Namespace: "d", Name: "mine"}, true},
		{node, auth.Attributes{Verb: "delete", Resource: "pods", Namespace: "d", Name: "other"}, false},
		{node, auth.Attributes{Verb: "deletecollection", Resource: "pods", Namespace: "d"}, false},
		{node, auth.Attributes{Verb: "create", Resource: "events", Namespace: "d", Name: "e"}, true},
		{node, auth.Attributes{Verb: "delete", Resource: "events", Namespace: "d", Name: "e"}, false},
		{node, auth.Attributes{Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: "kube-node-lease", Name: "n1"}, true},
		{node, auth.Attributes{Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: "kube-node-lease", Name: "n2"}, false},
		{node, auth.Attributes{Verb: "create", Group: "writ.dev", Resource: "grants", Name: "g"}, false},
		{node, auth.Attributes{Verb: "create", Group: "apps", Resource: "deployments", Namespace: "d", Name: "x"}, false},
		{node, auth.Attributes{Verb: "create", Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}, true},
	} {
		d := auth.Authorize(test.user, test.a, facts)
		if d.Allowed != test.want {
			t.Errorf("%s %+v: %+v, want %v", test.user.Name, test.a, d, test.want)
		}
	}
}
