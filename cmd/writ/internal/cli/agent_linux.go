package cli

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/nodeagent"
	"github.com/writ-dev/writ/nodeagent/image"
	"github.com/writ-dev/writ/nodeagent/runtime/sandbox"
)

// agent is `writ agent`.
func (a *app) agent(ctx context.Context, o agentOptions) (err error) {
	if done, err := enterNamespace(); done {
		return err
	}
	if o.name == "" {
		o.name = nodeName()
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "writ-agent-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	}
	var images *image.Store
	if o.images != "" {
		images, err = image.Open(o.images)
	} else {
		images, err = openImages()
	}
	if err != nil {
		return err
	}
	joined := make(chan struct{})
	go func() {
		select {
		case <-joined:
			fmt.Fprintf(a.err, "joined    as node %s\n", o.name)
		case <-ctx.Done():
		}
	}()
	return runAgent(ctx, agentConfig{
		kubeconfig: a.kubeconfig, name: o.name, dir: o.dir,
		images: images, log: a.logger(o.verbose), joined: joined,
	})
}

type agentConfig struct {
	kubeconfig, name, dir string
	images                *image.Store
	log                   *slog.Logger
	// joined is closed once the node has its certificate.
	joined chan<- struct{}
}

// runAgent joins the cluster and runs pods until ctx ends.
func runAgent(ctx context.Context, c agentConfig) error {
	own, serving, err := join(ctx, c.kubeconfig, c.name)
	if err != nil {
		return fmt.Errorf("join the cluster: %w", err)
	}
	defer own.Close()
	rt, err := sandbox.New(sandbox.Options{Dir: c.dir, Images: c.images, Logger: c.log})
	if err != nil {
		return err
	}
	close(c.joined)
	err = nodeagent.Run(ctx, nodeagent.Options{
		Name: c.name, Client: own, Runtime: rt, Dir: c.dir, TLS: serving, Logger: c.log,
	})
	return errors.Join(err, rt.Close())
}

// join trades the bootstrap token for the node's own certificate, with which
// it is a client of the API and serves logs. The key never leaves the process.
func join(ctx context.Context, kubeconfig, name string) (*client.Client, *tls.Config, error) {
	bootstrap, err := client.LoadKubeconfig(kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:     pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:    []string{name},
	}, key)
	if err != nil {
		return nil, nil, fmt.Errorf("node name %q: %w", name, err)
	}
	c, err := client.New(bootstrap)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	got, err := c.Join(ctx, client.JoinRequest{
		Name: name, CSR: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: csr}),
	})
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	pair, err := tls.X509KeyPair(got.Certificate, keyPEM)
	if err != nil {
		return nil, nil, fmt.Errorf("certificate from the server: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(got.CA) {
		return nil, nil, errors.New("certificate authority from the server: no PEM certificate in it")
	}
	own, err := client.New(client.Config{Server: bootstrap.Server, CA: got.CA, Cert: got.Certificate, Key: keyPEM})
	if err != nil {
		return nil, nil, err
	}
	serving := &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair},
		ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}
	return own, serving, nil
}
