package render

import (
	"bytes"
	"testing"
	"testing/fstest"

	"github.com/writ-dev/writ/lang"
)

func binaryBundle(t testing.TB) *Bundle {
	t.Helper()
	b, err := Render(t.Context(), Options{
		FS: fstest.MapFS{"a.jsonnet": {Data: []byte(`function(n) [
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', labels: { x: 'y' } }, data: { n: n } },
  { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'b' }, spec: [1.5, null, true] },
]`)}},
		Entry: "a.jsonnet", Inputs: map[string]string{"n": "1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBundleBinary(t *testing.T) {
	want := binaryBundle(t)
	b, err := want.AppendBinary([]byte("head"))
	if err != nil {
		t.Fatal(err)
	}
	got, rest, err := ParseBinary(append(b, "rest"...)[4:])
	if err != nil || string(rest) != "rest" {
		t.Fatalf("rest %q, %v", rest, err)
	}
	if got.Digest != want.Digest || got.Inputs["n"] != "1" || !bytes.Equal(got.YAML(), want.YAML()) {
		t.Errorf("got %s\n%s", got.Digest, got.YAML())
	}
	for i, d := range got.Documents {
		w := want.Documents[i]
		if d.Object.Key() != w.Object.Key() || d.Object.APIVersion() != w.Object.APIVersion() || d.Origin.Path != w.Origin.Path || d.Origin.Pos != w.Origin.Pos {
			t.Errorf("document %d is %v, want %v", i, d, w)
		}
		if p := d.Origin.Field(".metadata.name"); p != w.Origin.Field(".metadata.name") || p.Line < 2 {
			t.Errorf("its name is at %v", p)
		}
	}
	if got.Documents[0].Object.Meta().Labels["x"] != "y" {
		t.Error("labels are lost")
	}
}

func FuzzParseBinary(f *testing.F) {
	b, err := binaryBundle(f).AppendBinary(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		got, _, err := ParseBinary(b)
		if err != nil {
			return
		}
		for _, d := range got.Documents {
			if v := d.Origin.Value(); v.Kind > lang.Object {
				t.Errorf("kind %d", v.Kind)
			}
		}
	})
}
