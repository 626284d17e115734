package auth

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"
)

const (
	// Issuer is who signs the tokens of service accounts, and the audience of
	// those for the API itself.
	Issuer = "https://kubernetes.default.svc"
	// MinTokenLife and MaxTokenLife bound how long a token is good.
	MinTokenLife = 10 * time.Minute
	MaxTokenLife = 365 * 24 * time.Hour

	// maxToken bounds a token, in bytes.
	maxToken = 16 << 10
	// algorithm is the only one: ECDSA with P-256 and SHA-256.
	algorithm = "ES256"
	// halfSignature is the size of each of a signature's two numbers, in bytes.
	halfSignature = 32
)

// Ref names an object that a token stands or falls with.
type Ref struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// Claims is what a token of a service account says, named as in Kubernetes.
// Times are Unix seconds.
type Claims struct {
	Audience   []string `json:"aud"`
	Expiry     int64    `json:"exp"`
	IssuedAt   int64    `json:"iat"`
	Issuer     string   `json:"iss"`
	ID         string   `json:"jti"`
	NotBefore  int64    `json:"nbf"`
	Subject    string   `json:"sub"`
	Kubernetes Bound    `json:"kubernetes.io"`
}

// Bound is what a token is bound to: when one of these objects is gone, or
// another of that name is there, the token is no good.
type Bound struct {
	Namespace      string `json:"namespace"`
	ServiceAccount Ref    `json:"serviceaccount"`
	Pod            *Ref   `json:"pod,omitempty"`
	Node           *Ref   `json:"node,omitempty"`
	Secret         *Ref   `json:"secret,omitempty"`
}

// ErrToken means that a text is no token of this cluster, or none that is good
// for that audience now.
var ErrToken = errors.New("invalid bearer token")

type tokenHeader struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
}

// SignToken makes a token for life from now on; it fills in c's issuer, times
// and ID.
func (c *Credentials) SignToken(claims Claims, life time.Duration) (token string, signed Claims, err error) {
	now, key := c.o.Now(), c.signing.first()
	claims.Issuer, claims.ID = Issuer, newTokenID()
	claims.IssuedAt, claims.NotBefore, claims.Expiry = now.Unix(), now.Unix(), now.Add(life).Unix()
	head, err := segment(tokenHeader{Algorithm: algorithm, KeyID: key.id})
	if err != nil {
		return "", claims, err
	}
	body, err := segment(claims)
	if err != nil {
		return "", claims, err
	}
	digest := sha256.Sum256([]byte(head + "." + body))
	r, s, err := ecdsa.Sign(rand.Reader, key.key, digest[:])
	if err != nil {
		return "", claims, fmt.Errorf("sign token: %w", err)
	}
	signature := make([]byte, 2*halfSignature)
	r.FillBytes(signature[:halfSignature])
	s.FillBytes(signature[halfSignature:])
	return head + "." + body + "." + base64.RawURLEncoding.EncodeToString(signature), claims, nil
}

// VerifyToken checks a token's signature, issuer and times, and that it is for
// one of the audiences; it returns which. Whether the objects that the token is
// bound to are there is not known here.
func (c *Credentials) VerifyToken(token string, audiences ...string) (Claims, []string, error) {
	var claims Claims
	var head tokenHeader
	parts := strings.Split(token, ".")
	if len(token) > maxToken || len(parts) != 3 || decodeSegment(parts[0], &head) != nil || head.Algorithm != algorithm {
		return claims, nil, ErrToken
	}
	key := c.signing.find(head.KeyID)
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if key == nil || err != nil || len(signature) != 2*halfSignature {
		return claims, nil, ErrToken
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	r, s := new(big.Int).SetBytes(signature[:halfSignature]), new(big.Int).SetBytes(signature[halfSignature:])
	if !ecdsa.Verify(key, digest[:], r, s) || decodeSegment(parts[1], &claims) != nil {
		return claims, nil, ErrToken
	}
	now := c.o.Now().Unix()
	switch {
	case claims.Issuer != Issuer:
		return claims, nil, ErrToken
	case now >= claims.Expiry:
		return claims, nil, fmt.Errorf("%w: it has expired", ErrToken)
	case now < claims.NotBefore-int64(backdate/time.Second):
		return claims, nil, fmt.Errorf("%w: it is not good yet", ErrToken)
	}
	for _, a := range audiences {
		if slices.Contains(claims.Audience, a) {
			return claims, intersection(audiences, claims.Audience), nil
		}
	}
	return claims, nil, fmt.Errorf("%w: its audiences %q do not include any of %q", ErrToken, claims.Audience, audiences)
}

func intersection(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

func segment(v any) (string, error) {
	b, err := json.Marshal(v)
	return base64.RawURLEncoding.EncodeToString(b), err
}

func decodeSegment(s string, into any) error {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}

func newTokenID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// KeySet returns the public keys that check tokens, as a JSON Web Key Set
// (RFC 7517), so that others can check those that are meant for them.
func (c *Credentials) KeySet() ([]byte, error) {
	type key struct {
		Use       string `json:"use"`
		Type      string `json:"kty"`
		KeyID     string `json:"kid"`
		Curve     string `json:"crv"`
		Algorithm string `json:"alg"`
		X         string `json:"x"`
		Y         string `json:"y"`
	}
	set := struct {
		Keys []key `json:"keys"`
	}{Keys: []key{}}
	for _, k := range c.signing.all() {
		point, err := k.key.PublicKey.Bytes() // 4, X, Y
		if err != nil {
			return nil, err
		}
		set.Keys = append(set.Keys, key{
			Use: "sig", Type: "EC", KeyID: k.id, Curve: "P-256", Algorithm: algorithm,
			X: base64.RawURLEncoding.EncodeToString(point[1:33]), Y: base64.RawURLEncoding.EncodeToString(point[33:65]),
		})
	}
	return json.Marshal(set)
}
