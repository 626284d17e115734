package render

import (
	"encoding/json"
	"testing"
	"testing/fstest"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/yaml"
)

// FuzzEncode compares what is written directly with what goes through Go maps
// and encoding/json.
func FuzzEncode(f *testing.F) {
	f.Add(`{"a":[1.50,null,{"b":null,"c":"\u2028\u2029\u0000\u0008<&>\ud83d\ude00"}],"z":null,"m":{"n":{"o":null}}}`)
	f.Add(`{"big":12345678901234567890,"neg":-0.1,"t":true,"s":"\ufffd"}`)
	f.Fuzz(func(t *testing.T, in string) {
		r, err := yaml.Evaluator{}.Eval(t.Context(), lang.Program{FS: fstest.MapFS{"a.json": {Data: []byte(in)}}, Entry: "a.json"})
		if err != nil || len(r.Value.Items) == 0 {
			return
		}
		v := r.Value.Items[0]
		want, err := object.Marshal(plainJSON(v))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(encode(withoutNulls(v))); got != string(want) {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	})
}

// plainJSON is v for encoding/json, without the null members of objects.
func plainJSON(v lang.Value) any {
	switch v.Kind {
	case lang.Bool:
		return v.Text == "true"
	case lang.Number:
		return json.Number(v.Text)
	case lang.String:
		return v.Text
	case lang.List:
		l := []any{}
		for _, item := range v.Items {
			l = append(l, plainJSON(item))
		}
		return l
	case lang.Object:
		m := map[string]any{}
		for _, f := range v.Fields {
			if f.Value.Kind != lang.Null {
				m[f.Name] = plainJSON(f.Value)
			}
		}
		return m
	}
	return nil
}
