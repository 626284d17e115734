package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/yaml"
)

// The names of users and groups.
const (
	GroupMasters       = "system:masters"
	GroupNodes         = "system:nodes"
	GroupAuthenticated = "system:authenticated"
	GroupBootstrap     = "system:bootstrappers"

	// NodePrefix and a node's name make its user name.
	NodePrefix = "system:node:"
	// AdminUser is the administrator's kubeconfig, BootstrapUser the nodes'.
	AdminUser     = "writ-admin"
	BootstrapUser = "system:bootstrap:node"
	// ServerUser is the API server towards the node agents.
	ServerUser = "writ-apiserver"
)

// Options say where a cluster's credentials are and what they are for.
type Options struct {
	// Dir holds the authority, the certificates and the token: DATA/pki.
	Dir string
	// Hosts are the names and addresses that the server is reached by;
	// 127.0.0.1, ::1 and localhost are always among them.
	Hosts []string
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Credentials are all that a server needs to be itself and to know others. It
// is safe for concurrent use.
type Credentials struct {
	o         Options
	authority *Authority
	token     string
	signing   *signingKeys

	mu      sync.Mutex // guards serving, client
	serving *tls.Certificate
	client  *tls.Certificate
}

// Open reads a cluster's credentials, and makes those that are missing or
// about to expire.
func Open(o Options) (*Credentials, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make credentials directory: %w", err)
	}
	a, err := OpenAuthority(o.Dir, o.Now)
	if err != nil {
		return nil, err
	}
	hosts := []string{"127.0.0.1", "::1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	for _, h := range o.Hosts {
		if h != "" && h != "0.0.0.0" && h != "::" && !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	o.Hosts = hosts
	c := &Credentials{o: o, authority: a}
	if c.token, err = openToken(filepath.Join(o.Dir, "node.token")); err != nil {
		return nil, err
	}
	c.signing = &signingKeys{path: filepath.Join(o.Dir, "service-account.keys"), now: o.Now}
	return c, c.Renew()
}

// Renew replaces the certificates in use that have less than a third of their
// life left, and the keys that sign tokens in their time. Run it now and then;
// connections go on.
func (c *Credentials) Renew() error {
	if err := c.signing.renew(); err != nil {
		return err
	}
	serving, err := c.pair("server", Subject{Name: "writ-server", Hosts: c.o.Hosts, ServerOnly: true})
	if err != nil {
		return err
	}
	client, err := c.pair("apiserver-client", Subject{Name: ServerUser})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serving, c.client = serving, client
	return nil
}

// pair reads or makes the certificate kept as name.crt and name.key.
func (c *Credentials) pair(name string, s Subject) (*tls.Certificate, error) {
	p, err := c.stored(name, s)
	if err != nil {
		return nil, err
	}
	cert, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", name, err)
	}
	return &cert, nil
}

func (c *Credentials) stored(name string, s Subject) (Pair, error) {
	certPath, keyPath := filepath.Join(c.o.Dir, name+".crt"), filepath.Join(c.o.Dir, name+".key")
	if p, err := readPair(certPath, keyPath); err == nil && c.authority.fresh(p, s) {
		return p, nil
	}
	p, err := c.authority.Issue(s)
	if err != nil {
		return p, err
	}
	return p, writePair(certPath, keyPath, p)
}

// Authority returns the cluster's certificate authority.
func (c *Credentials) Authority() *Authority { return c.authority }

// ServerTLS is the configuration of the API's listener. Clients may come
// without a certificate; with one it must be of this cluster.
func (c *Credentials) ServerTLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		ClientAuth: tls.VerifyClientCertIfGiven,
		ClientCAs:  c.authority.Pool(),
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.serving, nil
		},
	}
}

// NodeTLS is the configuration with which the server calls node agents.
func (c *Credentials) NodeTLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		RootCAs:    c.authority.Pool(),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.client, nil
		},
	}
}

// WriteAdminKubeconfig writes the administrator's kubeconfig for a server URL.
func (c *Credentials) WriteAdminKubeconfig(path, server string) error {
	p, err := c.stored("admin", Subject{Name: AdminUser, Groups: []string{GroupMasters}})
	if err != nil {
		return err
	}
	return c.writeKubeconfig(path, server, AdminUser, map[string]any{
		"client-certificate-data": base64.StdEncoding.EncodeToString(p.Cert),
		"client-key-data":         base64.StdEncoding.EncodeToString(p.Key),
	})
}

// WriteNodeKubeconfig writes the kubeconfig with which nodes join.
func (c *Credentials) WriteNodeKubeconfig(path, server string) error {
	return c.writeKubeconfig(path, server, BootstrapUser, map[string]any{"token": c.token})
}

func (c *Credentials) writeKubeconfig(path, server, user string, credential map[string]any) error {
	b, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "writ",
		"clusters": []any{map[string]any{"name": "writ", "cluster": map[string]any{
			"server": server, "certificate-authority-data": base64.StdEncoding.EncodeToString(c.authority.pem)}}},
		"users":    []any{map[string]any{"name": user, "user": credential}},
		"contexts": []any{map[string]any{"name": "writ", "context": map[string]any{"cluster": "writ", "user": user}}},
	})
	if err != nil {
		return err
	}
	return WriteFile(path, b)
}

// tokenIs compares without telling by its time how much was right.
func (c *Credentials) tokenIs(s string) bool {
	a, b := sha256.Sum256([]byte(c.token)), sha256.Sum256([]byte(s))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

func openToken(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err == nil {
		token := strings.TrimSpace(string(b))
		if len(token) < 32 {
			return "", fmt.Errorf("token %s: too short to be one", path)
		}
		return token, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read token: %w", err)
	}
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails, see crypto/rand
	token := hex.EncodeToString(raw[:])
	return token, WriteFile(path, []byte(token+"\n"))
}
