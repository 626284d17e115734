package auth

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Lifetimes. Certificates are renewed when a third of their life is left.
const (
	authorityLife = 10 * 365 * 24 * time.Hour
	certLife      = 365 * 24 * time.Hour
	// backdate allows for clocks that differ.
	backdate = 5 * time.Minute
)

// Pair is a certificate and its key, PEM.
type Pair struct {
	Cert, Key []byte
}

// Authority is the cluster's certificate authority.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
	now  func() time.Time
}

// OpenAuthority reads the authority in dir (ca.crt, ca.key) or makes one. now
// may be nil for time.Now. An authority that is about to end is an error:
// replacing it would cut everybody off.
func OpenAuthority(dir string, now func() time.Time) (*Authority, error) {
	if now == nil {
		now = time.Now
	}
	certPath, keyPath := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
	pair, err := readPair(certPath, keyPath)
	if errors.Is(err, os.ErrNotExist) {
		if pair, err = makeAuthority(now()); err != nil {
			return nil, err
		}
		err = writePair(certPath, keyPath, pair)
	}
	if err != nil {
		return nil, fmt.Errorf("open certificate authority: %w", err)
	}
	cert, key, err := parsePair(pair)
	if err != nil {
		return nil, fmt.Errorf("certificate authority %s: %w", certPath, err)
	}
	if !cert.IsCA {
		return nil, fmt.Errorf("certificate authority %s: the certificate is no authority", certPath)
	}
	if now().After(cert.NotAfter) {
		return nil, fmt.Errorf("certificate authority %s: expired on %s", certPath, cert.NotAfter.Format(time.DateOnly))
	}
	return &Authority{cert: cert, key: key, pem: pair.Cert, now: now}, nil
}

// PEM returns the authority's certificate.
func (a *Authority) PEM() []byte { return bytes.Clone(a.pem) }

// Pool returns a pool that holds only this authority.
func (a *Authority) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// Subject is what a certificate says about its holder.
type Subject struct {
	Name   string
	Groups []string
	// Hosts are IP addresses and DNS names; with any, the certificate is good
	// for serving too.
	Hosts []string
	// ServerOnly certificates do not identify a client.
	ServerOnly bool
}

// Issue makes a key and a certificate for it.
func (a *Authority) Issue(s Subject) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	cert, err := a.sign(s, key.Public())
	if err != nil {
		return Pair{}, err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Cert: cert, Key: keyPEM}, nil
}

// SignNode signs a node's certificate request (PEM). Of the request only the
// key and the IP addresses count.
func (a *Authority) SignNode(name string, csr []byte) ([]byte, error) {
	block, _ := pem.Decode(csr)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("certificate request: not PEM of type CERTIFICATE REQUEST")
	}
	r, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("certificate request: %w", err)
	}
	if err := r.CheckSignature(); err != nil {
		return nil, fmt.Errorf("certificate request: %w", err)
	}
	switch k := r.PublicKey.(type) {
	case *ecdsa.PublicKey:
		if k.Curve != elliptic.P256() && k.Curve != elliptic.P384() {
			return nil, errors.New("certificate request: the key must be ECDSA P-256 or P-384")
		}
	default:
		return nil, fmt.Errorf("certificate request: the key must be ECDSA, not %T", k)
	}
	s := Subject{Name: NodePrefix + name, Groups: []string{GroupNodes}, Hosts: []string{name}}
	for _, ip := range r.IPAddresses {
		if len(s.Hosts) < 16 {
			s.Hosts = append(s.Hosts, ip.String())
		}
	}
	return a.sign(s, r.PublicKey)
}

func (a *Authority) sign(s Subject, public crypto.PublicKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return nil, err
	}
	now := a.now()
	t := &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)),
		Subject:      pkix.Name{CommonName: s.Name, Organization: s.Groups},
		NotBefore:    now.Add(-backdate),
		NotAfter:     earlier(now.Add(certLife), a.cert.NotAfter),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
	if !s.ServerOnly {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	}
	if len(s.Hosts) > 0 {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, h := range s.Hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, public, a.key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate of %s: %w", s.Name, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// fresh says whether a stored pair may go on being used for s.
func (a *Authority) fresh(p Pair, s Subject) bool {
	cert, _, err := parsePair(p)
	if err != nil || cert.CheckSignatureFrom(a.cert) != nil {
		return false
	}
	left := cert.NotAfter.Sub(a.now())
	if left < cert.NotAfter.Sub(cert.NotBefore)/3 || cert.Subject.CommonName != s.Name {
		return false
	}
	for _, h := range s.Hosts {
		if net.ParseIP(h) == nil && !slices.Contains(cert.DNSNames, h) {
			return false
		}
		if ip := net.ParseIP(h); ip != nil && !slices.ContainsFunc(cert.IPAddresses, ip.Equal) {
			return false
		}
	}
	return slices.Equal(cert.Subject.Organization, s.Groups) || len(s.Groups) == 0 && len(cert.Subject.Organization) == 0
}

func makeAuthority(now time.Time) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	spki, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return Pair{}, err
	}
	id := sha256.Sum256(spki)
	t := &x509.Certificate{
		SerialNumber: big.NewInt(1), SubjectKeyId: id[:20],
		// The name differs between clusters, so that tools keep them apart.
		Subject:               pkix.Name{CommonName: fmt.Sprintf("writ-ca-%x", id[:4])},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return Pair{}, fmt.Errorf("make certificate authority: %w", err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), Key: keyPEM}, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
