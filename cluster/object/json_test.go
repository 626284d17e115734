package object_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/writ-dev/writ/cluster/object"
)

// The reference: what encoding/json makes of the same.

func unmarshal(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("unexpected data after the JSON value")
	}
	return v, nil
}

func marshal(v any) (string, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(buf.String(), "\n"), err
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"b":"c"}},"data":{"k":"v\n\"\\\t"}}`,
		` [ 1 , -0.5e+3, 0, true, false, null, {} , [] ] `, `"é\u00e9\ud83d\ude00\ud800"`, "\"\xff\"", `{"a":1,"a":2}`,
		`01`, `1.`, `.5`, `-`, `1e`, `+1`, `[1,]`, `{"a":1,}`, `{"a"}`, `{`, `"a`, `"a\`, `tru`, `nul`, `1 2`, "\x00", "\"\x00\"", "\"\x1f\u2028\"", `"\b\f\u0000\/"`, ``, ` `,
		strings.Repeat("[", 101) + strings.Repeat("]", 101), strings.Repeat("[", 20000), "123456789012345678901234567890.0001", "{\"\u00e9\":\"<&>\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		want, wantErr := unmarshal(b)
		got, err := object.Unmarshal(b)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("Unmarshal(%q): %v, want %v", b, err, wantErr)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("Unmarshal(%q) = %#v, want %#v", b, got, want)
		}
		if err != nil {
			return
		}
		text, wantErr := marshal(want)
		out, err := object.Marshal(got)
		if (err == nil) != (wantErr == nil) || string(out) != text {
			t.Fatalf("Marshal(%#v) = %q, %v, want %q, %v", got, out, err, text, wantErr)
		}
	})
}

func TestMarshalOtherValues(t *testing.T) {
	var noMap map[string]any
	var noList []any
	for _, v := range []any{noMap, noList, 1, int64(2), 1.5, json.Number(""), json.Number("x"), map[string]any{"a": []string{"b"}}, []any{struct {
		A string `json:"a,omitempty"`
	}{"é"}}, "\u2028", "\x7f", "\xff"} {
		want, wantErr := marshal(v)
		got, err := object.Marshal(v)
		if (err == nil) != (wantErr == nil) || err == nil && string(got) != want {
			t.Errorf("Marshal(%#v) = %s, %v, want %s, %v", v, got, err, want, wantErr)
		}
	}
}

// document is a Deployment as they are.
const document = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"labels":{"app.kubernetes.io/name":"web"},"name":"web","namespace":"shop"},"spec":{"replicas":3,"selector":{"matchLabels":{"app.kubernetes.io/name":"web"}},"template":{"metadata":{"labels":{"app.kubernetes.io/name":"web"}},"spec":{"containers":[{"args":["--listen=:8080"],"env":[{"name":"LOG_LEVEL","value":"info"},{"name":"GREETING","value":"say \"hello\""}],"image":"registry.example/shop/web:1.2.3","name":"web","ports":[{"containerPort":8080,"name":"http"}],"readinessProbe":{"httpGet":{"path":"/ready","port":8080}},"resources":{"limits":{"memory":"256Mi"},"requests":{"cpu":"100m","memory":"128Mi"}}}]}}}}`

func BenchmarkUnmarshal(b *testing.B) {
	b.SetBytes(int64(len(document)))
	for b.Loop() {
		if _, err := object.Unmarshal([]byte(document)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshalReference(b *testing.B) {
	b.SetBytes(int64(len(document)))
	for b.Loop() {
		if _, err := unmarshal([]byte(document)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarshal(b *testing.B) {
	v, err := object.Unmarshal([]byte(document))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(document)))
	for b.Loop() {
		if _, err := object.Marshal(v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarshalReference(b *testing.B) {
	v, err := object.Unmarshal([]byte(document))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(document)))
	for b.Loop() {
		if _, err := marshal(v); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzFromTree: an object made of a tree is what reading its document makes.
func FuzzFromTree(f *testing.F) {
	for _, seed := range []string{
		document, `{"apiVersion":"v1","kind":"A","metadata":{"name":"a","generation":3,"finalizers":["x"],"ownerReferences":[{"kind":"B","uid":"u","controller":true}],"annotations":{}}}`,
		`{"apiVersion":"v1","kind":"A","metadata":null}`, `{"apiVersion":1,"kind":"A"}`, `{"kind":"A"}`, `{"apiVersion":"v1","kind":"A","metadata":{"labels":{"a":1}}}`,
		`{"apiVersion":"v1","kind":"A","metadata":{"labels":{"a":null},"finalizers":[null],"ownerReferences":[null,{}]}}`, `{"apiVersion":"v1","kind":"A","metadata":{"generation":1.5}}`, `{"apiVersion":"v1","kind":"A","metadata":{"generation":9223372036854775808}}`,
		`{"apiVersion":"v1","kind":"A","metadata":{"finalizers":[],"labels":{},"ownerReferences":[]}}`, `{"apiVersion":"v1","kind":"A","metadata":[]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := object.Unmarshal(b)
		tree, ok := v.(map[string]any)
		if err != nil || !ok {
			return
		}
		heads := []map[string]any{tree, member(tree, "metadata")}
		refs, _ := member(tree, "metadata")["ownerReferences"].([]any)
		for _, r := range refs {
			m, _ := r.(map[string]any)
			heads = append(heads, m)
		}
		for _, exact := range heads {
			for key := range exact {
				for _, name := range []string{"apiVersion", "kind", "metadata", "name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "labels", "annotations", "ownerReferences", "finalizers", "controller", "blockOwnerDeletion"} {
					if key != name && strings.EqualFold(key, name) {
						t.Skip("encoding/json takes names in any case")
					}
				}
			}
		}
		got, err := object.FromTree(tree)
		doc, _ := object.Marshal(tree)
		want, wantErr := object.Parse(doc)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("FromTree(%s): %v, want %v", doc, err, wantErr)
		}
		if err != nil {
			return
		}
		is, was := *got.Meta(), *want.Meta()
		for _, m := range []*object.Meta{&is, &was} {
			if len(m.Finalizers) == 0 {
				m.Finalizers = nil
			}
			if len(m.OwnerReferences) == 0 {
				m.OwnerReferences = nil
			}
		}
		if !reflect.DeepEqual(is, was) || got.Key() != want.Key() || got.APIVersion() != want.APIVersion() || !bytes.Equal(got.JSON(), want.JSON()) {
			t.Fatalf("FromTree(%s) = %+v, want %+v", doc, is, was)
		}
	})
}

func member(tree map[string]any, name string) map[string]any {
	m, _ := tree[name].(map[string]any)
	return m
}
