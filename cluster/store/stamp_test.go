package store

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/cluster/object"
)

func TestSplice(t *testing.T) {
	for _, test := range []struct{ name, doc, want string }{
		{"first of many", `{"metadata":{"name":"a"},"spec":1}`, `{"metadata":{"resourceVersion":"7","name":"a"},"spec":1}`},
		{"empty metadata", `{"metadata":{},"x":1}`, `{"metadata":{"resourceVersion":"7"},"x":1}`},
		{"empty metadata with space", `{"metadata":{ }}`, `{"metadata":{"resourceVersion":"7" }}`},
		{"no metadata", `{"x":1}`, `{"metadata":{"resourceVersion":"7"},"x":1}`},
		{"empty", `{}`, `{"metadata":{"resourceVersion":"7"}}`},
		{"null metadata", `{"metadata":null,"x":1}`, `{"metadata":{"resourceVersion":"7"},"x":1}`},
		{"replace first", `{"metadata":{"resourceVersion":"123","name":"a"}}`, `{"metadata":{"resourceVersion":"7","name":"a"}}`},
		{"replace last", `{"metadata":{"name":"a" , "resourceVersion":"123" }}`, `{"metadata":{"resourceVersion":"7","name":"a"  }}`},
		{"replace middle", `{"metadata":{"a":1,"resourceVersion":"3","b":2}}`, `{"metadata":{"resourceVersion":"7","a":1,"b":2}}`},
		{"replace only", `{"metadata":{"resourceVersion":"3"}}`, `{"metadata":{"resourceVersion":"7"}}`},
		{"nested is not it", `{"spec":{"metadata":{"name":"t"}},"metadata":{"name":"a"}}`, `{"spec":{"metadata":{"name":"t"}},"metadata":{"resourceVersion":"7","name":"a"}}`},
		{"annotation is not it", `{"metadata":{"annotations":{"resourceVersion":"x"}}}`, `{"metadata":{"resourceVersion":"7","annotations":{"resourceVersion":"x"}}}`},
		{"string looks like it", `{"a":"\"metadata\":{","metadata":{"n":"}\\\""}}`, `{"a":"\"metadata\":{","metadata":{"resourceVersion":"7","n":"}\\\""}}`},
		{"spaces", " {\n \"a\" : [1, {\"metadata\":2}] ,\n \"metadata\" : {\n} }", " {\n \"a\" : [1, {\"metadata\":2}] ,\n \"metadata\" : {\"resourceVersion\":\"7\"\n} }"},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := []byte(test.doc)
			got, err := splice(in, "7")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if !json.Valid(got) {
				t.Error("not valid JSON")
			}
			if string(in) != test.doc {
				t.Error("the document handed in was changed")
			}
		})
	}
}

func TestStampRefuses(t *testing.T) {
	k := object.Key{Kind: "ConfigMap", Namespace: "default", Name: "a"}
	const head = `"apiVersion":"v1","kind":"ConfigMap"`
	for name, test := range map[string]struct{ doc, want string }{
		"array":             {`[]`, "JSON object"},
		"empty":             {``, "JSON object"},
		"cut short":         {`{` + head + `,"metadata":{"name":"a"`, "JSON"},
		"metadata a string": {`{` + head + `,"metadata":"a"}`, ".metadata: must be an object"},
		"metadata twice":    {`{` + head + `,"metadata":{"name":"a","namespace":"default"},"metadata":{"resourceVersion":"3"}}`, "more than once"},
		"metadata in capitals": {`{` + head + `,"metadata":{"name":"a","namespace":"default"},"METADATA":{"resourceVersion":"3"}}`,
			"more than once"},
		"version twice": {`{` + head + `,"metadata":{"name":"a","namespace":"default","resourceVersion":"3","resourceVersion":"4"}}`, "more than once"},
		"other object":  {`{` + head + `,"metadata":{"name":"b","namespace":"default"}}`, "the document is ConfigMap default/b"},
		"trailing data": {`{` + head + `,"metadata":{"name":"a","namespace":"default"}} x`, "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := stamp(k, []byte(test.doc), 7)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// FuzzSplice: whatever valid JSON object goes in, the same comes out but for
// metadata.resourceVersion; invalid input never panics.
func FuzzSplice(f *testing.F) {
	for _, s := range []string{`{}`, `{"metadata":{"a":1,"resourceVersion":"3","b":2},"c":[{}]}`, `{"metadata":null}`, `{"a`, `{"a":`, `{"a":1,`,
		`{"a":"\`, `{"metadata":{"resourceVersion":`, `{"metadata":{"resourceVersion":1}}`, `{"a" 1}`, `{"metadata":{,}}`, "{\"metadata\":{\"resourceVersion\":\"\" ,\n\"b\":2}}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, err := splice(doc, "7")
		if !json.Valid(doc) {
			return
		}
		in, _ := object.Unmarshal(doc)
		tree, ok := in.(map[string]any)
		if !ok || hasDuplicates(doc) {
			return
		}
		meta, isObject := tree["metadata"].(map[string]any)
		if !isObject && tree["metadata"] != nil {
			if err == nil {
				t.Errorf("no error for %s", doc)
			}
			return
		}
		if err != nil {
			t.Fatalf("splice %s: %v", doc, err)
		}
		if meta == nil {
			meta = map[string]any{}
			tree["metadata"] = meta
		}
		meta["resourceVersion"] = "7"
		out, err := object.Unmarshal(got)
		if err != nil {
			t.Fatalf("splice %s gives %s: %v", doc, got, err)
		}
		if d := cmp.Diff(in, out); d != "" {
			t.Errorf("splice %s gives %s (-want +got):\n%s", doc, got, d)
		}
	})
}

// hasDuplicates reports members that are there twice or written with escapes,
// for which the decoded tree and the bytes disagree.
func hasDuplicates(doc []byte) bool {
	s := string(doc)
	return strings.Count(s, `"metadata"`) > 1 || strings.Count(s, `"resourceVersion"`) > 1 || strings.Contains(s, `\u`)
}
