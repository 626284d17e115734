package schema_test

import (
	"encoding/json"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/render/schema"
)

// FuzzCheck looks for documents that end the check: it must report and return
// on whatever an author can write.
func FuzzCheck(f *testing.F) {
	for i, k := range schema.Kinds() {
		f.Add(i, `{"spec":{"template":{"spec":{"containers":[{"name":"a"}]}}}}`)
		f.Add(i, `{"metadata":{"name":"a","labels":{"a":1}},"spec":[],"rules":[{"verbs":null}],"webhooks":[{}],"data":{"a":{}},"kind":"`+k.Kind+`"}`)
	}
	f.Fuzz(func(t *testing.T, n int, text string) {
		kinds := schema.Kinds()
		k := kinds[uint(n)%uint(len(kinds))]
		var tree map[string]any
		if json.Unmarshal([]byte(text), &tree) != nil || tree == nil {
			return
		}
		tree["apiVersion"], tree["kind"] = k.APIVersion, k.Kind
		o, err := object.FromTree(tree)
		if err != nil {
			return
		}
		_ = schema.Check(k, o)
		_ = schema.CheckMeta(k.Kind, true, o)
	})
}

func BenchmarkCheck(b *testing.B) {
	text, err := yaml.YAMLToJSON([]byte(deployment(", ports: [{containerPort: 80, name: http}], resources: {limits: {cpu: 1}}, env: [{name: A, value: b}]", "")))
	if err != nil {
		b.Fatal(err)
	}
	o, err := object.Parse(text)
	if err != nil {
		b.Fatal(err)
	}
	k, _ := schema.Lookup(o.APIVersion(), o.Kind())
	for b.Loop() {
		if r := schema.Check(k, o); len(r.Problems) > 0 {
			b.Fatal(r.Problems)
		}
	}
}
