package auth_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/cluster/auth"
)

func claims(audiences ...string) auth.Claims {
	return auth.Claims{Audience: audiences, Subject: "system:serviceaccount:shop:web", Kubernetes: auth.Bound{Namespace: "shop", ServiceAccount: auth.Ref{Name: "web", UID: "1"}}}
}

func TestToken(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c, err := auth.Open(auth.Options{Dir: t.TempDir(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	token, signed, err := c.SignToken(claims("a", "b"), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	got, audiences, err := c.VerifyToken(token, "x", "b")
	if err != nil || got.Subject != signed.Subject || got.ID == "" || got.Kubernetes.ServiceAccount.UID != "1" || !slices.Equal(audiences, []string{"b"}) {
		t.Fatalf("%+v %v %v", got, audiences, err)
	}
	parts := strings.Split(token, ".")
	bad := map[string]string{"another audience": token, "nothing": "", "no dots": "abc", "a part more": token + ".x", "padded": token + "="}
	bad["no signature"] = parts[0] + "." + parts[1] + "."
	bad["another algorithm"] = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
	bad["another subject"] = parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(decode(t, parts[1]), "shop:web", "shop:adm", 1))) + "." + parts[2]
	bad["long"] = strings.Repeat("x", 1<<20)
	for name, text := range bad {
		audience := "a"
		if name == "another audience" {
			audience = "c"
		}
		if _, _, err := c.VerifyToken(text, audience); !errors.Is(err, auth.ErrToken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	now = now.Add(time.Hour)
	if _, _, err := c.VerifyToken(token, "a"); !errors.Is(err, auth.ErrToken) || !strings.Contains(err.Error(), "expired") {
		t.Errorf("expired: %v", err)
	}
	now = now.Add(-2 * time.Hour)
	if _, _, err := c.VerifyToken(token, "a"); !errors.Is(err, auth.ErrToken) {
		t.Errorf("before its time: %v", err)
	}
}

func decode(t *testing.T, s string) string {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSigningKeysRotate follows a token over the life of its key.
func TestSigningKeysRotate(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	c, err := auth.Open(auth.Options{Dir: dir, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	sign := func() string {
		t.Helper()
		token, _, err := c.SignToken(claims("a"), auth.MaxTokenLife)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	good := func(token string) bool { _, _, err := c.VerifyToken(token, "a"); return err == nil }
	key := func(token string) string { return strings.Split(token, ".")[0] }
	pass := func(days int) {
		t.Helper()
		now = now.Add(time.Duration(days) * 24 * time.Hour)
		if err := c.Renew(); err != nil {
			t.Fatal(err)
		}
	}
	first := sign()
	pass(80)
	if last := sign(); key(last) != key(first) {
		t.Error("a new key after 80 days")
	}
	last := sign()
	pass(20)
	second := sign()
	if key(second) == key(first) || !good(first) || !good(second) {
		t.Error("after 100 days another key must sign, and the first still check")
	}
	pass(330) // 430 days: what the first key signed on its 80th day is good until the 445th
	if good(first) || !good(last) {
		t.Error("a key must be kept for as long as its tokens last")
	}
	var set struct{ Keys []map[string]string }
	b, err := c.KeySet()
	if err != nil || json.Unmarshal(b, &set) != nil || len(set.Keys) != 3 || set.Keys[0]["crv"] != "P-256" || len(set.Keys[0]["x"]) != 43 {
		t.Errorf("keys %s, %v", b, err)
	}
	// Taking the keys away takes the tokens back.
	newest := sign()
	path := filepath.Join(dir, "service-account.keys")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	pass(0)
	if good(newest) || !good(sign()) {
		t.Error("tokens outlive the keys that were removed")
	}
	if err := os.WriteFile(path, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Renew(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("rubbish for keys: %v", err)
	}
	if !good(sign()) {
		t.Error("the keys in use must stay when the file is damaged")
	}
}

func FuzzVerifyToken(f *testing.F) {
	c, err := auth.Open(auth.Options{Dir: f.TempDir()})
	if err != nil {
		f.Fatal(err)
	}
	token, _, err := c.SignToken(claims("a"), time.Hour)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(token[:len(token)-1])
	f.Add("a.b.c")
	f.Add(strings.Replace(token, ".", "..", 1))
	f.Fuzz(func(t *testing.T, s string) {
		if _, _, err := c.VerifyToken(s, "a"); err == nil && s != token {
			t.Errorf("accepted %q", s)
		}
	})
}
