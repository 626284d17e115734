package object

import (
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"no kind", `{"apiVersion":"v1"}`, "kind is missing"},
		{"no apiVersion", `{"kind":"Pod"}`, "apiVersion is missing"},
		{"boolean label", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"x":"y","release":false}}}`,
			`.metadata.labels.release: false is a boolean, and labels are strings; quote it: "false"`},
		{"number annotation", `{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"n":1}}}`,
			`.metadata.annotations.n: is a number`},
		{"name is a list", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":[]}}`, ".metadata.name: must be a string"},
		{"not an object", `[1]`, "array"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse([]byte(tc.in))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Parse(%s) = %v, want %q", tc.in, err, tc.want)
			}
		})
	}
}

func TestTreeKeepsNumbers(t *testing.T) {
	const in = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"n":12345678901234567890,"f":1.50}`
	o, err := Parse([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	back, err := FromTree(o.Tree())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"n":12345678901234567890`, `"f":1.50`} {
		if !strings.Contains(string(back.JSON()), want) {
			t.Errorf("%s lost %s", back.JSON(), want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"x":1}}}`))
	f.Add([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"labels":[]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := Parse(b)
		if err != nil {
			return
		}
		if _, err := FromTree(o.Tree()); err != nil && o.Name() != "" {
			t.Errorf("Parse accepted %q, but its tree does not parse: %v", b, err)
		}
	})
}
