// Package secret keeps the values of Secrets out of everything that is printed
// or kept: it knows where in a Secret they are, and puts digests in their
// place. It is pure but for the random key of a Sealer.
package secret

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"

	"github.com/writ-dev/writ/cluster/object"
)

// Kind is the kind that holds secret values, in the core group.
const Kind = "Secret"

// lastApplied is where kubectl keeps a copy of what it applied, values of
// Secrets included.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Is reports whether objects with this key hold secret values.
func Is(k object.Key) bool { return k.Group == "" && k.Kind == Kind }

// Sealer replaces secret values by digests that can be compared with one
// another, but not with guesses: they are keyed, and the key is forgotten.
type Sealer struct {
	key [32]byte
}

// NewSealer makes a Sealer with a key of its own.
func NewSealer() Sealer {
	var s Sealer
	_, _ = rand.Read(s.key[:]) // never fails, see crypto/rand
	return s
}

// Seal is the digest that stands for a value.
func (s Sealer) Seal(value string) string {
	h := hmac.New(sha256.New, s.key[:])
	h.Write([]byte(value))
	return "digest:" + hex.EncodeToString(h.Sum(nil))[:12]
}

// Tree returns a copy of a Secret's tree with every value sealed.
func (s Sealer) Tree(tree map[string]any) map[string]any { return Hide(tree, s.Seal) }

// Value seals what is at a path of a Secret, unless it is plain metadata.
func (s Sealer) Value(path string, v any) any {
	if v == nil || !Holds(path) {
		return v
	}
	if m, ok := v.(map[string]any); ok {
		out := make(map[string]any, len(m))
		for k, inner := range m {
			out[k] = s.Value(path, inner)
		}
		return out
	}
	return s.Seal(fmt.Sprint(v))
}

// Holds reports whether the value at a path of a Secret may be, or contain, a
// secret value.
func Holds(path string) bool {
	return strings.HasPrefix(path, ".data") || strings.HasPrefix(path, ".stringData") ||
		strings.Contains(path, lastApplied) || path == ".metadata.annotations" || path == ".metadata"
}

// Hide returns a copy of a Secret's tree with every value put through f.
func Hide(tree map[string]any, f func(string) string) map[string]any {
	out := maps.Clone(tree)
	for _, name := range []string{"data", "stringData"} {
		values, ok := out[name].(map[string]any)
		if !ok {
			continue
		}
		hidden := make(map[string]any, len(values))
		for key, v := range values {
			text, _ := v.(string)
			hidden[key] = f(text)
		}
		out[name] = hidden
	}
	if meta, ok := out["metadata"].(map[string]any); ok {
		if annotations, ok := meta["annotations"].(map[string]any); ok && annotations[lastApplied] != nil {
			text, _ := annotations[lastApplied].(string)
			annotations, meta = maps.Clone(annotations), maps.Clone(meta)
			annotations[lastApplied] = f(text)
			meta["annotations"] = annotations
			out["metadata"] = meta
		}
	}
	return out
}

// Fold moves a Secret's stringData into data, as the server does, so that a key
// is in one place in all versions of the object.
func Fold(tree map[string]any) map[string]any {
	values, ok := tree["stringData"].(map[string]any)
	if !ok {
		return tree
	}
	data, _ := tree["data"].(map[string]any)
	if data = maps.Clone(data); data == nil {
		data = map[string]any{}
	}
	for key, v := range values {
		text, ok := v.(string)
		if !ok {
			return tree // not a Secret that the server would take; let it say so
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	out := maps.Clone(tree)
	out["data"] = data
	delete(out, "stringData")
	return out
}

// Values collects the values in a Secret, in clear, without blanks around.
func Values(tree map[string]any, into map[string]bool) {
	data, _ := Fold(tree)["data"].(map[string]any)
	for _, v := range data {
		text, _ := v.(string)
		clear, err := base64.StdEncoding.DecodeString(text)
		if value := strings.TrimSpace(string(clear)); err == nil && value != "" {
			into[value] = true
		}
	}
}

// Blank reports whether a Secret has keys and none of their values, as a
// release keeps it.
func Blank(o object.Object) bool {
	data, _ := o.Tree()["data"].(map[string]any)
	for _, v := range data {
		if v != "" {
			return false
		}
	}
	return len(data) > 0
}
