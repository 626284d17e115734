package auth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

const (
	// keyLife is how long a key signs. Then a new one does, and it is kept for as
	// long as a token may last.
	keyLife = 90 * 24 * time.Hour
	// keyMade is the header of a key's PEM that says when it was made.
	keyMade = "Created"
)

// signingKey signs tokens, or once did.
type signingKey struct {
	id   string
	key  *ecdsa.PrivateKey
	made time.Time
}

// signingKeys are the keys in a file, the newest, which signs, first. Whoever
// takes a key out of the file takes back all tokens that it signed.
type signingKeys struct {
	path string
	now  func() time.Time

	mu   sync.RWMutex // guards keys
	keys []signingKey
}

// renew reads the file again, puts a new key in front when there is none or it
// is too old, and drops those that no token can need any more.
func (s *signingKeys) renew() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys, err := readSigningKeys(s.path)
	if err != nil {
		return err
	}
	now, changed := s.now(), false
	if len(keys) == 0 || now.Sub(keys[0].made) > keyLife {
		k, err := makeSigningKey(now)
		if err != nil {
			return err
		}
		keys, changed = append([]signingKey{k}, keys...), true
	}
	for n := len(keys) - 1; n > 0 && now.Sub(keys[n].made) > keyLife+MaxTokenLife; n-- {
		keys, changed = keys[:n], true
	}
	if changed {
		if err := writeSigningKeys(s.path, keys); err != nil {
			return err
		}
	}
	s.keys = keys
	return nil
}

// first returns the key that signs.
func (s *signingKeys) first() signingKey {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.keys[0]
}

func (s *signingKeys) find(id string) *ecdsa.PublicKey {
	for _, k := range s.all() {
		if k.id == id {
			return &k.key.PublicKey
		}
	}
	return nil
}

func (s *signingKeys) all() []signingKey {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.keys // never changed in place
}

func makeSigningKey(now time.Time) (signingKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return signingKey{}, err
	}
	id, err := keyID(key)
	return signingKey{id: id, key: key, made: now.UTC().Truncate(time.Second)}, err
}

func keyID(key *ecdsa.PrivateKey) (string, error) {
	spki, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(spki)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

func readSigningKeys(path string) ([]signingKey, error) {
	rest, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read service account keys: %w", err)
	}
	var keys []signingKey
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		k := signingKey{}
		any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("service account key %d in %s: %w", len(keys)+1, path, err)
		}
		var ok bool
		if k.key, ok = any.(*ecdsa.PrivateKey); !ok || k.key.Curve != elliptic.P256() {
			return nil, fmt.Errorf("service account key %d in %s: must be ECDSA P-256", len(keys)+1, path)
		}
		if k.made, err = time.Parse(time.RFC3339, block.Headers[keyMade]); err != nil {
			return nil, fmt.Errorf("service account key %d in %s: header %s: %w", len(keys)+1, path, keyMade, err)
		}
		if k.id, err = keyID(k.key); err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("service account keys %s: no PEM in it; remove the file, and with it all tokens, to have a new key made", path)
	}
	return keys, nil
}

func writeSigningKeys(path string, keys []signingKey) error {
	var b bytes.Buffer
	for _, k := range keys {
		der, err := x509.MarshalPKCS8PrivateKey(k.key)
		if err != nil {
			return err
		}
		block := &pem.Block{Type: "PRIVATE KEY", Headers: map[string]string{keyMade: k.made.Format(time.RFC3339)}, Bytes: der}
		if err := pem.Encode(&b, block); err != nil {
			return err
		}
	}
	return WriteFile(path, b.Bytes())
}
