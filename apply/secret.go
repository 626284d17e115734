package apply

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/writ-dev/writ/cluster/object"
)

// lastApplied is where kubectl keeps a copy of what it applied, values of
// Secrets included.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// isSecret reports whether objects with this key hold secret values.
func isSecret(k object.Key) bool { return k.Group == "" && k.Kind == "Secret" }

// sealer replaces secret values by digests that can be compared with one
// another, but not with guesses: they are keyed, and the key is forgotten.
type sealer struct {
	key [32]byte
}

func newSealer() sealer {
	var s sealer
	_, _ = rand.Read(s.key[:]) // never fails, see crypto/rand
	return s
}

// seal is the digest that stands for a value.
func (s sealer) seal(value string) string {
	h := hmac.New(sha256.New, s.key[:])
	h.Write([]byte(value))
	return "digest:" + hex.EncodeToString(h.Sum(nil))[:12]
}

// tree returns a copy of a Secret's tree with every value sealed.
func (s sealer) tree(tree map[string]any) map[string]any {
	return hide(tree, s.seal)
}

// hide returns a copy of a Secret's tree with every value put through f.
func hide(tree map[string]any, f func(string) string) map[string]any {
	out := make(map[string]any, len(tree))
	for name, v := range tree {
		out[name] = v
	}
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
			out["metadata"] = with(meta, "annotations", with(annotations, lastApplied, f(text)))
		}
	}
	return out
}

// with returns a copy of m in which name is v.
func with(m map[string]any, name string, v any) map[string]any {
	out := make(map[string]any, len(m)+1)
	for k, old := range m {
		out[k] = old
	}
	out[name] = v
	return out
}

// foldStringData moves a Secret's stringData into data, as the server does, so
// that a key is in one place in all versions of the object.
func foldStringData(tree map[string]any) map[string]any {
	values, ok := tree["stringData"].(map[string]any)
	if !ok {
		return tree
	}
	data, _ := tree["data"].(map[string]any)
	for key, v := range values {
		text, ok := v.(string)
		if !ok {
			return tree // not a Secret that the server would take; let it say so
		}
		data = with(data, key, base64.StdEncoding.EncodeToString([]byte(text)))
	}
	out := with(tree, "data", data)
	delete(out, "stringData")
	return out
}

// secretValues collects the values in a Secret, in clear, that are long enough
// to be worth hiding elsewhere.
func secretValues(tree map[string]any, into map[string]bool) {
	data, _ := foldStringData(tree)["data"].(map[string]any)
	for _, v := range data {
		text, _ := v.(string)
		clear, err := base64.StdEncoding.DecodeString(text)
		if value := strings.TrimSpace(string(clear)); err == nil && value != "" {
			into[value] = true
		}
	}
}

// MarshalJSON leaves the values of Secrets out.
func (o ObjectPlan) MarshalJSON() ([]byte, error) {
	type plain ObjectPlan
	p := plain(o)
	if isSecret(o.Key) && !o.Object.IsZero() && !o.Sealed {
		sealed, err := object.FromTree(newSealer().tree(o.Object.Tree()))
		if err != nil {
			return nil, err
		}
		p.Object, p.Sealed = sealed, true
	}
	return json.Marshal(p)
}
