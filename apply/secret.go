package apply

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
)

// lastApplied is where kubectl keeps a copy of what it applied, values of
// Secrets included.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

const secretKind = "Secret"

// blank reports whether a Secret has keys and none of their values, as a
// release keeps it.
func blank(o object.Object) bool {
	data, _ := o.Tree()["data"].(map[string]any)
	for _, v := range data {
		if v != "" {
			return false
		}
	}
	return len(data) > 0
}

// keepValues gives a Secret that was brought back from a release the values
// that the live one has. A key that the live one lacks cannot be brought back.
func (p *planner) keepValues(doc, live object.Object) (object.Object, error) {
	tree := doc.Tree()
	data, _ := tree["data"].(map[string]any)
	present, _ := live.Tree()["data"].(map[string]any)
	kept := map[string]any{}
	for name, v := range data {
		if present[name] == nil {
			return doc, diag.List{{
				Code: "APPLY005", Object: doc.Key().String(), Path: ".data." + name,
				Message: "cannot be brought back: a release does not keep the values of Secrets", Hint: "apply the sources that it was rendered from",
			}}
		}
		kept[name] = v
		if v == "" {
			kept[name] = present[name]
		}
	}
	if len(kept) == 0 {
		return doc, nil
	}
	p.warnings = append(p.warnings, fmt.Sprintf("%s keeps the values that it has now: a release does not keep those of Secrets", doc.Key()))
	return object.FromTree(with(tree, "data", kept))
}

// isSecret reports whether objects with this key hold secret values.
func isSecret(k object.Key) bool { return k.Group == "" && k.Kind == secretKind }

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
