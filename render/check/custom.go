package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/structural"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/schema"
)

// customKind is a kind that a CustomResourceDefinition makes. Broken says that
// the definition has problems of its own, so that nothing can be told of the
// objects of the kind.
type customKind struct {
	*structural.Definition
	broken bool
}

// maxRuleCost is what the rules of definitions may cost for one bundle. One
// object of the dearest sort costs a twentieth of it.
const maxRuleCost = 200_000_000

func groupKind(group, kind string) string { return kind + "." + group }

// definitions reads the CustomResourceDefinitions among documents and more;
// those of documents go first.
func definitions(documents, more []render.Document) map[string]customKind {
	out := map[string]customKind{}
	for _, d := range slices.Concat(documents, more) {
		k, ok := schema.Lookup(d.Object.APIVersion(), d.Object.Kind())
		if !ok || k.Kind != "CustomResourceDefinition" || k.Removed != "" {
			continue
		}
		def, problems := structural.ParseDefinition(d.Object.Tree())
		key := groupKind(def.Group, def.Kind)
		if _, there := out[key]; !there && def.Kind != "" {
			out[key] = customKind{def, len(problems) > 0}
		}
	}
	return out
}

// customResource checks an object of a custom kind as a cluster would that has
// the definition.
func (c *checker) customResource(k customKind, o object.Object) (schema.Result, error) {
	found := schema.CheckMeta(k.Kind, k.Namespaced, o)
	_, name, _ := strings.Cut(o.APIVersion(), "/")
	v, ok := k.Version(name)
	if !ok || !v.Served {
		var names []string
		for _, v := range k.Versions {
			if v.Served {
				names = append(names, v.Name)
			}
		}
		found.Problems = append(found.Problems, api.Problem{
			Code: schema.CodeUnknownKind, Path: ".apiVersion",
			Message: fmt.Sprintf("the definition of %s does not serve version %s", k.Kind, name), Hint: "it serves: " + strings.Join(names, ", "),
		})
		return found, nil
	}
	if v.Deprecated {
		text := v.Warning
		if text == "" {
			text = fmt.Sprintf("%s %s is deprecated", o.APIVersion(), k.Kind)
		}
		found.Warnings = append(found.Warnings, api.Problem{Code: schema.CodeDeprecated, Path: ".apiVersion", Message: text})
	}
	full := v.Schema.WithDefaults(o.Tree())
	problems := v.Schema.Validate(k.Kind, full)
	found.Problems = append(found.Problems, problems...)
	if len(problems) > 0 || k.broken {
		return found, nil
	}
	if c.spent > maxRuleCost {
		found.Problems = append(found.Problems, api.Problem{
			Code: structural.CodeRule, Message: "the rules of its definition were not evaluated: those of the documents before cost too much",
		})
		return found, nil
	}
	problems, err := v.Schema.Evaluate(c.ctx, full, &c.spent)
	found.Problems = append(found.Problems, problems...)
	return found, err
}
