package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func parsePair(p Pair) (*x509.Certificate, crypto.Signer, error) {
	pair, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		return nil, nil, err
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, nil, errors.New("the key cannot sign")
	}
	return pair.Leaf, key, nil
}

// readPair returns an error that is os.ErrNotExist only when both files are
// missing: half a pair is damage, not a fresh start.
func readPair(certPath, keyPath string) (Pair, error) {
	cert, certErr := os.ReadFile(certPath)
	key, keyErr := os.ReadFile(keyPath)
	switch {
	case certErr == nil && keyErr == nil:
		return Pair{Cert: cert, Key: key}, nil
	case errors.Is(certErr, os.ErrNotExist) && errors.Is(keyErr, os.ErrNotExist):
		return Pair{}, certErr
	case errors.Is(certErr, os.ErrNotExist):
		return Pair{}, fmt.Errorf("%s is there but not %s", keyPath, certPath)
	case errors.Is(keyErr, os.ErrNotExist):
		return Pair{}, fmt.Errorf("%s is there but not %s", certPath, keyPath)
	}
	return Pair{}, errors.Join(certErr, keyErr)
}

func writePair(certPath, keyPath string, p Pair) error {
	// The key first: a certificate without it could not be replaced by hand.
	if err := WriteFile(keyPath, p.Key); err != nil {
		return err
	}
	return WriteFile(certPath, p.Cert)
}

// WriteFile writes a file that only its owner can read, whole or not at all,
// and durably.
func WriteFile(path string, b []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(b) // CreateTemp made it with mode 0600.
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a rename durable; where directories cannot be synced the
// system does it by itself.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	_ = d.Sync()
	return nil
}
