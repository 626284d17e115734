package admission

import (
	"bytes"
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

type sample struct {
	kind   api.Kind
	object object.Object
}

// samples reads the documents of testdata, written as for kubectl.
func samples(t testing.TB) []sample {
	t.Helper()
	b, err := os.ReadFile("testdata/guestbook.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []sample
	for doc := range bytes.SplitSeq(b, []byte("\n---\n")) {
		out = append(out, fromYAML(t, string(doc)))
	}
	return out
}

func fromYAML(t testing.TB, doc string) sample {
	t.Helper()
	j, err := yaml.YAMLToJSONStrict([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	o, err := object.Parse(j)
	if err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	k, ok := api.Lookup(o.Group(), o.Kind())
	if !ok {
		t.Fatalf("kind of %s is not served", o.Key())
	}
	return sample{k, o}
}

func TestSamplesPass(t *testing.T) {
	kinds := map[string]bool{}
	for _, s := range samples(t) {
		kinds[s.kind.Kind] = true
		name := s.object.Key().String()
		for _, p := range StrictJSON(s.kind, s.object.JSON()) {
			t.Errorf("%s: strict: %s", name, p)
		}
		d, err := Default(s.kind, s.object)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range Strict(s.kind, d) {
			t.Errorf("%s: strict after defaults: %s", name, p)
		}
		for _, p := range append(Reserved(s.kind, d, object.Object{}), Validate(s.kind, d, object.Object{})...) {
			t.Errorf("%s: %s", name, p)
		}
		for _, p := range Validate(s.kind, d, d) {
			t.Errorf("%s: unchanged: %s", name, p)
		}
	}
	for _, k := range api.Kinds {
		if !k.System && !kinds[k.Kind] {
			t.Errorf("testdata has no %s", k.Kind)
		}
	}
}

func TestDefaultTwiceIsOnce(t *testing.T) {
	for _, s := range samples(t) {
		checkIdempotent(t, s.kind, s.object)
	}
}

func checkIdempotent(t *testing.T, k api.Kind, o object.Object) {
	t.Helper()
	once, err := Default(k, o)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := Default(k, once)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(once.JSON(), twice.JSON()) {
		t.Errorf("%s:\nonce  %s\ntwice %s", o.Key(), once.JSON(), twice.JSON())
	}
}

// FuzzAdmission gives every function any JSON as any kind: none may panic,
// Default stays idempotent, and what Strict accepts decodes.
func FuzzAdmission(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.object.JSON())
	}
	f.Add([]byte(`{"apiVersion":"v1","kind":"Pod","spec":[null]}`))
	f.Add([]byte(`{"apiVersion":"v1","kind":"Secret","stringData":{"a":1,"b":"c"},"data":{"b":"x"}}`))
	f.Add([]byte(`{"apiVersion":"v1","kind":"Service","spec":{"ports":[{"port":1e3,"targetPort":1.5}]}}`))
	f.Add([]byte(`{"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{"spec":{"containers":{"a":1}}}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := object.Parse(b)
		if err != nil {
			return
		}
		k, ok := api.Lookup(o.Group(), o.Kind())
		if !ok {
			return
		}
		problems := Strict(k, o)
		if len(StrictJSON(k, b)) < len(problems) {
			t.Error("StrictJSON sees less than Strict")
		}
		if len(problems) == 0 {
			if err := decodes(k, o); err != nil {
				t.Errorf("Strict accepts what does not decode: %v", err)
			}
		}
		checkIdempotent(t, k, o)
		d, err := Default(k, o)
		if err != nil {
			t.Fatal(err)
		}
		Validate(k, d, object.Object{})
		Validate(k, d, d)
		ValidateStatus(k, d, d)
		Reserved(k, d, object.Object{})
		Warnings(k, d)
	})
}
