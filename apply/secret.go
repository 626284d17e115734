package apply

import (
	"encoding/json"
	"fmt"

	"github.com/writ-dev/writ/apply/secret"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
)

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

// with returns a copy of m in which name is v.
func with(m map[string]any, name string, v any) map[string]any {
	out := make(map[string]any, len(m)+1)
	for k, old := range m {
		out[k] = old
	}
	out[name] = v
	return out
}

// MarshalJSON leaves the values of Secrets out.
func (o ObjectPlan) MarshalJSON() ([]byte, error) {
	type plain ObjectPlan
	p := plain(o)
	if secret.Is(o.Key) && !o.Object.IsZero() && !o.Sealed {
		sealed, err := object.FromTree(secret.NewSealer().Tree(o.Object.Tree()))
		if err != nil {
			return nil, err
		}
		p.Object, p.Sealed = sealed, true
	}
	return json.Marshal(p)
}
