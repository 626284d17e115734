package ownership

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

func tree(t testing.TB, doc string) map[string]any {
	t.Helper()
	v, err := object.Unmarshal([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func fields(t testing.TB, k api.Kind) *Fields {
	t.Helper()
	f, err := Of(k)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestKinds notes a document of each kind, so that the types of all that are
// served are complete.
func TestKinds(t *testing.T) {
	for _, k := range api.Kinds {
		doc := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"x","labels":{"a":"b"},"finalizers":["x/y"],"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]}}`, k.APIVersion(), k.Kind)
		got, err := fields(t, k).Update(Write{Manager: "m", Now: time.Unix(9, 0)}, nil, tree(t, doc), tree(t, doc))
		if err != nil {
			t.Fatalf("%s: %v", k.Kind, err)
		}
		b, _ := json.Marshal(got)
		for _, part := range []string{`"f:labels":{".":{},"f:a":{}}`, `"v:\"x/y\"":{}`, `"k:{\"uid\":\"u\"}":{}`, `"time":"1970-01-01T00:00:09Z"`} {
			if !strings.Contains(string(b), part) {
				t.Errorf("%s: %s is not in %s", k.Kind, part, b)
			}
		}
	}
}

// TestMerge applies to lists and maps of each relation.
func TestMerge(t *testing.T) {
	f := fields(t, api.Service)
	live := `{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"selector":{"a":"1"},"ports":[{"name":"web","port":80,"protocol":"TCP"}],"externalIPs":["1.2.3.4"]}}`
	for _, c := range []struct{ name, spec, want, conflict string }{
		{"a port of another key is added", `{"ports":[{"port":81}]}`, `{"selector":{"a":"1"},"ports":[{"name":"web","port":80,"protocol":"TCP"},{"port":81}],"externalIPs":["1.2.3.4"]}`, ""},
		{"a port of the same key is merged; protocol TCP is its default", `{"ports":[{"port":80,"targetPort":"http"}]}`, `{"selector":{"a":"1"},"ports":[{"name":"web","port":80,"protocol":"TCP","targetPort":"http"}],"externalIPs":["1.2.3.4"]}`, ""},
		{"a selector is one value", `{"selector":{"b":"2"}}`, "", `conflict with "before-first-apply" using v1`},
		{"as is a list without keys", `{"externalIPs":["1.2.3.5"]}`, "", ".spec.externalIPs"},
	} {
		got, err := f.Apply(Write{Manager: "m", Now: time.Unix(9, 0)}, tree(t, live), tree(t, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":`+c.spec+`}`), false)
		if c.conflict != "" {
			if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), c.conflict) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(tree(t, c.want), got["spec"]); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// FuzzApply: whatever is applied to whatever, the answer is an object or a
// client's error, and can be applied again without force.
func FuzzApply(f *testing.F) {
	f.Add(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"}}`, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"ports":[{"port":80}]}}`)
	f.Add(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"x","managedFields":[{"manager":"m","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:ports":{}}}}]},"spec":{"ports":[{"port":80},{"port":80}]}}`, `{"apiVersion":"v1","kind":"Service","metadata":{"labels":{"a":"b"}},"spec":{"ports":[]}}`)
	f.Add(`{"apiVersion":"v1","kind":"Service","metadata":{"name":null}}`, `{"apiVersion":"v1","kind":"Service","metadata":{},"spec":{"ports":[{"port":1e400}]}}`)
	f.Add(`{}`, `{"apiVersion":"v1","kind":"Service","spec":{"ports":{"a":1},"clusterIP":5}}`)
	fs, err := Of(api.Service)
	if err != nil {
		f.Fatal(err)
	}
	w := Write{Manager: "m", Now: time.Unix(9, 0)}
	f.Fuzz(func(t *testing.T, live, wanted string) {
		l, err := object.Unmarshal([]byte(live))
		if err != nil {
			return
		}
		p, err := object.Unmarshal([]byte(wanted))
		if err != nil {
			return
		}
		have, ok1 := l.(map[string]any)
		want, ok2 := p.(map[string]any)
		if !ok1 || !ok2 {
			return
		}
		for _, m := range []map[string]any{have, want} {
			m["apiVersion"], m["kind"] = "v1", "Service"
		}
		got, err := fs.Apply(w, have, want, true)
		if err != nil {
			var status apierrors.APIStatus = &apierrors.StatusError{}
			if s, ok := err.(apierrors.APIStatus); ok {
				status = s
			}
			if code := status.Status().Code; code < 400 || code >= 500 {
				t.Fatalf("%v", err)
			}
			return
		}
		if _, err := fs.Apply(w, got, want, false); err != nil {
			t.Fatalf("applied once, then: %v", err)
		}
	})
}

func BenchmarkUpdate(b *testing.B) {
	w := Write{Manager: "m", Now: time.Unix(9, 0)}
	cm := tree(b, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"default"},"data":{"v":"`+strings.Repeat("x", 1024)+`"}}`)
	f := fields(b, api.ConfigMap)
	b.Run("create", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := f.Update(w, nil, cm, cm); err != nil {
				b.Fatal(err)
			}
		}
	})
	d := tree(b, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","labels":{"app":"x"}},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},"spec":{"containers":[{"name":"a","image":"b","ports":[{"containerPort":80,"protocol":"TCP"}],"env":[{"name":"A","value":"B"}],"resources":{"limits":{"cpu":"1"}}}]}}}}`)
	df := fields(b, api.Deployment)
	own, err := df.Update(w, nil, d, d)
	if err != nil {
		b.Fatal(err)
	}
	d["metadata"].(map[string]any)["managedFields"] = own
	next := tree(b, func() string { s, _ := object.Marshal(d); return string(s) }())
	next["spec"].(map[string]any)["replicas"] = json.Number("3")
	b.Run("update", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := df.Update(w, d, next, next); err != nil {
				b.Fatal(err)
			}
		}
	})
}
